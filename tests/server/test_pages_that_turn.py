"""Pages of what is long or foreign: an entity with many facts, a document of many chunks, Arabic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from tests.support.endpoint import Endpoint
from tests.support.pages import browser, get

SHIPS = 450
PARTS = 40


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A browser of a server over a long table, a long report, and a note in Arabic; nothing was asked."""
    place = tmp_path_factory.mktemp("long")
    docs = place / "docs"
    docs.mkdir()
    rows = "".join(f"Vessel {number:03},Harrow Dockyard,{1500 + number}\n" for number in range(SHIPS))
    (docs / "ships.csv").write_text(f"Ship,Built at,Launched\n{rows}")
    parts = (
        f"## Part {number}\n\n" + f"Ada Moor visited the harbour of part {number}. " * 40
        for number in range(PARTS)
    )
    (docs / "report.md").write_text("# Report\n\n" + "\n\n".join(parts))
    (docs / "note.txt").write_text(
        "أسس أحمد الكريم شركة الشمال للملاحة في عام 1897. صممت ليلى حسن المنارة في عام 1901."
    )
    with Engine.open(config=Settings(store=str(place / "store"))) as engine:
        engine.ingest([docs])
    with Endpoint.start(place / "store") as endpoint, browser(endpoint) as found:
        yield found


def _turned(client: httpx.Client, path: str, name: str) -> list[str]:
    """The texts of pages from one on, by the links that lead to the next."""
    texts = []
    for _ in range(20):
        page = get(client, path)
        texts.append(page.text)
        after = [a for tag, a in page.tags if tag == "a" and a.get("rel") == "next" and name in a["href"]]
        if not after:
            return texts
        path = after[0]["href"].partition("#")[0]
    raise AssertionError("it does not end")


def test_a_page_behind_the_last_leads_back(client: httpx.Client) -> None:
    page = get(client, "/entities/harrow-dockyard?facts=5000")
    assert f"They end before: there are {SHIPS}." in page.text
    assert "None are known" not in page.text
    assert any(a.get("rel") == "prev" for tag, a in page.tags if tag == "a")


def test_every_fact_of_a_hub_is_on_one_page(client: httpx.Client) -> None:
    pages = _turned(client, "/entities/harrow-dockyard", "#facts")
    assert len(pages) == 3
    assert f"{SHIPS} say something with it" in pages[0]
    for number in range(SHIPS):
        assert sum(f"Vessel {number:03} built at" in text.partition("Where it is")[0] for text in pages) == 1


def test_every_mention_of_a_hub_is_on_one_page(client: httpx.Client) -> None:
    pages = _turned(client, "/entities/harrow-dockyard", "#mentions")
    assert len(pages) == SHIPS // 50
    for number in range(SHIPS):
        row = f"Vessel {number:03},Harrow Dockyard"
        assert sum(row in text.partition("Where it is")[2] for text in pages) == 1


def test_a_document_turns_to_a_chunk(client: httpx.Client) -> None:
    path = "/documents/docs/report.md"
    pages = _turned(client, path, "offset")
    assert len(pages) > 2
    for number in range(PARTS):
        assert sum(f"## Part {number}\n" in text for text in pages) == 1
    fact = next(
        a
        for a in get(client, "/entities/ada-moor").addresses("a")
        if a.startswith("/documents/") and "chunk=" in a
    )
    there, _, anchor = fact.partition("#")
    assert anchor in get(client, there).ids


def test_quotes_tell_their_language_and_direction(client: httpx.Client) -> None:
    page = get(client, "/documents/docs/note.txt")
    (text,) = [attributes for _, attributes in page.tags if attributes.get("class") == "chunk"]
    assert (text["lang"], text["dir"]) == ("ar", "auto")


def test_tables_tell_what_their_headers_are_of(client: httpx.Client) -> None:
    for path in (
        "/entities",
        "/queries",
        "/queries/entities/list",
        "/dataset",
        "/resource?iri=urn%3Agraph%3Asource",
    ):
        headers = [attributes for tag, attributes in get(client, path).tags if tag == "th"]
        assert headers
        assert all(attributes.get("scope") in ("col", "row") for attributes in headers), path


def test_a_store_without_documents_says_so(tmp_path: Path) -> None:
    with Endpoint.start(tmp_path / "store") as endpoint, browser(endpoint) as client:
        for path in ("/", "/documents"):
            assert "There are no documents yet" in get(client, path).text
