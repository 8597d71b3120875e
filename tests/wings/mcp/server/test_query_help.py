"""What helps a model to write and run queries: schema, suggestions, resources, prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import RdfFormat, parse

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.wings.mcp import resources
from tests.support.tools import talk, text_of

pytest.importorskip("mcp")

Connect = Callable[[], Any]
FOUNDED = "http://trustgraph.ai/r/founded"
PENNOCK = "http://trustgraph.ai/e/walter-pennock"
TEXTS = "SELECT ?text { ?chunk tg:content ?text }"


def test_the_schema_is_enough_to_write_a_query(connect: Connect) -> None:
    async def work(client: Any) -> None:
        async def run(tool: str, **arguments: Any) -> Any:
            return await client.call_tool(tool, arguments)

        facts = await run("schema")
        schema = facts.structured_content
        (founded,) = [each for each in schema["relations"] if each["iri"] == FOUNDED]
        assert founded["label"] == "founded"
        assert founded["count"] == 1
        assert founded["objects"]
        assert f"<{FOUNDED}> founded (1): " in text_of(facts)
        assert "tg: <https://trustgraph.ai/ns/>" in text_of(facts)
        query = f"SELECT ?who {{ ?who <{FOUNDED}> {founded['example']} }}"
        rows = (await run("sparql", query=query)).structured_content["results"]["bindings"]
        assert [row["who"]["value"] for row in rows] == [PENNOCK]

        source = await run("schema", graph="urn:graph:source", limit=3)
        assert len(source.structured_content["classes"]) == 3
        assert "rag:Sentence" in text_of(source)
        nothing = (await run("schema", graph="urn:graph:none")).structured_content
        assert nothing["classes"] == nothing["relations"] == []
        refused = await run("schema", graph="no graph")
        assert "no graph" in text_of(refused)
        assert refused.is_error

    talk(connect(), work)


def test_a_query_without_rows_suggests_one_with_rows(connect: Connect) -> None:
    async def work(client: Any) -> None:
        empty = await client.call_tool("sparql", {"query": TEXTS})
        suggested = empty.structured_content["suggestion"]
        assert suggested["summary"] == "With all graphs as the default graph, the pattern matches."
        assert suggested["union"] is True
        assert "(no rows)" in text_of(empty)
        assert f"Run with union = true:\n{TEXTS}" in text_of(empty)
        arguments = {"query": suggested["query"], "union": suggested["union"]}
        again = await client.call_tool("sparql", arguments)
        assert "Pennock" in text_of(again)
        assert "suggestion" not in again.structured_content
        nothing = await client.call_tool("sparql", {"query": "SELECT * { ?s <urn:nothing> ?o }"})
        assert "suggestion" not in nothing.structured_content

    talk(connect(), work)


def test_literals_in_triple_terms_have_quotes(connect: Connect) -> None:
    """A model copies what it reads into its next query."""

    async def work(client: Any) -> None:
        async def run(query: str) -> str:
            return text_of(await client.call_tool("sparql", {"query": query}))

        values = 'VALUES ?o { "a \\"b\\"" "c"@en 7 "1911-11-17"^^xsd:date }'
        lines = (await run(f"SELECT (TRIPLE(rdf:nil, rdfs:label, ?o) AS ?t) {{ {values} }}")).splitlines()
        assert lines[1:] == [
            '<<( rdf:nil rdfs:label "a \\"b\\"" )>>',
            '<<( rdf:nil rdfs:label "c"@en )>>',
            '<<( rdf:nil rdfs:label "7"^^xsd:integer )>>',
            '<<( rdf:nil rdfs:label "1911-11-17"^^xsd:date )>>',
        ]
        name = '<<( <http://trustgraph.ai/e/walter-pennock> rdfs:label "Walter Pennock"@en )>>'
        assert await run(f"SELECT ?t {{ VALUES ?t {{ {name} }} }}") == f"?t\n{name}"

    talk(connect(), work)


def test_resources(connect: Connect) -> None:
    async def work(client: Any) -> None:
        async def read(uri: str) -> str:
            (content,) = (await client.read_resource(uri)).contents
            assert content.uri == uri
            return str(content.text)

        listed = (await client.list_resources()).resources
        addresses = [each.uri for each in listed]
        assert addresses[:4] == [
            f"graphrag-rdf://{each}" for each in ("ontology", "ontology/schema", "documents", "traces")
        ]
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            f"graphrag-rdf://{each}"
            for each in ("documents/{document}", "traces/{trace}", "traces/{trace}/json")
        ]
        for address in addresses[:2]:
            assert sum(1 for _ in parse(await read(address), format=RdfFormat.TURTLE)) > 10
        documents = json.loads(await read("graphrag-rdf://documents"))["items"]
        assert [each["resource"] for each in documents] == addresses[4:]
        assert "Walter Pennock founded the Tarnay Electric Light" in await read(addresses[4])
        assert await read(f"graphrag-rdf://documents/{documents[0]['title']}") == await read(addresses[4])

        question = "Who founded the Tarnay Electric Light Company?"
        asked = await client.call_tool("ask", {"question": question})
        newest = json.loads(await read("graphrag-rdf://traces"))["items"][0]
        assert newest["iri"] == asked.structured_content["trace"]
        assert "[exploration]" in await read(newest["resource"])
        assert json.loads(await read(f"{newest['resource']}/json"))["question"] == question

        from mcp import MCPError

        for uri, message in (
            ("graphrag-rdf://nothing", "there is no resource graphrag-rdf://nothing"),
            ("file:///etc/passwd", "there is no resource"),
            ("graphrag-rdf://documents/..%2F..%2Fetc%2Fpasswd", "no document is called"),
            ("graphrag-rdf://traces/00000000-0000-0000-0000-000000000000", "no trace"),
        ):
            with pytest.raises(MCPError, match=message):
                await read(uri)
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="-1")

    talk(connect(), work)


def test_prompts_give_a_query_to_run(connect: Connect) -> None:
    async def work(client: Any) -> None:
        async def text(name: str, **arguments: str) -> str:
            (message,) = (await client.get_prompt(name, arguments)).messages
            assert message.role == "user"
            return str(message.content.text)

        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert len(prompts) == len([*Path("queries/cookbook").glob("*.rq")])
        who = prompts["what-did"]
        assert who.title == "What did {subject} {relations}?"
        assert [(each.name, each.required) for each in who.arguments][:1] == [("subject", True)]

        filled = await text("what-did", subject="walter pennock", relations="founded")
        assert filled.startswith("What did walter pennock founded?\n\nRun this query with the tool sparql")
        query = filled.partition("```sparql\n")[2].removesuffix("\n```")
        rows = text_of(await client.call_tool("sparql", {"query": query}))
        assert "Tarnay Electric Light Company" in rows

        compared = await text("compare", entities="Walter Pennock, Nobody at All", relations="founded")
        assert compared.startswith(
            "Compare the founded of Walter Pennock and Nobody at All\n\nNothing is called"
        )
        assert "'Nobody at All'. Find the IRIs" in compared
        assert f"<{FOUNDED}>" in compared
        assert "<urn:a:b>" in await text("neighbours", entity="<urn:a:b>")
        assert "Company" in await text("document-facts", document="Company")

        from mcp import MCPError

        for name, arguments, message in (
            ("no-prompt", {}, "no prompt 'no-prompt'"),
            ("neighbours", {}, "missing parameter entity"),
            ("neighbours", {"entity": "Petrel", "model": "x"}, "unknown parameter model"),
            ("between", {"first": "long ago", "last": "1910"}, "parameter first"),
        ):
            with pytest.raises(MCPError, match=message):
                await text(name, **arguments)

    talk(connect(), work)


def test_lists_of_documents_have_pages(documents_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp_types import PaginatedRequestParams

    monkeypatch.setattr(resources, "PAGE", 1)
    with Engine.open(config=Settings(store=str(documents_store)), read_only=True) as engine:
        first = resources.list_resources(engine, None)
        second = resources.list_resources(engine, PaginatedRequestParams(cursor=first.next_cursor))
        third = resources.list_resources(engine, PaginatedRequestParams(cursor=second.next_cursor))
    assert [len(page.resources) for page in (first, second, third)] == [5, 1, 0]
    assert third.next_cursor is None
