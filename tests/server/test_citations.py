"""Every citation leads to the page of its document, where exactly the cited characters are marked."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from tests.support.endpoint import Endpoint
from tests.support.pages import browser, get

NOTES = """---
author: Ada Orr
---
# Harbour notes

Walter Pennock founded the Tarnay Electric Light Company in 1897. What a cold morning it had been at the quay!
Nobody at the harbour ever forgot the smell of burnt rope in that winter.
"""
TABLE = (
    "Date,Payer,Payee,Purpose,Amount\n1931-08-17,Walter Pennock,Euan Corrigall,Portrait of the founder,120\n"
)
MORE = Path(__file__).resolve().parents[2] / "examples" / "documents" / "gate-four-inquiry.pdf"


class _Cited(HTMLParser):
    """The characters that a page marks as cited, without the numbers of facts in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = ""
        self._inside = self._number = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "mark":
            self._inside = ("class", "cited") in attrs
        self._number = self._number or tag == "sup"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "mark"
        self._number = self._number and tag != "sup"

    def handle_data(self, data: str) -> None:
        self.words += data if self._inside and not self._number else ""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server over notes with metadata, a table, and a PDF."""
    from graphrag_rdf import Engine
    from graphrag_rdf.config import Settings

    place = tmp_path_factory.mktemp("cited")
    (place / "in").mkdir()
    (place / "in" / "notes.md").write_text(NOTES, encoding="utf-8")
    (place / "in" / "ledger.csv").write_text(TABLE, encoding="utf-8")
    (place / "in" / "inquiry.pdf").write_bytes(MORE.read_bytes())
    with Engine.open(config=Settings(store=str(place / "store"))) as engine:
        engine.ingest([place / "in"])
    with Endpoint.start(place / "store") as endpoint, browser(endpoint) as found:
        yield found


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who founded the Tarnay Electric Light Company?", "Walter Pennock founded"),
        ("What did nobody at the harbour forget in that winter?", "Nobody at the harbour ever forgot"),
        ("What was the amount of the portrait of the founder?", "1931-08-17,Walter Pennock"),
        ("Who led the inquiry?", "Professor Harold Vane led the inquiry."),
    ],
    ids=["fact", "sentence without a fact", "row of a table", "page of a PDF"],
)
def test_a_citation_opens_the_document_at_the_marked_quote(
    client: httpx.Client, question: str, quote: str
) -> None:
    place = client.post("/ask", data={"question": question}, timeout=60).headers["location"]
    trace = client.get(place, headers={"Accept": "application/json"}).json()
    quotes = {
        source["quote"]
        for step in trace["steps"]
        for one in step.get("selections", ())
        if one["marker"] is not None or one["closest"]
        for source in one["sources"]
    }
    page = get(client, place)
    leads = [a for a in page.addresses("a") if a.endswith("#cited")]
    marked = {_Cited(client.get(lead, headers={"Accept": "text/html"}).text).words for lead in leads}
    assert quotes <= marked
    assert any(words.startswith(quote) for words in quotes)
    document = get(client, leads[0].partition("#")[0])
    assert document.ids.count("cited") == 1


def test_a_fact_of_the_metadata_opens_the_document_at_that_fact(client: httpx.Client) -> None:
    place = client.post("/ask", data={"question": "Who wrote Harbour notes?"}, timeout=60).headers["location"]
    (lead,) = {a for a in get(client, place).addresses("a") if "#fact-" in a}
    path, _, anchor = lead.partition("#")
    assert path.endswith("notes.md")
    assert anchor in get(client, path).ids


def test_a_citation_of_what_was_edited_away_says_so(client: httpx.Client) -> None:
    documents = get(client, "/documents")
    (notes,) = [a for a in documents.addresses("a") if a.endswith("notes.md")]
    page = get(client, f"{notes}?chunk=urn:chunk:gone&start=1&length=5")
    assert "no longer in this document" in page.text
    assert "cited" not in page.ids
