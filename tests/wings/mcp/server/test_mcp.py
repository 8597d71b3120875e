"""The Model Context Protocol, spoken with its official client: over stdin and stdout, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.wings.agents.mcp_client import Server, call_tool, served_tools
from tests.support.commands import HARBOUR, environment, program
from tests.support.endpoint import READ, TOKENS, WRITE, Endpoint, bearer
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.tools import over_http, stdio, talk, text_of

pytest.importorskip("mcp")

QUESTION = "Who founded the Tarnay Electric Light Company?"
READING = ["ask", "retrieve", "schema", "sparql", "list", "trace", "source_of_fact"]
OUTCOMES = (
    "PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> "
    "SELECT ?o { GRAPH <urn:graph:retrieval> { ?s rag:outcome ?o } }"
)

Connect = Callable[[], Any]


# --- what the tools do --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools(connect: Connect, mode: str) -> None:
    """One talk: each reading tool gives JSON that fits its schema (the client checks), and text."""

    async def work(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == READING
        assert all(tool.annotations.read_only_hint for tool in tools)
        told: list[str] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            del total
            told.append(f"{done:g} {message}")

        answer = await client.call_tool("ask", {"question": QUESTION}, progress_callback=progress)
        assert not answer.is_error
        found = answer.structured_content
        assert "Walter Pennock" in found["answer"]
        assert found["citations"][0]["sources"][0]["quote"]
        assert "[1] Company: “Walter Pennock founded" in text_of(answer)
        assert "no_llm" in text_of(answer)
        assert told[:3] == ["1 session", "2 question", "3 grounding"]

        trace = await client.call_tool("trace", {"trace": found["trace"]})
        assert trace.structured_content["steps"][0]["type"] == "question"
        assert "[exploration]" in text_of(trace)
        listed = await client.call_tool("trace", {"limit": 1})
        assert listed.structured_content["traces"][0]["iri"] == found["trace"]

        passages = await client.call_tool("retrieve", {"question": QUESTION, "k": 1})
        assert "Pennock" in passages.structured_content["results"][0]["text"]
        assert "1. Company (score" in text_of(passages)

        edge = found["citations"][0]["edge"]
        fact = {"subject": edge["s"], "predicate": edge["p_label"], "object": edge["o_label"]}
        sources = (await client.call_tool("source_of_fact", fact)).structured_content["sources"]
        assert sources[0]["quote"] == "Walter Pennock founded the Tarnay Electric Light Company in 1897."

    talk(connect(), work, mode)


def as_agents_do(at: Server) -> None:
    tools = served_tools(at)
    assert [*tools] == READING
    assert tools["retrieve"].schema["properties"]["question"]["type"] == "string"
    assert "Pennock" in call_tool(at, "retrieve", {"question": QUESTION, "k": 1})
    with pytest.raises(GraphRagError, match="no trace"):
        call_tool(at, "trace", {"trace": "00000000-0000-0000-0000-000000000000"})


@pytest.mark.slow
def test_the_tools_serve_agents_that_start_the_program(store: Path) -> None:
    """What docs/how-to/agents.md shows."""
    as_agents_do(Server(command=tuple(map(str, program("--store", store, "mcp")))))


def test_the_tools_serve_agents_over_http(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", READ)
    as_agents_do(Server(url=f"{server.url}/mcp", token_env="MY_TOKEN"))
    monkeypatch.setenv("MY_TOKEN", "wrong")
    with pytest.raises(GraphRagError, match=f"{server.url}/mcp: "):
        served_tools(Server(url=f"{server.url}/mcp", token_env="MY_TOKEN"))


def test_sparql(connect: Connect) -> None:
    async def work(client: Any) -> None:
        async def run(query: str) -> Any:
            return await client.call_tool("sparql", {"query": query})

        select = await run("SELECT ?l { <http://trustgraph.ai/e/walter-pennock> rdfs:label ?l }")
        assert select.structured_content["results"]["bindings"][0]["l"]["value"] == "Walter Pennock"
        assert text_of(select) == "?l\nWalter Pennock@en"
        assert (await run("ASK { ?s ?p ?o }")).structured_content["boolean"] is True
        graph = await run("CONSTRUCT { ?s rdfs:label ?l } { ?s rdfs:label ?l } LIMIT 1")
        assert "rdfs:label" in graph.structured_content["turtle"]
        terms = await run("SELECT ?t { GRAPH <urn:graph:source> { ?x tg:contains ?t } } LIMIT 1")
        assert terms.structured_content["results"]["bindings"][0]["t"]["type"] == "triple"
        assert text_of(terms).startswith("?t\n<<( ")
        for query, said in (
            ("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", "more than 1,000 rows"),
            ("INSERT DATA { <urn:a> <urn:b> 1 }", "this is an update, not a query"),
            ("DROP ALL", "this is an update, not a query"),
            ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "SERVICE is refused"),
            ("SELECT ?g { GRAPH ?g { ?s ?p ?o } } ORDER BY nonsense(", "malformed"),
        ):
            refused = await run(query)
            assert refused.is_error, query
            assert said in text_of(refused)
        graphs = await run("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
        assert "urn:graph:system" not in text_of(graphs)

    talk(connect(), work)


def test_what_a_client_may_not_say(connect: Connect) -> None:
    """Errors are results that a model can read, without a trace of Python."""

    async def work(client: Any) -> None:
        for name, arguments, said in (
            ("ask", {"question": QUESTION, "model": "openai/gpt-4"}, "model"),
            ("ask", {"question": QUESTION, "store": "/etc"}, "store"),
            ("ask", {"question": QUESTION, "pipeline": "../../etc"}, "pipeline"),
            ("ask", {"question": "", "pipeline": "doc_rag"}, "question"),
            ("ask", {"question": QUESTION, "include": ["nobody at all"]}, "nobody at all"),
            ("retrieve", {"question": QUESTION, "k": 100_000}, "k"),
            ("sparql", {}, "query"),
            ("trace", {"trace": "00000000-0000-0000-0000-000000000000"}, "no trace"),
            ("source_of_fact", {"subject": "x", "predicate": "y", "object": "z"}, "'x'"),
            ("ingest", {"paths": ["."]}, "no tool"),
            ("eval", {}, "no tool"),
        ):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error, name
            assert said in text_of(refused)
            assert "Traceback" not in text_of(refused)

    talk(connect(), work)


# --- limits of standard input and output -------------------------------------------------------------


def test_an_endless_query_is_ended_on_stdio_too(store: Path) -> None:
    async def work(client: Any) -> Any:
        query = "SELECT (COUNT(*) AS ?n) { " + " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6)) + " }"
        assert [tool.name for tool in (await client.list_tools()).tools] == READING
        return await client.call_tool("sparql", {"query": query})

    ended = talk(stdio(store, GRAPHRAG_RDF_SERVER__QUERY_TIMEOUT="0.5"), work)
    assert ended.is_error
    assert "0.5 s" in text_of(ended)


@pytest.mark.parametrize(
    ("number", "code"),
    [(None, 0), (signal.SIGTERM, 130), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_it_ends_with_its_input_or_a_signal(store: Path, number: int | None, code: int) -> None:
    """The store is let go of either way, and nothing but the protocol was written to standard output."""
    process = subprocess.Popen(
        program("--store", store, "mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    process.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
    )
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "graphrag-rdf"
    if number is None:
        process.stdin.close()
    else:
        process.send_signal(number)
    assert process.wait(20) == code
    assert process.stdout.read() == ""
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    assert not (store / "holder.json").exists()


def test_without_the_package_it_says_how_to_get_it(store: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "mcp"
    hidden.mkdir()
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError('no', name='mcp')\n", encoding="utf-8")
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    done = subprocess.run(
        program("--store", store, "mcp"), capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 2
    assert "pip install 'graphrag-rdf[mcp]'" in done.stderr
    with Endpoint.start(store, PYTHONPATH=env["PYTHONPATH"]) as endpoint, endpoint.client() as client:
        for _ in range(2):
            found = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
            assert found.status_code == 501
            assert "pip install" in found.json()["hint"]
        assert client.get("/health").status_code == 200


def test_a_store_that_is_served_is_asked_over_http(answering: Endpoint) -> None:
    done = subprocess.run(
        program("--store", answering.store, "mcp"),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 1
    assert f"{answering.url}/mcp" in done.stderr


# --- the guard ----------------------------------------------------------------------------------------


def test_mcp_is_behind_the_guard(guarded: Endpoint) -> None:
    """Host, Origin, tokens and sizes as of every other route."""
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    head = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    tail = head + b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(ping), ping)
    for lines, status in (
        (b"Host: evil.example\r\n", 421),
        (b"Host: HOST\r\nOrigin: https://evil.example\r\n", 403),
        (b"Host: HOST\r\nAuthorization: Bearer not-a-token-at-all\r\n", 401),
    ):
        assert guarded.raw(b"POST /mcp HTTP/1.1\r\n" + lines + tail)[0] == status, lines
    with guarded.client() as client:
        big = client.post("/mcp", content=b"x" * 300_000, headers={"Content-Type": "application/json"})
        assert big.status_code == 413
        assert client.get("/mcp", headers={"Accept": "text/event-stream"}).status_code == 405
        assert client.post("/mcp", content=b"{", headers={"Accept": "*/*"}).status_code < 500


def test_a_stranger_to_a_closed_server_has_no_tools(store: Path) -> None:
    with Endpoint.start(store, "--anonymous", "nothing", **TOKENS) as endpoint:
        with endpoint.client() as client:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert client.post("/mcp", json=ping).status_code == 401

        async def names(client: Any) -> list[str]:
            return [tool.name for tool in (await client.list_tools()).tools]

        assert talk(over_http(endpoint, READ), names) == READING


def say(client: httpx.Client, method: str, token: str) -> httpx.Response:
    """One message of the protocol as a raw request."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": hello}
    headers = {"Accept": "application/json, text/event-stream", **bearer(token)}
    return client.post("/mcp", json=body, headers=headers)


