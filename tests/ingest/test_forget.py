"""Forgetting: the text is nowhere any more; tombstones, where only an edit took it out."""

from __future__ import annotations

import contextlib
import zlib
from collections import deque
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.forget import forget_documents, forget_named
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.store.base import Changes
from graphrag_rdf.wings.audit.verify import verify
from tests.ingest.conftest import (
    MakeEngine,
    assert_same,
    by_model,
    chunks,
    content,
    everything,
    facts,
    index_matches_store,
)
from tests.support.scripted_server import ScriptedServer

SECRET = "Zebedee Quillfeather met Xanthippe Marrowbone at the Vermilion Lighthouse"
SHARED = "Ada Lovelace met Charles Babbage."


@pytest.fixture
def two(docs: Path) -> Path:
    """A document with a secret, and one that shares a fact with it."""
    (docs / "secret.txt").write_text(f"{SHARED} {SECRET}.\n\nCharles Babbage knew Zebedee Quillfeather.")
    (docs / "open.txt").write_text(f"{SHARED} Charles Babbage wrote to Grace Hopper.")
    return docs


def cite(engine: Engine, chunk: str, words: str = "") -> None:
    """A stored trace that rests on a chunk, as little of one as the store has to know."""
    session, step, item = (NamedNode(f"urn:trustgraph:{name}:1") for name in ("session", "step", "item"))
    quads = [
        (step, PROV.wasGeneratedBy, session),
        (step, TG.selectedChunk, item),
        (item, RAG.usedChunk, NamedNode(chunk)),
        (item, TG.content, Literal(words)),
        (step, RAG.storedText, engine.blobs.put(f"The answer: {words}")),
    ]
    engine.store.commit(Changes(add=[Quad(*q, Graphs.RETRIEVAL) for q in quads], content=False))


def places(folder: Path, words: str) -> list[str]:
    """Files in which the words stand, as they are or compressed."""
    found = []
    needles = [words.encode(), words.split()[1].encode()]
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        with contextlib.suppress(zlib.error):
            data += zlib.decompress(data)
        if any(needle in data for needle in needles):
            found.append(str(path.relative_to(folder)))
    return found


