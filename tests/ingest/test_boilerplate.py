"""Marks of what frames documents, and of chunks that say nearly the same."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from benchmarks.synthetic import FACTS_PER_PASSAGE, Collection
from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.boilerplate import fingerprint, mark_boilerplate
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.store.base import Changes
from tests.ingest.conftest import MakeEngine, assert_same, content, everything
from tests.support.cpu import least_seconds
from tests.support.stores import open_engine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BOOK = """Ebook of The Lamp

This ebook is given away to anybody, under the terms of the Penny Library.

Title: The Lamp

Illustrator: Mary Penn

*** START OF THE PENNY LIBRARY BOOK THE LAMP ***

Old Ruben lit the lamp on Skell Head. He had lit it for forty years, and no ship was lost in all that time.
His daughter Ada carried the oil up the stairs. In the winter of 1902 the glass broke in a storm. Ada held a
lantern to the window until the morning, and the Petrel came home.

*** END OF THE PENNY LIBRARY BOOK THE LAMP ***

Copies of this ebook may be sold only with the permission of the Library. The Library gives no warranty.
"""
_NAVIGATION = "<div><ul><li>Home</li><li>Our fleet</li><li>Timetables</li><li>Contact us</li></ul></div>"
_FOOTER = (
    "<div>The Skell Ferry Company accepts no liability for delays that are caused by weather or tides.</div>"
)
PAGES = {
    "petrel.html": (
        "The Petrel",
        "Rhoda Tennant built the Petrel in Port Merrin. She carries ninety passengers.",
    ),
    "gudrun.html": ("The Gudrun", "The Gudrun was built in Kelmar by Omar Falk. She carries eleven lorries."),
    "harbour.html": (
        "The harbour",
        "Lena Brook has led the harbour of Port Merrin since 1998. It has four quays.",
    ),
}


def page(title: str, said: str) -> str:
    return (
        f"<html><head><title>{title}</title></head><body>{_NAVIGATION}<h1>{title}</h1><p>{said}</p>"
        f"<p>{said.replace('. ', ' in those years. ')}</p>{_FOOTER}</body></html>"
    )


def write_pages(docs: Path) -> None:
    for name, (title, said) in PAGES.items():
        (docs / name).write_text(page(title, said))


def marked(engine: Engine) -> set[str]:
    """The words of sentences that are boilerplate."""
    found = [q.subject for q in engine.store.quads(Graphs.DERIVED) if q.predicate == RAG.boilerplate]
    rows = engine.store.select("retrieval/sentence-texts", sentences=[node_of(one) for one in found])
    return {" ".join(row["text"].split()) for row in rows}


def alike(engine: Engine) -> list[tuple[str, str]]:
    """The words of chunks that say nearly the same as an earlier one, with this one's."""
    pairs = [
        (node_of(q.subject), node_of(q.object))
        for q in engine.store.quads(Graphs.DERIVED)
        if q.predicate == RAG.nearDuplicateOf
    ]
    rows = engine.store.select(
        "retrieval/chunks", chunks=sorted({one for pair in pairs for one in pair}, key=str)
    )
    texts = {row["chunk"]: row["text"] for row in rows}
    return [(texts[one], texts[first]) for one, first in pairs]


def require_sound(engine: Engine) -> None:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []


def test_what_stands_outside_the_frame_of_a_book_is_boilerplate_but_its_fields(
    docs: Path, engine_of: MakeEngine
) -> None:
    (docs / "lamp.txt").write_text(BOOK)
    engine = engine_of()
    engine.ingest([docs])
    assert marked(engine) == {
        "Ebook of The Lamp",
        "This ebook is given away to anybody, under the terms of the Penny Library.",
        "*** START OF THE PENNY LIBRARY BOOK THE LAMP ***",
        "*** END OF THE PENNY LIBRARY BOOK THE LAMP ***",
        "Copies of this ebook may be sold only with the permission of the Library.",
        "The Library gives no warranty.",
    }
    require_sound(engine)


def test_navigation_and_footers_of_several_pages_are_boilerplate_until_these_are_forgotten(
    docs: Path, engine_of: MakeEngine
) -> None:
    write_pages(docs)
    engine = engine_of()
    engine.ingest([docs])
    found = marked(engine)
    assert (
        "The Skell Ferry Company accepts no liability for delays that are caused by weather or tides."
        in found
    )
    assert any("Timetables" in one for one in found)
    assert not any(title in one for one in found for title, _ in PAGES.values())
    require_sound(engine)
    forget_documents(engine, find_documents(engine.store, [str(docs / "gudrun.html")]))
    assert marked(engine) == set()
    assert not [q for q in everything(engine) if q.predicate == RAG.boilerplate]
    require_sound(engine)


