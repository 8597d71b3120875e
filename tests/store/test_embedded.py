"""Transactions, commit numbers, errors, snapshots: what the rest of the program relies on."""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import StoreError, StoreLockedError, TemplateError, UsageError
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, SKOS, STORE_NODE, TG, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.sample_stores import store_of, templates

S, P = NamedNode("urn:s"), NamedNode("urn:p")


def quad(text: object, graph: NamedNode | None = None, s: NamedNode = S) -> Quad:
    return Quad(s, P, Literal(str(text)), graph or DefaultGraph())


def data(store: EmbeddedStore) -> set[Quad]:
    """All quads but the commit numbers."""
    return {q for q in store.quads() if q.subject != STORE_NODE}


def marks(store: EmbeddedStore) -> dict[str, list[int]]:
    """The commit numbers in the store."""
    found: dict[str, list[int]] = {}
    for q in store.quads(Graphs.SYSTEM):
        if q.subject == STORE_NODE:
            found.setdefault(RAG.local(q.predicate), []).append(int(q.object.value))  # type: ignore[union-attr]
    return found


# --- transactions --------------------------------------------------------------------------------


def test_a_commit_applies_updates_then_removals_then_additions(store: EmbeddedStore) -> None:
    store.commit(Changes(add=[quad("old"), Quad(STORE_NODE, RAG.storeVersion, Literal(9), Graphs.SYSTEM)]))
    changes = Changes(
        updates=[("migrations/001-initial", {"number": 1, "now": datetime(2026, 1, 1, tzinfo=UTC)})],
        remove=[quad("old"), Quad(STORE_NODE, RAG.normaliserVersion, Literal("1"), Graphs.SYSTEM)],
        add=[quad("new")],
    )
    store.commit(changes)
    assert {q.object.value for q in store.quads() if q.subject == S} == {"new"}  # type: ignore[union-attr]
    (version,) = store.select("system/store-version")
    assert version["version"] == 1
    assert not [q for q in store.quads(Graphs.SYSTEM) if q.predicate == RAG.normaliserVersion]


def broken(tmp_path: Path) -> TemplateLibrary:
    """Templates of which one fails when half of it is done."""
    mine = tmp_path / "queries" / "half.ru"
    mine.parent.mkdir(parents=True)
    body = 'INSERT DATA { <urn:half> <urn:p> "x" } ; CREATE GRAPH <urn:g> ; CREATE GRAPH <urn:g>'
    mine.write_text(f"# name: half\n# kind: update\n# summary: Fails half-way.\n{body}\n", "utf-8")
    return TemplateLibrary(folder("queries"), mine.parent)


@pytest.mark.parametrize("on_disk", [False, True])
def test_an_update_that_fails_half_way_leaves_nothing(tmp_path: Path, on_disk: bool) -> None:
    store = EmbeddedStore(broken(tmp_path), tmp_path / "s" / "oxigraph" if on_disk else None)
    store.commit(Changes(add=[quad("before")]))
    before, number = set(store.quads()), store.commit_number()
    with pytest.raises(StoreError, match="rejected a change") as caught:
        store.commit(Changes(updates=[("half", {})], remove=[quad("before")], add=[quad("after")]))
    assert caught.value.hint == "nothing was written"
    assert set(store.quads()) == before
    assert (store.commit_number(), store.content_commit()) == (number, number)
    store.commit(Changes(add=[quad("after")]))
    assert store.commit_number() == number + 1
    store.close()


@pytest.mark.parametrize(
    "changes",
    [
        Changes(updates=[("retrieval/labels", {"things": []})], add=[quad("x")]),
        Changes(updates=[("no/such", {})], add=[quad("x")]),
        Changes(updates=[("ingest/clear-failures", {"wrong": 1})], add=[quad("x")]),
        Changes(updates=[("ingest/clear-failures", {"things": ["no scheme"]})], add=[quad("x")]),
        Changes(remove=[Quad(BlankNode("b"), P, S)], add=[quad("x")]),
    ],
    ids=["a query", "an unknown template", "an unknown parameter", "an unfit value", "a blank node"],
)
def test_unfit_changes_are_refused_whole(store: EmbeddedStore, changes: Changes) -> None:
    before = set(store.quads())
    with pytest.raises((TemplateError, StoreError)):
        store.commit(changes)
    assert set(store.quads()) == before


