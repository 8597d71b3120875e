"""The same documents again: nothing happens; in another order or with other concurrency: the same store."""

from __future__ import annotations

from collections.abc import Sized
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from graphrag_rdf.checks import run_checks
from graphrag_rdf.rdf.json_values import to_json
from tests.ingest.conftest import (
    MakeEngine,
    answer_of,
    assert_same,
    by_model,
    chunks,
    content,
    everything,
    index_matches_store,
)
from tests.support.scripted_server import Reply, Request, ScriptedServer

ADA = """# Ada

Ada Lovelace met Charles Babbage in London. Babbage built the Difference Engine.
The engine was made of brass.

Ada Lovelace wrote notes about the Analytical Engine. She lived in Surrey.
Mary Somerville taught Ada Lovelace.
"""
GRACE = """# Grace

Grace Hopper worked at Harvard University. GRACE HOPPER wrote a compiler.
Charles Babbage inspired Grace Hopper.
Grace hopper was born in New York. charles babbage never met Grace Hopper.
"""


SHORT_NAMES = """# Drumlaw Head

Captain Thomas Corrigall commanded the Petrel. Corrigall sailed from Port Merrin to Skell Sound in 1911.
Andrew Orr designed Drumlaw Head Lighthouse. Orr was born in Arnhythe. Orr and Corrigall met in Port Merrin.

Margaret Leask kept the light of Drumlaw Head. Leask saw the Petrel on the Tarnay side of Skell Sound.
The Tarnay Electric Light Company hired Leask. Corrigall wrote to Leask.
"""


@pytest.fixture
def two(docs: Path) -> Path:
    """A folder with two documents."""
    (docs / "ada.md").write_text(ADA)
    (docs / "grace.md").write_text(GRACE)
    return docs


def test_without_increments_each_run_reads_everything_again(two: Path, engine_of: MakeEngine) -> None:
    engine = engine_of("store", **{"extract.incremental": False})
    engine.ingest([two])
    second = engine.ingest([two])
    assert (second.documents.read_again, second.documents.unchanged) == (2, 0)
    assert second.facts == 0  # new ones


@pytest.mark.every_kind
def test_names_that_are_found_again_are_those_of_the_ingest(docs: Path, engine_of: MakeEngine) -> None:
    """Also those that are short for others: "Ahlers" is no entity of its own."""
    (docs / "ahlers.md").write_text(SHORT_NAMES)
    engine = engine_of()
    engine.ingest([docs])
    before = content(engine)
    for _ in range(2):
        engine.refresh_texts(mentions_only=True)
        assert_same(content(engine), before)


def test_second_run_changes_nothing(two: Path, engine_of: MakeEngine) -> None:
    engine = engine_of("store")
    first = engine.ingest([two])
    before = everything(engine)
    second = engine.ingest([two])
    assert_same(everything(engine), before)
    assert (first.documents.added, second.documents.unchanged) == (2, 2)
    assert (second.chunks.added, second.chunks.reused, second.chunks.removed) == (0, len(chunks(engine)), 0)
    assert (second.quads, second.facts, second.entities) == (0, 0, 0)
    assert index_matches_store(engine)