def test_a_document_that_consists_of_shared_text_has_it_as_its_content(
    docs: Path, engine_of: MakeEngine
) -> None:
    licence = (
        "Everybody may copy this program. The above notice stays in all copies of it. There is no warranty."
    )
    for name in ("one", "two", "three"):
        (docs / f"{name}.txt").write_text(f"The licence of {name}.\n\n{licence}\n")
    engine = engine_of()
    engine.ingest([docs])
    assert marked(engine) == set()


def test_chunks_that_differ_in_a_few_words_are_near_duplicates_of_the_first(
    docs: Path, engine_of: MakeEngine
) -> None:
    text = BOOK[BOOK.index("Old Ruben") : BOOK.index("*** END")]
    (docs / "a.txt").write_text(text)
    (docs / "b.txt").write_text(text.replace("forty", "thirty"))
    (docs / "c.txt").write_text("Isak Wennerby designed the reversing gear. " * 5)
    engine = engine_of(documents__chunk_size=2000)
    engine.ingest([docs])
    ((copy, first),) = alike(engine)
    assert ("thirty" in copy, "forty" in first) == (True, True)
    assert marked(engine) == set()
    require_sound(engine)
    (docs / "b.txt").write_text("Nora Quill keeps the museum of Port Merrin, which is open on Sundays.\n")
    engine.ingest([docs])
    assert alike(engine) == []


def test_marks_do_not_depend_on_the_order_and_a_further_run_writes_nothing(
    docs: Path, engine_of: MakeEngine
) -> None:
    write_pages(docs)
    (docs / "lamp.txt").write_text(BOOK)
    (docs / "lamp-2.txt").write_text(BOOK.replace("forty", "thirty"))
    engine, other = engine_of("one"), engine_of("other")
    engine.ingest([docs])
    for path in sorted(docs.iterdir(), reverse=True):
        other.ingest([path], root=docs)
    assert marked(engine) != set()
    assert_same(marks(other), marks(engine))
    before = content(engine)
    engine.ingest([docs])
    assert_same(content(engine), before)


def marks(engine: Engine) -> set[object]:
    told = (RAG.boilerplate, RAG.nearDuplicateOf, RAG.fingerprint)
    return {quad for quad in everything(engine) if quad.predicate in told}


def test_ordinary_documents_have_no_marks(engine_of: MakeEngine) -> None:
    engine = engine_of(documents__chunk_size=2000)
    engine.ingest([EXAMPLES / "documents", EXAMPLES / "zh"])
    assert [q for q in everything(engine) if q.predicate in (RAG.boilerplate, RAG.nearDuplicateOf)] == []


def test_chunks_without_a_fingerprint_get_one(docs: Path, engine_of: MakeEngine) -> None:
    write_pages(docs)
    engine = engine_of()
    engine.ingest([docs])
    before = marks(engine)
    fingerprinted = {q.subject for q in everything(engine) if q.predicate == RAG.fingerprint}
    assert fingerprinted == {
        NamedNode(text_of(q.subject))
        for q in everything(engine)
        if q.object == NamedNode("https://trustgraph.ai/ns/Chunk")
    }
    for quad in [q for q in everything(engine) if q.predicate in (RAG.boilerplate, RAG.fingerprint)]:
        engine.store.commit(Changes(remove=[quad], content=False))
    engine.ingest([docs])
    assert_same(marks(engine), before)


@pytest.mark.parametrize("text", ["_" * 20_000, "** START OF " + " " * 20_000, "__ START OF " * 2000])
def test_long_runs_of_marks_take_no_time(text: str) -> None:
    """Found by benchmarks.fuzz: each of them took seconds."""
    begun = time.process_time()
    assert fingerprint(text, [(0, 0, len(text))])
    assert time.process_time() - begun < 1


def test_updating_the_marks_of_many_chunks_takes_little_longer_than_reading_their_fingerprints() -> None:
    collection = Collection(2_000 * FACTS_PER_PASSAGE)
    with open_engine(":memory:", config=Settings()) as engine:
        for name in ("passages", "sentences and mentions"):
            engine.store.bulk_add(collection.layers()[name]())
        mark_boilerplate(engine.store)
        update, read = (
            least_seconds(action)
            for action in (
                lambda: mark_boilerplate(engine.store),
                lambda: engine.store.select("boilerplate/fingerprints"),
            )
        )
    assert update < 6 * read