TEXTS = st.one_of(
    st.sampled_from(
        ['"', "\\", "\n", "\r\n", "}", "{", "\u2028", "\x85", "\x0c", "\x00", "PREFIX x: <y>", " ;\n", "'"]
    ),
    st.text(max_size=6),
)


@given(texts=st.lists(TEXTS, min_size=1, max_size=4), old=TEXTS)
def test_a_commit_stores_exactly_what_it_was_given(texts: list[str], old: str) -> None:
    """Also when it is sent to the engine as text, beside an update and a removal."""
    store = EmbeddedStore(templates())
    for extra in ({}, {"remove": [quad(old)], "updates": [("ingest/clear-failures", {"things": [S]})]}):
        store.commit(Changes(add=[*(quad(text) for text in texts), quad("PREFIX a: <b>\n")], **extra))  # type: ignore[arg-type]
        assert data(store) == {*(quad(text) for text in texts), quad("PREFIX a: <b>\n")}


def test_triple_terms_can_be_added_and_removed(store: EmbeddedStore) -> None:
    contained = Quad(S, TG.contains, Triple(S, P, Literal("<<( x )>>")), Graphs.SOURCE)
    store.commit(Changes(add=[contained]))
    store.commit(Changes(remove=[contained], add=[quad("x")]))
    assert data(store) == {quad("x")}


def test_a_classic_store_keeps_facts_in_their_graph_and_statements_that_others_share() -> None:
    fact = Triple(S, P, Literal("o"))
    first, second = (Quad(NamedNode(f"urn:{n}"), TG.contains, fact, Graphs.SOURCE) for n in "ab")
    label, alias = Quad(S, RDFS.label, Literal("l")), Quad(S, SKOS.altLabel, Literal("l"))
    store = store_of([first, second, label], "classic")
    store.commit(Changes(remove=[first, label], add=[alias]))
    facts = {q.predicate for q in store.quads(Graphs.FACTS)}
    assert facts == {SKOS.altLabel}
    parts = [q for q in store.quads(Graphs.SOURCE) if q.predicate in (RDF.subject, RDF.predicate, RDF.object)]
    assert len(parts) == 3


# --- commit numbers ------------------------------------------------------------------------------


def test_each_commit_has_the_next_number(store: EmbeddedStore) -> None:
    assert (store.commit_number(), store.content_commit()) == (0, 0)
    assert store.commit(Changes(add=[quad(1)])) == 1
    assert store.commit(Changes(add=[quad(2)], content=False)) == 2
    assert (store.commit_number(), store.content_commit()) == (2, 1)
    assert store.commit(Changes(add=[quad(3)], remove=[quad(1)])) == 3
    assert store.content_commit() == 3
    assert marks(store) == {"commit": [3], "contentCommit": [3]}


def test_empty_changes_write_nothing(store: EmbeddedStore) -> None:
    store.commit(Changes(add=[quad(1)]))
    before = set(store.quads())
    assert store.commit(Changes()) == 1
    assert set(store.quads()) == before


def test_updates_and_bulk_writes_are_numbered_too(store: EmbeddedStore) -> None:
    assert store.update("INSERT DATA { <urn:s> <urn:p> 1 }") == 1
    assert store.bulk_add([quad(2)]) == 2
    assert marks(store) == {"commit": [2], "contentCommit": [2]}