def test_text_is_nowhere_any_more(
    two: Path, tmp_path: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """Neither in the database, nor blobs, cache, indexes, traces; nor is that of earlier versions."""
    with engine_of("store", **by_model(scripted_server)) as engine:
        engine.ingest([two])
        old = (two / "secret.txt").read_text()
        (two / "secret.txt").write_text(old.replace("Vermilion", "Vermilion and Ochre"))
        engine.ingest([two])
        secret = next(iri for iri, text in chunks(engine).items() if "Ochre" in text)
        cite(engine, secret, SECRET)
        assert list(engine.ask("Who met Charles Babbage, and where?"))
    assert len(places(tmp_path / "store", SECRET)) > 4
    with engine_of("store", **by_model(scripted_server)) as engine:
        dry = forget_documents(engine, find_documents(engine.store, ["Secret"]), dry_run=True)
        done = forget_documents(engine, find_documents(engine.store, [str(two / "secret.txt")]))
        assert (dry.chunks, dry.facts, dry.kept_facts) == (done.chunks, done.facts, done.kept_facts)
        assert (dry.entities, dry.traces) == (done.entities, done.traces)
        assert done.traces == 2
        assert ("ada-lovelace", "met", "charles-babbage") in facts(engine)
        assert index_matches_store(engine)
        kept = {str(q.object) for q in everything(engine) if q.predicate == RAG.contentHash}
    assert places(tmp_path / "store", SECRET) == []
    assert len(kept) == 3


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", ""])
def test_a_name_that_is_no_path_names_no_document(two: Path, engine_of: MakeEngine, name: str) -> None:
    engine = engine_of()
    engine.ingest([two])
    with pytest.raises(UsageError, match="no document is called"):
        find_documents(engine.store, [name])


@pytest.mark.parametrize("steps", [2, 5])
def test_a_question_that_ends_during_an_erasure_keeps_no_words(
    two: Path, engine_of: MakeEngine, tmp_path: Path, steps: int
) -> None:
    engine = engine_of("store")
    engine.ingest([two])
    asked = engine.ask("Who met at the lighthouse?")
    for _ in range(steps):
        next(asked)
    forget_named(engine, ["docs/secret.txt"], notify=lambda _: deque(asked, maxlen=0))
    engine.close()
    assert places(tmp_path / "store", SECRET) == []


def test_the_last_parts_of_a_path_name_a_document(two: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    engine.ingest([two])
    assert find_documents(engine.store, ["secret.txt"]) == find_documents(engine.store, ["docs/secret.txt"])
    with pytest.raises(UsageError, match="no document is called"):
        find_documents(engine.store, ["cret.txt"])


def test_counts_are_what_goes(two: Path, engine_of: MakeEngine) -> None:
    """The dry run, the report and the store agree; canonical links of entities that are gone go too."""
    engine = engine_of("store")
    engine.ingest([two])
    before = everything(engine)
    found = find_documents(engine.store, ["docs/secret.txt"])
    dry = forget_documents(engine, found, dry_run=True)
    assert_same(everything(engine), before)
    done = forget_documents(engine, found)
    after = everything(engine)

    def count(quads: set[Quad]) -> tuple[int, int, int]:
        plain = {
            q
            for q in quads
            if str(q.graph_name) == "DEFAULT"
            and q.subject not in found
            and not q.predicate.value.endswith(("#label", "#altLabel", "#type"))
        }
        entities = {q.subject for q in quads if q.predicate == RAG.canonicalEntity}
        return len(plain), len(entities), sum(q.object == TG.Chunk for q in quads)

    gone = tuple(b - a for b, a in zip(count(before), count(after), strict=True))
    assert (done.facts, done.entities, done.chunks) == gone
    assert (dry.facts, dry.entities, dry.chunks) == gone
    assert done.kept_facts > 0
    fresh = engine_of()
    fresh.ingest([two / "open.txt"])
    assert_same(content(engine, history=False), content(fresh, history=False))
    assert index_matches_store(engine)


def test_equal_files_do_not_share_their_fate(docs: Path, engine_of: MakeEngine) -> None:
    """Two files with the same bytes: one is forgotten, the other keeps text and bytes."""
    for name in ("a.txt", "b.txt"):
        (docs / name).write_text(SECRET + ".")
    engine = engine_of("store")
    assert engine.ingest([docs]).documents.added == 2
    assert len(chunks(engine)) == 2
    forget_documents(engine, find_documents(engine.store, ["docs/a.txt"]))
    assert len(chunks(engine)) == 1
    objects = [engine.blobs.get(q.object) for q in everything(engine) if q.predicate == RAG.originalBytes]  # type: ignore[arg-type]
    assert objects == [(SECRET + ".").encode()]
    assert engine.ingest([docs / "b.txt"]).documents.unchanged == 1


def test_an_earlier_version_with_the_forgotten_text_names_it_no_more(
    docs: Path, engine_of: MakeEngine
) -> None:
    engine = engine_of("store")
    for name in ("one.txt", "two.txt"):
        (docs / name).write_text(f"{SECRET}.")
    engine.ingest([docs])
    (docs / "one.txt").write_text(SHARED)
    engine.ingest([docs])
    (docs / "two.txt").unlink()
    engine.ingest([docs], sync=True)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert not any(SECRET.encode() in (engine.blobs.get(iri) or b"") for iri in engine.blobs.objects())


def test_forgotten_documents_can_come_back(two: Path, engine_of: MakeEngine) -> None:
    engine = engine_of("store")
    engine.ingest([two])
    before = content(engine)
    forget_documents(engine, find_documents(engine.store, ["docs/secret.txt"]))
    report = engine.ingest([two])
    assert report.documents.added == 1
    assert_same(content(engine), before)
    assert engine.ingest([two]).quads == 0


def test_cited_chunk_leaves_a_tombstone(two: Path, engine_of: MakeEngine) -> None:
    """Text and evidence stay, facts do not; when the edit is undone it is as if nothing had been."""
    engine = engine_of("store")
    engine.ingest([two])
    before = content(engine)
    secret = next(iri for iri, text in chunks(engine).items() if SECRET in text)
    cite(engine, secret)
    text = (two / "secret.txt").read_text()
    (two / "secret.txt").write_text(SHARED)
    engine.ingest([two])
    quads = everything(engine)
    node = NamedNode(secret)
    assert Quad(node, RDF.type, RAG.Tombstone, Graphs.SOURCE) in quads
    assert any(q.subject == node and q.predicate == TG.content for q in quads)
    assert any(q.predicate == PROV.invalidatedAtTime and q.subject == node for q in quads)
    assert not any("quillfeather" in part for fact in facts(engine) for part in fact)
    fresh = engine_of()
    fresh.ingest([two])
    assert_same(content(engine, history=False), content(fresh, history=False))
    assert engine.ingest([two]).quads == 0
    assert index_matches_store(engine)
    (two / "secret.txt").write_text(text)
    engine.ingest([two])
    assert_same(content(engine, history=False), before)


def test_forgetting_reaches_tombstones(two: Path, tmp_path: Path, engine_of: MakeEngine) -> None:
    with engine_of("store") as engine:
        engine.ingest([two])
        cite(engine, next(iri for iri, text in chunks(engine).items() if SECRET in text), SECRET)
        (two / "secret.txt").write_text(SHARED)
        engine.ingest([two])
        forget_documents(engine, find_documents(engine.store, ["docs/secret.txt"]))
    assert places(tmp_path / "store", SECRET) == []


def test_traces_of_others_keep_what_they_share_with_erased_ones(two: Path, engine_of: MakeEngine) -> None:
    engine = engine_of("store")
    engine.ingest([two])
    for question in ("Who is king?", "Whom did Zebedee Quillfeather meet?"):
        list(engine.ask(question))
    erased, kept = engine.traces.list()
    forget_documents(engine, find_documents(engine.store, ["docs/secret.txt"]))
    assert all(check.ok for check in verify(engine, kept.iri))
    assert engine.traces[erased.iri].answer is None
    assert run_checks(engine.store, engine.blobs) == []


def test_an_erased_trace_is_verified_as_such(two: Path, engine_of: MakeEngine) -> None:
    """Erasing is legal: one line says so and when; what is left must still hold."""
    engine = engine_of()
    engine.ingest([two])
    assert list(engine.ask("Who met Charles Babbage?"))
    (listed,) = engine.traces.list()
    forget_documents(engine, find_documents(engine.store, ["docs/secret.txt"]))
    trace = engine.traces[listed.iri]
    assert trace.erased is not None
    assert trace.ended is not None
    assert trace.erased >= trace.ended
    checks = verify(engine, listed.iri)
    assert [one for one in checks if one.ok is False] == []
    first = checks[0]
    assert (first.check, first.ok) == ("erased", None)
    assert f"{trace.erased:%Y-%m-%d %H:%M}" in first.detail
    assert "not checked: " in first.detail
    assert {"session", "chain"} <= {one.check for one in checks if one.ok}
    derived = [q for q in engine.store.quads(Graphs.RETRIEVAL) if q.predicate == PROV.wasDerivedFrom]
    engine.store.commit(Changes(remove=derived))
    again = verify(engine, listed.iri)
    assert [one.check for one in again if one.ok is False] == ["chain"]