def test_requests_need_no_session(guarded: Endpoint) -> None:
    with guarded.client() as client:
        assert "mcp-session-id" not in say(client, "initialize", READ).headers
        assert say(client, "tools/list", READ).status_code == 200
        assert client.delete("/mcp", headers=bearer(READ)).status_code == 405


# --- ingest -------------------------------------------------------------------------------------------


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """A folder to read, with ways out of it."""
    folder = tmp_path / "allowed"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    secret = tmp_path / "secret.md"
    secret.write_text("The Vault of Orrin was built by Mona Kell in 1900.\n", encoding="utf-8")
    (folder / "way-out").mkdir()
    (folder / "way-out" / "link.md").symlink_to(secret)
    (folder / "link").symlink_to(tmp_path, target_is_directory=True)
    return folder


@pytest.fixture(params=[pytest.param("stdio", marks=pytest.mark.slow), "http"])
def ingesting(request: pytest.FixtureRequest, tmp_path: Path, allowed: Path) -> Iterator[Connect]:
    """A way to tools of a new store that may read documents."""
    store, option = tmp_path / "store", ("--allow-ingest", str(allowed))
    if request.param == "stdio":
        yield lambda: stdio(store, *option)
        return
    with Endpoint.start(store, *option, **TOKENS) as endpoint:
        yield lambda: over_http(endpoint, WRITE)