@pytest.mark.parametrize("sparql", ["INSERT DATA { <urn:x> }", "CLEAR GRAPH <urn:none>"])
def test_a_refused_update_takes_no_number(store: EmbeddedStore, sparql: str) -> None:
    store.commit(Changes(add=[quad(1)]))
    with pytest.raises(UsageError):
        store.update(sparql)
    assert store.commit_number() == 1
    assert marks(store) == {"commit": [1], "contentCommit": [1]}


def test_numbers_go_on_when_the_store_is_opened_again(database: Path) -> None:
    first = EmbeddedStore(templates(), database)
    first.commit(Changes(add=[quad(1)]))
    first.commit(Changes(add=[quad(2)], content=False))
    first.close()
    again = EmbeddedStore(templates(), database)
    assert (again.commit_number(), again.content_commit()) == (2, 1)
    assert again.commit(Changes(add=[quad(3)])) == 3
    again.close()


def test_the_number_of_a_killed_process_counts_and_the_one_before_it_goes(database: Path) -> None:
    """Killed between the data with its number and the removal of the last one, both numbers stand."""
    store = EmbeddedStore(templates(), database)
    store.commit(Changes(add=[quad(1)]))
    store.update(f"INSERT DATA {{ GRAPH {Graphs.SYSTEM} {{ {STORE_NODE} {RAG.commit} 7 }} }}")
    store.close()
    again = EmbeddedStore(templates(), database)
    assert again.commit_number() == 7
    assert marks(again)["commit"] == [7]
    assert again.commit(Changes(add=[quad(2)])) == 8
    assert marks(again)["commit"] == [8]
    again.close()


# --- threads and processes -----------------------------------------------------------------------


def test_writers_at_once_lose_nothing(store: EmbeddedStore) -> None:
    """Read-modify-write in the engine, which alone would lose most of these."""
    store.update("INSERT DATA { <urn:counter> <urn:p> 0 }")
    increment = (
        "DELETE { <urn:counter> <urn:p> ?n } INSERT { <urn:counter> <urn:p> ?m } "
        "WHERE { <urn:counter> <urn:p> ?n BIND(?n + 1 AS ?m) }"
    )

    def work(worker: int) -> None:
        for n in range(25):
            store.update(increment)
            store.commit(Changes(add=[quad(f"{worker}/{n}")], remove=[quad("never there")]))
            store.select("system/store-version")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    (row,) = store.query("SELECT ?n { <urn:counter> <urn:p> ?n }").rows or []
    assert row["n"] == Literal(100)
    assert sum(q.subject == S for q in store.quads()) == 100
    assert store.commit_number() == 201
    assert marks(store) == {"commit": [201], "contentCommit": [201]}


def test_a_reader_sees_a_commit_whole_or_not_at_all(store: EmbeddedStore) -> None:
    store.commit(Changes(add=[quad(f"{n}/0") for n in range(20)]))
    seen: set[frozenset[str]] = set()

    def read() -> None:
        for _ in range(60):
            rows = store.query("SELECT ?o { <urn:s> <urn:p> ?o }").rows or []
            seen.add(frozenset(row["o"].value.split("/")[1] for row in rows))  # type: ignore[union-attr]

    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(read)
        for version in range(1, 30):
            old = [quad(f"{n}/{version - 1}") for n in range(20)]
            store.commit(Changes(remove=old, add=[quad(f"{n}/{version}") for n in range(20)]))
        reading.result()
    assert all(len(versions) == 1 for versions in seen)


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Run code in another process, from the checkout."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


