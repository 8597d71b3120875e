"""Edited documents: only what changed is done again, and the result is as if it had been built at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ingest.conftest import (
    MakeEngine,
    assert_same,
    by_model,
    chunk_in,
    chunks,
    content,
    facts,
    index_matches_store,
)
from tests.ingest.conftest import settings as small
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

NAMES = [
    "Ada Lovelace",
    "Charles Babbage",
    "Grace Hopper",
    "Harvard University",
    "ADA LOVELACE",
    "Mary Somerville",
]
VERBS = ["met", "taught", "worked for", "wrote to"]
SENTENCES = [f"{s} {v} {o}." for s in NAMES for v in VERBS for o in NAMES if s != o]


def _document(count: int, seed: int = 3) -> list[str]:
    return random.Random(seed).sample(SENTENCES, count)


def _write(path: Path, sentences: list[str], title: str = "# People\n\n") -> None:
    path.write_text(title + " ".join(sentences) + "\n", encoding="utf-8")


def _scratch(docs: Path, **overrides: object) -> set[object]:
    with open_engine(":memory:", config=small(**overrides)) as engine:
        engine.ingest([docs])
        return content(engine, history=False)  # type: ignore[return-value]


def test_edit_in_the_middle(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    """Chunks that are not touched keep their IRIs and are not asked about again, except for the one before
    which the text was edited.
    """
    sentences = _document(30)
    _write(docs / "people.md", sentences)
    engine = engine_of("store", **by_model(scripted_server))
    engine.ingest([docs])
    before = chunks(engine)
    scripted_server.requests.clear()
    sentences[15] = "Leslie Lamport met Barbara Liskov."
    _write(docs / "people.md", sentences)
    report = engine.ingest([docs])
    after = chunks(engine)
    asked = {chunk_in(request) for request in scripted_server.requests}
    edited = {after[iri] for iri in after.keys() - before.keys()}
    assert edited <= asked
    assert len(asked - edited) <= 1
    assert 1 <= report.chunks.added <= 3
    assert report.chunks.reused == len(after) - report.chunks.added >= 5
    assert report.chunks.removed == len(before.keys() - after.keys())
    assert (report.documents.updated, report.documents.unchanged) == (1, 0)
    assert ("leslie-lamport", "met", "barbara-liskov") in facts(engine)
    assert_same(content(engine, history=False), _scratch(docs, **by_model(scripted_server)))  # type: ignore[arg-type]
    assert index_matches_store(engine)


def test_facts_that_another_document_supports_stay(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "a.txt").write_text("Ada Lovelace met Charles Babbage. Ada Lovelace taught Grace Hopper.")
    (docs / "b.txt").write_text("There was a house in London. Ada Lovelace met Charles Babbage.")
    engine = engine_of()
    engine.ingest([docs])
    assert ("ada-lovelace", "taught", "grace-hopper") in facts(engine)
    (docs / "a.txt").write_text("Nothing of note.")
    engine.ingest([docs])
    assert ("ada-lovelace", "met", "charles-babbage") in facts(engine)
    assert ("ada-lovelace", "taught", "grace-hopper") not in facts(engine)
    assert_same(content(engine, history=False), _scratch(docs))  # type: ignore[arg-type]


def test_documents_with_a_changed_title_are_extracted_again(docs: Path, engine_of: MakeEngine) -> None:
    """What is found depends on the title, so the store must not keep what was found under the old one."""
    sentences = _document(10)
    _write(docs / "people.md", sentences, "# Ada Lovelace\n\n")
    engine = engine_of("store")
    engine.ingest([docs])
    _write(docs / "people.md", sentences, "# Grace Hopper\n\n")
    report = engine.ingest([docs])
    assert report.chunks.reused > 0
    assert_same(content(engine, history=False), _scratch(docs))  # type: ignore[arg-type]
    assert index_matches_store(engine)


def test_undone_edit(docs: Path, engine_of: MakeEngine) -> None:
    """Back to the first version: it is current again, with the time at which it came first."""
    sentences = _document(12)
    _write(docs / "people.md", sentences)
    engine = engine_of()
    engine.ingest([docs])
    before = content(engine)
    _write(docs / "people.md", sentences[:6])
    engine.ingest([docs])
    _write(docs / "people.md", sentences)
    engine.ingest([docs])
    assert_same(content(engine, history=False), before)
    again = set(engine.store.quads())
    assert engine.ingest([docs]).quads == 0
    assert set(engine.store.quads()) == again


def test_many_edits_leave_one_mark_each(docs: Path, engine_of: MakeEngine) -> None:
    """A superseded version is superseded once, and is the revision of the one before it."""
    engine = engine_of()
    for count in (4, 6, 8, 10):
        _write(docs / "people.md", _document(count))
        engine.ingest([docs])
    rows = engine.store.query(
        "PREFIX prov: <http://www.w3.org/ns/prov#> SELECT ?v (COUNT(?t) AS ?n) {"
        " GRAPH <urn:graph:source> { ?v prov:specializationOf ?d"
        " OPTIONAL { ?v prov:invalidatedAtTime ?t } } } GROUP BY ?v"
    ).rows
    assert sorted(int(row["n"].value) for row in rows or ()) == [0, 1, 1, 1]  # type: ignore[union-attr]
    revisions = [q for q in engine.store.quads() if q.predicate.value.endswith("#wasRevisionOf")]
    assert len({q.subject for q in revisions}) == len(revisions) == 3


def test_pages_move(docs: Path, engine_of: MakeEngine) -> None:
    """Sheets are pages: one that is put in front moves the others' numbers and offsets, nothing else."""
    import openpyxl

    def write(sheets: dict[str, list[str]]) -> None:
        book = openpyxl.Workbook()
        book.remove(book.worksheets[0])
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(["Note", row])
        book.save(docs / "log.xlsx")

    body = {"First": _document(3, 1), "Second": _document(3, 2)}
    write(body)
    engine = engine_of()
    report = engine.ingest([docs])
    before = chunks(engine)
    write({"Zero": ["Edsger Dijkstra met Tony Hoare."], **body})
    second = engine.ingest([docs])
    assert (report.pages, second.pages) == (2, 3)
    assert second.chunks.reused > 0
    assert before.keys() & chunks(engine).keys()
    assert_same(content(engine, history=False), _scratch(docs))  # type: ignore[arg-type]


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "replace", "swap", "title", "double"]),
        st.integers(0, 40),
        st.integers(0, len(SENTENCES) - 1),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@given(start=st.lists(st.integers(0, len(SENTENCES) - 1), min_size=1, max_size=16), edits=EDITS)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_edits_equal_a_build_from_scratch(
    start: list[int], edits: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    docs = tmp_path_factory.mktemp("docs")
    sentences = [SENTENCES[number] for number in start]
    title = "# People\n\n"
    (docs / "other.txt").write_text(" ".join(_document(5, 9)))
    _write(docs / "people.md", sentences, title)
    with open_engine(":memory:", config=small()) as engine:
        engine.ingest([docs])
        for kind, place, number in edits:
            at = place % (len(sentences) + 1)
            if kind == "insert":
                sentences.insert(at, SENTENCES[number])
            elif kind == "delete" and len(sentences) > 1:
                del sentences[at % len(sentences)]
            elif kind == "replace":
                sentences[at % len(sentences)] = SENTENCES[number]
            elif kind == "swap":
                other = number % len(sentences)
                at %= len(sentences)
                sentences[at], sentences[other] = sentences[other], sentences[at]
            elif kind == "double":
                sentences += sentences[: at or 1]
            else:
                title = f"# {NAMES[number % len(NAMES)]}\n\n"
            _write(docs / "people.md", sentences, title)
            engine.ingest([docs])
        assert_same(content(engine, history=False), _scratch(docs))  # type: ignore[arg-type]
        assert index_matches_store(engine)
