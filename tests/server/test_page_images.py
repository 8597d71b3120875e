"""Pages of PDFs as pictures, and the words that are cited on them."""

from __future__ import annotations

import asyncio
import gzip
import re
import time
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from pyoxigraph import NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.config import ServerSection, Settings
from graphrag_rdf.server import page_images
from graphrag_rdf.server.app import create_app
from graphrag_rdf.server.page_images import PageImages
from graphrag_rdf.store.blobs import BlobStore
from tests.documents.conftest import pdf
from tests.support.pdf import lines, make_pdf, show

FIRST = ["Ada Orr sold the boat to a pilot of Skell in 1911. The pilot lost it in the storm of"]
SECOND = ["the next winter, and nobody found it. Mona Kell wrote the Almanac."]
TWO_PAGES = make_pdf([lines(50, 700, FIRST), lines(50, 700, SECOND)])
BROWSER = {"Accept": "text/html"}


class Served:
    """A server in this process over a folder of PDFs."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder, self.engine = folder, engine
        self.app = create_app(engine, ServerSection(anonymous="write"))
        self.images: PageImages = self.app.state.service.page_images

    def ingest(self, name: str, data: bytes) -> str:
        """Write a file and ingest it; the address of its document."""
        (self.folder / name).write_bytes(data)
        self.engine.ingest([self.folder])
        return f"/documents/in/{name}"

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        """The answer to a GET."""
        return self.send("GET", path, headers)

    def send(self, method: str, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        """The answer to a request."""
        return asyncio.run(self._send(method, path, headers or {}))

    async def _send(self, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7878") as client:
            return await client.request(method, path, headers=headers)

    def cited(self, document: str, quote: str, **more: Any) -> str:
        """The page of a document with a quote that is cited from its first chunk."""
        (row, *_) = self.engine.store.select(
            "provenance/document-chunks", document=self.iri(document), shown=10_000
        )
        start = row["offset"] + row["text"].index(quote)
        place = {"chunk": row["chunk"], "start": start, "length": len(quote), **more}
        return self.get(f"{document}?{urlencode(place)}", BROWSER).text

    def iri(self, document: str) -> NamedNode:
        """Of a document by its address."""
        name = document.removeprefix("/documents/")
        return NamedNode(self.engine.store.select("provenance/find-document", name=name)[0]["document"].value)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server over an empty folder."""
    folder = tmp_path / "in"
    folder.mkdir()
    with Engine.open(config=Settings(store=str(tmp_path / "store"))) as engine:
        yield Served(folder, engine)


def pictures(page: str) -> list[str]:
    """The addresses of the pictures on a page of a document."""
    return re.findall(r'<img src="([^"]+)"', page)