def test_second_run_after_reopening_asks_no_model(
    two: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    with engine_of("store", **by_model(scripted_server)) as engine:
        report = engine.ingest([two])
        before = content(engine)
    assert report.llm.calls == len(scripted_server.requests) == report.chunks.added > 0
    assert report.llm.in_tokens is not None
    with engine_of("store", **by_model(scripted_server)) as engine:
        second = engine.ingest([two])
        assert_same(content(engine), before)
        assert second.quads == 0
    assert (second.llm.calls, second.llm.cached) == (0, 0)
    assert len(scripted_server.requests) == report.llm.calls


@pytest.mark.embedded
def test_documents_one_by_one_leave_the_files_of_the_store_as_they_are(
    two: Path, engine_of: MakeEngine
) -> None:
    """Each is in the log; new files would have the old ones merged with them."""
    with engine_of("store") as engine:
        assert engine.place is not None
        logs = {*engine.place.database.glob("*.log")}  # others are begun with each writing of new files
        for document in sorted(two.iterdir()):
            assert engine.ingest([document]).documents.added == 1
            assert engine.text_index.commit_number == engine.store.content_commit()
        assert {*engine.place.database.glob("*.log")} == logs
        before = content(engine)
    with engine_of("store") as engine:
        assert_same(content(engine), before)
        assert index_matches_store(engine)


def test_numbers_of_a_run_are_its_own(
    two: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """Two ingests with one engine: the second does not count the calls of the first."""
    engine = engine_of(**by_model(scripted_server))
    first = engine.ingest([two / "ada.md"])
    second = engine.ingest([two / "grace.md"])
    assert first.llm.calls + second.llm.calls == len(scripted_server.requests)
    assert second.llm.calls == second.chunks.added


def test_order_of_files_does_not_matter(two: Path, engine_of: MakeEngine) -> None:
    forward, backward = engine_of(), engine_of()
    forward.ingest([two / "ada.md", two / "grace.md"])
    backward.ingest([two / "grace.md"])
    backward.ingest([two / "ada.md"])
    assert_same(content(forward), content(backward))


def test_jobs_do_not_matter(two: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    for number in range(12):
        (two / f"more-{number}.txt").write_text(
            f"Town {number} lies near Grace Hopper. GRACE HOPPER knows Town {number}."
        )
    scripted_server.answer_with(
        lambda request: Reply(answer_of(request), delay=0.03 * (len(request.prompt) % 3))
    )
    stores = []
    for jobs in (1, 8):
        engine = engine_of(**by_model(scripted_server, extract__jobs=jobs))
        assert engine.ingest([two]).documents.added == 14
        stores.append(content(engine))
    assert_same(*stores)
    assert scripted_server.most_active > 1


def test_calls_at_once_are_limited_apart(
    two: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """`extract.jobs` is about chunks, `llm.jobs` about whoever calls a model."""
    for number in range(8):
        (two / f"more-{number}.txt").write_text(f"Town {number} lies near Grace Hopper.")

    def most_at_once(extract: int, llm: int | None) -> tuple[int, int]:
        """Calls at once of an ingest, and of four questions at once."""
        engine = engine_of(**by_model(scripted_server, extract__jobs=extract, llm__jobs=llm))
        found = []
        for seconds, work in (
            (0.05, lambda: engine.ingest([two])),
            (0.5, lambda: list(pool.map(lambda n: engine.gateway.chat(_ask(n), purpose="ask"), range(4)))),
        ):
            scripted_server.reset()
            scripted_server.answer_with(partial(_late, seconds))
            with ThreadPoolExecutor(4) as pool:
                work()
            found.append(scripted_server.most_active)
        return found[0], found[1]

    assert most_at_once(extract=1, llm=None) == (1, 4)
    assert most_at_once(extract=6, llm=2) == (2, 2)


def _late(seconds: float, request: Request) -> Reply:
    return Reply(answer_of(request), delay=seconds)


def _ask(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Question {number}"}]


def test_report_numbers(two: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    before = len(everything(engine))
    report = to_json(engine.ingest([two]))
    quads = everything(engine)
    entities = {q.subject for q in quads if q.predicate.value.endswith("#canonicalEntity")}
    assert report["documents"]["added"] == 2
    assert report["chunks"]["added"] == len(chunks(engine))
    assert report["entities"] == len(entities)
    counted = len(quads) - before
    if isinstance(engine.store, Sized):
        assert report["quads"] == counted
    else:  # of a store that would have to count, what was sent is told; some of it was there already
        assert counted <= report["quads"] <= counted + 5
    assert report["seconds"] > 0
    assert report["failures"] == []


def test_labels_are_the_most_frequent_names(docs: Path, engine_of: MakeEngine) -> None:
    """Chunks that say a name count; of equals the first by code point wins; the others are aliases."""
    engine = engine_of()
    for number, name in enumerate(["ACME Works", "Acme Works", "Acme Works", "Beta Hall", "BETA Hall"]):
        (docs / f"{number}.txt").write_text(f"In 1990 the {name} stood in Leeds and {name} burned down.")
    engine.ingest([docs])
    names = {
        (row["s"].value.rsplit("/", 1)[-1], row["p"].value.rsplit("#", 1)[-1], row["o"].value)  # type: ignore[union-attr]
        for row in engine.store.query("SELECT ?s ?p ?o { ?s ?p ?o FILTER(isLiteral(?o)) }").rows or ()
    }
    assert ("acme-works", "label", "Acme Works") in names
    assert ("acme-works", "altLabel", "ACME Works") in names
    assert ("beta-hall", "label", "BETA Hall") in names
    assert ("beta-hall", "altLabel", "Beta Hall") in names


@pytest.mark.parametrize("more", [False, True], ids=["nothing to do", "something to do"])
def test_the_next_run_settles_one_that_was_stopped(docs: Path, engine_of: MakeEngine, more: bool) -> None:
    """Its warning goes, also when everything was done before the stop; then nothing is written any more."""
    (docs / "a.txt").write_text("Ada Lovelace met Charles Babbage.")
    engine = engine_of()
    engine.ingest([docs])
    engine.store.update(
        "PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> "
        "DELETE { GRAPH ?g { ?run prov:endedAtTime ?time } } "
        "WHERE { GRAPH ?g { ?run a rag:IngestRun ; prov:endedAtTime ?time } }"
    )
    stopped = [v.check for v in run_checks(engine.store, engine.blobs)]
    assert stopped == ["runs-finished"]
    if more:
        (docs / "b.txt").write_text("Grace Hopper met Ada Lovelace.")
    engine.ingest([docs])
    assert run_checks(engine.store, engine.blobs) == []
    number = engine.store.commit_number()
    engine.ingest([docs])
    assert engine.store.commit_number() == number
