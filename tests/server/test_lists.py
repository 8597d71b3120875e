"""A list that is declared once has a command with a table, JSON, a page and a tool, with no other code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from click.testing import CliRunner

from graphrag_rdf import Engine
from graphrag_rdf.cli.app import root
from graphrag_rdf.config import Settings
from graphrag_rdf.lists.declaration import Column, Filter, List, lists, register
from graphrag_rdf.server.app import create_app
from graphrag_rdf.wings.mcp.tools import TOOLS, Call, ListArguments
from tests.support.pages import BROWSER, Page


@pytest.fixture
def toys() -> Iterator[List]:
    """The list, declared by one call."""
    yield register(
        List(
            "toys",
            "Toys",
            "List toys, the heaviest first.",
            columns=(
                Column("name", "toy", link="entity"),
                Column("facts", "weight", "count"),
                Column("iri", "iri", page=False),
            ),
            filters=(Filter("match", "Only toys with this text.", "text", "Part of a name", "text"),),
            command="entities toys",
            path="/toys",
            template="entities/list",
            keys={"iri": "entity"},
            none="There are no toys.",
        )
    )
    cast("dict[str, List]", lists()).pop("toys")


def command(store: Path, *arguments: str) -> str:
    """What the command prints."""
    done = CliRunner().invoke(root, ["entities", *arguments, "--store", str(store)], prog_name="graphrag-rdf")
    assert done.exit_code == 0, done.output
    return done.stdout


def test_its_command(toys: List, documents_store: Path) -> None:
    assert "List toys, the heaviest first." in command(documents_store, "--help")
    assert "Only toys with this text." in command(documents_store, "toys", "--help")
    heading, row, *_ = command(documents_store, "toys", "--match", "walter").splitlines()
    assert heading.split() == ["toy", "weight", "iri"]
    assert row.split()[:2] == ["Walter", "Pennock"]
    assert '"name": "Walter Pennock"' in command(documents_store, "toys", "--limit", "5", "--format", "json")
    assert command(documents_store, "toys", "--match", "zzz") == "There are no toys.\n"


async def _served(app: Any, path: str, headers: dict[str, str]) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7878") as client:
        return await client.get(path, headers=headers)


def test_its_page_its_json_and_its_tool(toys: List, documents_store: Path) -> None:
    with Engine.open(config=Settings(store=str(documents_store)), read_only=True) as engine:
        app = create_app(engine)

        def get(path: str, headers: dict[str, str]) -> httpx.Response:
            return asyncio.run(_served(app, path, headers))

        page = Page(get("/toys?match=walter", BROWSER).text)
        page.check()
        assert "Weight" in page.text
        assert "/entities/walter-pennock" in page.addresses("a")
        answer = get("/toys?limit=2", {"Accept": "application/json"}).json()
        assert [item.keys() for item in answer["items"]] == [{"name", "facts", "iri"}] * 2
        assert answer.items() >= {"match": "", "limit": 2, "offset": 0}.items(), "unused filters, too"
        assert get("/toys?match=zzz", BROWSER).text.count("There are no toys.") == 1
        assert "/toys" in get("/openapi.json", {}).json()["paths"]
        (tool,) = [each for each in TOOLS if each.name == "list"]
        assert "toys (match)" in tool.about_in(app.state.service)
        call = Call(app.state.service, cast("Any", None), cast("Any", None))
        outcome = asyncio.run(tool.work(call, ListArguments(list="toys", filters={"match": "walter"})))
        assert outcome.data["items"][0]["name"] == "Walter Pennock"
        assert outcome.text.split()[:3] == ["toy", "weight", "iri"]