def test_a_page_is_drawn_once_and_asked_for_by_its_hash(served: Served) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    answer = served.get(f"{document}/pages/1.png", {"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert "content-encoding" not in answer.headers
    assert answer.content.startswith(b"\x89PNG")
    assert answer.headers["cache-control"] == "no-cache"
    again = served.get(f"{document}/pages/1.png", {"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = served.get(f"{document}/pages/2.png", {"If-None-Match": answer.headers["etag"]})
    assert other.status_code == 200
    assert other.content != answer.content


@pytest.mark.parametrize(("asked", "width"), [(1, 600), (601, 1200), (10_000, 1800)])
def test_widths_are_few(served: Served, asked: int, width: int) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    content = served.get(f"{document}/pages/1.png?width={asked}").content
    assert int.from_bytes(content[16:20]) == width
    assert served.get(f"{document}/pages/1.png?width=10001").status_code == 400


def test_what_has_no_picture(served: Served) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    served.ingest("b.txt", b"Ada Orr sold the boat.")
    for path in (f"{document}/pages/3.png", f"{document}/pages/0.png", "/documents/in/b.txt/pages/1.png"):
        assert served.get(path).status_code == 404
    assert served.get("/documents/gone.pdf/pages/1.png").status_code == 404


def test_cited_words_are_marked_on_the_page_beside_the_text(served: Served) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    page = served.cited(document, "Ada Orr sold the boat")
    assert pictures(page) == [f"{document}/pages/1.png"]
    assert page.count("<rect") == page.count('<rect id="cited"') == page.count('id="cited"') == 1
    assert 'alt="Ada Orr sold the boat"' in page
    assert "later changes of the file are not shown" in page


def test_a_quote_over_a_page_break_is_marked_on_both_pages(served: Served) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    (row,) = served.engine.store.select(
        "provenance/document-chunks", document=served.iri(document), shown=10_000
    )[:1]
    quote = row["text"][row["text"].index("The pilot") : row["text"].index("Mona")].strip()
    page = served.cited(document, quote)
    assert pictures(page) == [f"{document}/pages/{number}.png" for number in (1, 2)]
    assert (page.count("<rect"), page.count('id="cited"')) == (2, 1)


def test_without_a_quote_the_pages_of_a_chunk_are_shown(served: Served) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    page = served.get(f"{document}?page=2", BROWSER).text
    assert pictures(page) == [f"{document}/pages/2.png"]
    assert 'alt="Page 2 of' in page
    assert "<rect" not in page
    assert pictures(served.get(document, BROWSER).text) == []


def test_a_file_that_changed_is_not_shown(served: Served) -> None:
    """Evidence is what was read: its bytes are in the blob store, by their hash."""
    document = served.ingest("a.pdf", TWO_PAGES)
    assert list(served.engine.ask("Who sold the boat?"))  # what a trace cites stays as text
    quote = "Ada Orr sold the boat"
    chunk = served.engine.store.select("provenance/document-chunks", document=served.iri(document), shown=9)
    first = served.get(f"{document}/pages/1.png")
    changed = make_pdf([show(50, 700, "Somebody else sold another boat to a person of Merrin in 1911.")])
    (served.folder / "a.pdf").write_bytes(changed)
    assert served.get(f"{document}/pages/1.png").content == first.content
    assert served.cited(document, quote).count("<rect") == 1
    served.ingest("a.pdf", changed)
    second = served.get(f"{document}/pages/1.png", {"If-None-Match": first.headers["etag"]})
    assert second.status_code == 200
    assert second.content != first.content
    place = urlencode({"chunk": chunk[0]["chunk"], "start": 0, "length": len(quote)})
    page = served.get(f"{document}?{place}", BROWSER).text
    assert pictures(page) == []
    assert "from an earlier version of the document" in page


def test_a_forgotten_document_has_no_pictures(served: Served) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    assert served.get(f"{document}/pages/1.png").status_code == 200
    assert served.images._size > 0
    assert served.send("DELETE", document).status_code == 200
    assert served.images._size == 0
    assert served.get(f"{document}/pages/1.png").status_code == 404


def test_where_only_text_is_kept_the_page_says_so(served: Served) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    served.engine.store.update(
        "DELETE WHERE { GRAPH <urn:graph:source> { ?v <https://w3id.org/graphrag-rdf/ns#originalBytes> ?o } }"
    )
    page = served.cited(document, "Ada Orr sold the boat")
    assert pictures(page) == []
    assert "Only the text of this document is kept" in page
    assert page.count('id="cited"') == 1


def test_words_that_are_not_on_the_page_are_marked_in_the_text(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = served.ingest("a.pdf", TWO_PAGES)
    monkeypatch.setattr("graphrag_rdf.server.pages.cited_pages.cited_boxes", lambda *_: [])
    page = served.cited(document, "Ada Orr sold the boat")
    assert "The words could not be located on the page." in page
    assert '<mark class="cited" id="cited">' in page
    assert len(pictures(page)) == 1
    original = served.engine.store.select(
        "provenance/kept-pages", document=served.iri(document), numbers=[1]
    )[0]["original"]
    drawn = served.images.page(original, 1)
    assert drawn is not None
    monkeypatch.setattr(served.images, "page", lambda *_: replace(drawn, text="", boxes=array("H")))
    assert "This page is an image" in served.cited(document, "Ada Orr sold the boat")
    monkeypatch.setattr(served.images, "page", lambda *_: None)
    page = served.cited(document, "Ada Orr sold the boat")
    assert "This page cannot be drawn" in page
    assert pictures(page) == []


def test_a_quote_on_the_last_of_many_short_pages_is_shown(served: Served) -> None:
    document = served.ingest("a.pdf", make_pdf([show(50, 700, f"Word {number}.") for number in range(1, 7)]))
    page = served.cited(document, "Word 6.")
    assert pictures(page) == [f"{document}/pages/6.png"]
    assert page.count("<rect") == 1


# --- files from strangers ------------------------------------------------------------------------------


def drawn(data: bytes, number: int = 1) -> bool:
    blobs = BlobStore()
    return PageImages(blobs).page(blobs.put(data), number) is not None


@pytest.mark.parametrize(
    "data",
    [b"", b"%PDF-1.4 of a kind", TWO_PAGES[:300], pdf(password="secret"), b"\0" * 100_000],
    ids=["empty", "no structure", "cut off", "encrypted", "zeros"],
)
def test_broken_files_have_no_picture(data: bytes) -> None:
    assert not drawn(data)


def test_only_pages_that_are_there_are_drawn() -> None:
    assert drawn(TWO_PAGES, 2)
    assert drawn(gzip.compress(TWO_PAGES), 2)
    assert not drawn(TWO_PAGES, 3)
    assert not drawn(TWO_PAGES, 0)
    assert PageImages(BlobStore()).page(NamedNode("urn:sha256:" + "0" * 64), 1) is None


def test_a_page_that_takes_too_long_is_given_up_and_not_tried_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heavy = b"q 0.5 w " + b"0 0 m 600 800 l S 600 0 m 0 800 l S " * 400_000 + b"Q"
    blobs = BlobStore()
    images, original = PageImages(blobs), blobs.put(make_pdf([heavy]))
    monkeypatch.setattr(page_images, "_SECONDS", 0.5)
    started = time.monotonic()
    assert images.page(original, 1) is None
    assert time.monotonic() - started < 5
    monkeypatch.setattr(page_images, "_drawn", None)
    assert images.page(original, 1) is None


def test_a_process_that_needs_too_much_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_images, "_MEGABYTES", 10)
    assert not drawn(TWO_PAGES)


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = BlobStore()
    images, original = PageImages(blobs), blobs.put(TWO_PAGES)
    first = images.page(original, 1)
    assert first is not None
    assert images.page(original, 1) is first
    monkeypatch.setattr(page_images, "_CACHED", first.size + 1)
    assert images.page(original, 2) is not None
    assert images.page(original, 1) is not first
    images.clear()
    assert images._size == 0