WRITER = """
import sys
from pathlib import Path
from pyoxigraph import Literal, NamedNode, Quad, Triple
from graphrag_rdf.store.base import Changes
from tests.support.sample_stores import templates
from graphrag_rdf.rdf.namespaces import TG, Graphs
from graphrag_rdf.store.embedded import EmbeddedStore

store = EmbeddedStore(templates(), Path(sys.argv[1]))
p, g = NamedNode("urn:p"), NamedNode("urn:g")
for n in range(10**9):
    s = NamedNode(f"urn:batch:{n}")
    add = [Quad(s, p, Literal(i)) for i in range(40)]
    add += [Quad(s, TG.contains, Triple(s, p, Literal(i)), g) for i in range(40)]
    old = NamedNode(f"urn:batch:{n - 3}")
    remove = [Quad(old, p, Literal(i)) for i in range(40)] if n % 2 else []
    store.commit(Changes(add=add, remove=remove))
    print(n, flush=True)
"""


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_writer_leaves_whole_commits(database: Path, attempt: int) -> None:
    process = python(WRITER, database)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(random.Random(attempt).uniform(0.2, 0.6))
    process.kill()
    said = process.communicate()[0].split()
    assert process.returncode == -signal.SIGKILL
    told = int(said[-1]) if said else 0
    store = EmbeddedStore(templates(), database)
    sizes: dict[str, list[int]] = {}
    for q in data(store):
        counts = sizes.setdefault(q.subject.value, [0, 0])  # type: ignore[union-attr]
        counts[q.predicate == TG.contains] += 1
    numbers = sorted(int(subject.rsplit(":")[-1]) for subject in sizes)
    assert numbers == list(range(len(numbers)))  # no commit is missing before the last
    assert numbers[-1] in (told, told + 1)
    for subject, (plain, contained) in sizes.items():
        assert contained == 40, subject
        assert plain in (0, 40), subject
    assert store.commit_number() == numbers[-1] + 1
    assert all(len(found) == 1 for found in marks(store).values())
    store.commit(Changes(add=[quad("goes on")]))
    store.close()


@pytest.mark.embedded
def test_a_second_process_is_kept_out(database: Path) -> None:
    store = EmbeddedStore(templates(), database)
    code = """
    import sys
    from pathlib import Path
    from graphrag_rdf.errors import StoreLockedError
    from graphrag_rdf.store.embedded import EmbeddedStore
    from tests.support.sample_stores import templates
    try:
        EmbeddedStore(templates(), Path(sys.argv[1]))
    except StoreLockedError:
        print("locked")
    """
    out, error = python(code, database).communicate()
    assert (out.strip(), error) == ("locked", "")
    with pytest.raises(StoreLockedError):
        EmbeddedStore(templates(), database)
    store.close()


@pytest.mark.embedded
def test_a_snapshot_is_read_by_another_process_while_writing_goes_on(database: Path, tmp_path: Path) -> None:
    store = EmbeddedStore(templates(), database)
    store.commit(Changes(add=[quad(n) for n in range(100)]))
    store.snapshot(tmp_path / "s" / "snapshot")
    store.commit(Changes(add=[quad("later")]))
    code = """
    import sys
    import pyoxigraph
    print(sum(1 for q in pyoxigraph.Store.read_only(sys.argv[1]) if str(q.predicate) == "<urn:p>"))
    """
    out, error = python(code, tmp_path / "s" / "snapshot").communicate()
    assert (out.strip(), error) == ("100", "")
    store.commit(Changes(add=[quad("and on")]))
    store.close()


# --- reading -------------------------------------------------------------------------------------


def test_unbound_variables_are_absent(store: EmbeddedStore) -> None:
    store.commit(Changes(add=[quad("x")]))
    (row,) = store.query("SELECT ?o ?none { <urn:s> <urn:p> ?o }").rows or []
    assert dict(row) == {"o": Literal("x")}


def test_answers_by_kind_of_query(store: EmbeddedStore) -> None:
    store.commit(Changes(add=[quad("x")]))
    assert store.query("ASK { <urn:s> ?p ?o }").boolean is True
    assert store.query("CONSTRUCT WHERE { <urn:s> ?p ?o }").triples == [Triple(S, P, Literal("x"))]
    assert store.query("SELECT ?a ?b { }").variables == ("a", "b")