def test_ingest_of_the_allowed_folder(ingesting: Connect, allowed: Path) -> None:
    async def work(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert not tools["ingest"].annotations.read_only_hint
        told: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            del total, message
            told.append(done)

        done = await client.call_tool("ingest", {"paths": ["below/harbour.md"]}, progress_callback=progress)
        assert not done.is_error, text_of(done)
        assert done.structured_content["documents"]["added"] == 1
        assert told
        again = await client.call_tool("ingest", {"paths": ["below"]})  # the same, whatever named it
        assert again.structured_content["documents"]["unchanged"] == 1
        answer = await client.call_tool("ask", {"question": "Who designed Drumlaw Head Lighthouse?"})
        assert "Andrew Orr" in answer.structured_content["answer"]
        for path, said in (
            ("../secret.md", "outside"),
            (str(allowed.parent / "secret.md"), "outside"),
            ("/etc/passwd", "outside"),
            ("link/secret.md", "outside"),
            ("way-out", "leads outside"),
            (".", "leads outside"),
            ("*.md", "there is no"),
            ("nothing.md", "there is no"),
            ("a\0b", "not a path"),
        ):
            refused = await client.call_tool("ingest", {"paths": [path]})
            assert refused.is_error, path
            assert said in text_of(refused), path
        ask = 'ASK { ?s rdfs:label ?name FILTER(STR(?name) = "Mona Kell") }'
        secret = await client.call_tool("sparql", {"query": ask})
        assert secret.structured_content["boolean"] is False

    talk(ingesting(), work)


def test_ingest_takes_a_role(tmp_path: Path, allowed: Path) -> None:
    with Endpoint.start(tmp_path / "store", "--allow-ingest", str(allowed), **TOKENS) as endpoint:

        async def work(client: Any) -> None:
            assert [tool.name for tool in (await client.list_tools()).tools] == READING
            refused = await client.call_tool("ingest", {"paths": ["below"]})
            assert refused.is_error
            assert "write" in text_of(refused)

        talk(over_http(endpoint, READ), work)
        talk(over_http(endpoint), work)


# --- cancelling ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "mode"), [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto")])
def test_who_cancels_closes_the_trace(
    transport: str, mode: str, documents_store: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    place = tmp_path / "store"
    shutil.copytree(documents_store, place, ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    env = {"GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url, "GRAPHRAG_RDF_LLM__API_KEY": "sk-scripted"}

    def answer(request: Request) -> Reply:
        if request.body.get("stream"):
            return Reply("Walter Pennock founded it [1]. " * 40, chunk_delay=0.2)
        return Reply('{"concepts": ["Tarnay Electric Light Company"]}')

    async def work(client: Any) -> bool:
        begun = asyncio.Event()

        async def progress(done: float, total: float | None, message: str | None) -> None:
            del done, total
            if message == "focus":
                begun.set()

        call = asyncio.create_task(
            client.call_tool("ask", {"question": QUESTION}, progress_callback=progress)
        )
        await asyncio.wait_for(begun.wait(), 60)
        await asyncio.sleep(0.5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        for _ in range(100):
            rows = (await client.call_tool("sparql", {"query": OUTCOMES})).structured_content["results"]
            outcomes = [row["o"]["value"].rpartition("#")[2] for row in rows["bindings"]]
            if "cancelled" in outcomes:
                return True
            await asyncio.sleep(0.1)
        return False

    scripted_server.answer_with(answer)
    if transport == "stdio":
        assert talk(stdio(place, "--model", "openai/scripted", **env), work, mode)
        return
    with Endpoint.start(place, "--model", "openai/scripted", **env, **TOKENS) as endpoint:

        async def refused(client: Any) -> str:
            return text_of(await client.call_tool("ask", {"question": QUESTION}))

        assert "token" in talk(over_http(endpoint), refused, mode)  # a model costs money
        assert not scripted_server.requests
        assert talk(over_http(endpoint, READ), work, mode)
        assert not [line for line in endpoint.log if "Traceback" in line]