@pytest.mark.parametrize(
    ("sparql", "media_type", "expected"),
    [
        ("SELECT ?o { <urn:s> <urn:p> ?o }", "text/csv", "o\r\nx\r\n"),
        ("ASK { <urn:s> ?p ?o }", "application/sparql-results+json", '{"head":{},"boolean":true}'),
        ("ASK { <urn:s> ?p ?o }", "text/csv", "true\r\n"),
        ("ASK { <urn:s> ?p ?o }", "text/tab-separated-values", "true\n"),
        ("CONSTRUCT WHERE { <urn:s> ?p ?o }", "application/n-triples", '<urn:s> <urn:p> "x" .\n'),
    ],
)
def test_results_in_w3c_formats(store: EmbeddedStore, sparql: str, media_type: str, expected: str) -> None:
    store.commit(Changes(add=[quad("x")]))
    out = io.BytesIO()
    store.write_results(sparql, out, media_type)
    assert out.getvalue().decode() == expected


@pytest.mark.parametrize("sparql", ["SELECT ?x { ?x }", "CONSTRUCT WHERE { ?s ?p ?o }", "ASK {}"])
def test_what_cannot_be_asked_or_written_is_refused(store: EmbeddedStore, sparql: str) -> None:
    with pytest.raises(UsageError):
        store.write_results(sparql, io.BytesIO(), "text/html")


# --- opening and closing -------------------------------------------------------------------------


def test_closing_twice_does_nothing(store: EmbeddedStore) -> None:
    store.close()
    store.close()


def test_what_is_synced_is_in_the_files_of_an_open_store(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    store = EmbeddedStore(templates(), database)
    logs = set(database.glob("*.log"))
    store.commit(Changes(add=[quad("kept")]))
    store.sync()
    assert {log.stat().st_ino for log in logs} <= set(synced)
    assert set(database.glob("*.log")) == logs  # no other is begun, as when new files are written
    copied = tmp_path / "copied"
    shutil.copytree(database, copied)
    store.close()
    after = EmbeddedStore(templates(), copied)
    assert data(after) == {quad("kept")}
    after.close()


def test_the_logs_of_the_engine_do_not_grow_for_ever(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in them is in memory, too, and is read again after a kill."""
    monkeypatch.setattr("graphrag_rdf.store.embedded._LOG_BYTES", 1 << 20)
    store, sizes = EmbeddedStore(templates(), database), []
    for number in range(200):
        store.commit(Changes(add=[quad(f"{number} {line} {'x' * 1000}") for line in range(50)]))
        sizes.append(sum(log.stat().st_size for log in database.glob("*.log")))
    assert max(sizes) < 5 << 20 < 200 * 50 * 1000
    assert len(data(store)) == 200 * 50
    store.close()


def test_purging_leaves_the_data_and_not_the_removed_words(database: Path) -> None:
    store = EmbeddedStore(templates(), database)
    secret = "planted-words-that-are-erased"
    store.commit(Changes(add=[quad(secret), quad("kept")]))
    store.commit(Changes(remove=[quad(secret)]))
    store.flush()
    store.purge()
    assert data(store) == {quad("kept")}
    assert store.commit(Changes(add=[quad("goes on")])) == 3
    store.close()
    assert not any(secret.encode() in file.read_bytes() for file in database.rglob("*") if file.is_file())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError):
        EmbeddedStore(templates(), tmp_path / "s" / "oxigraph")


def damage_current(database: Path) -> None:
    (database / "CURRENT").write_text("nonsense\n", "utf-8")


def damage_manifest(database: Path) -> None:
    for file in database.glob("MANIFEST-*"):
        file.write_bytes(b"nonsense" * 100)


@pytest.mark.parametrize("damage", [damage_current, damage_manifest])
def test_a_damaged_database_is_an_error_with_a_way_out(
    database: Path, damage: Callable[[Path], None]
) -> None:
    store = EmbeddedStore(templates(), database)
    store.commit(Changes(add=[quad("x")]))
    store.close()
    damage(database)
    with pytest.raises(StoreError, match="cannot open") as caught:
        EmbeddedStore(templates(), database)
    assert "backup" in (caught.value.hint or "")
