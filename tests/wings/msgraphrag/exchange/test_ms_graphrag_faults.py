"""Tables with faults of every kind, and imports that are cut off: the store stays sound."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from pyoxigraph import Quad

from graphrag_rdf.checks.integrity import run_checks
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import PROV, Graphs
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.wings.msgraphrag.export import export_tables
from graphrag_rdf.wings.msgraphrag.import_ import import_tables
from graphrag_rdf.wings.msgraphrag.report import KEPT, TablesReport
from tests.support.ms_tables import Tables, some_tables, write_csv, write_parquet
from tests.support.stores import open_engine

CELLS = (
    None, "", float("nan"), "NONE", "[]", "x", -1, 1e308, "[Data: Entities (0)]", "\u202e", "a" * 3000, "t1",
    ["t1", "t2"], "['t3' 'zz']", [None], {"a": 1}, True, "2026-13-45", "\x00\x01", "e1", 0, "日本", "[[1]]",
)  # fmt: skip


def broken_tables(seed: int) -> Tables:
    """Tables with some cells, tables and rows exchanged, taken away or repeated."""
    chosen, tables = random.Random(seed), some_tables()
    for _ in range(chosen.randint(1, 12)):
        row = chosen.choice(tables[chosen.choice(list(tables))])
        row[chosen.choice(list(row))] = chosen.choice(CELLS)
    if chosen.random() < 0.3:
        del tables[chosen.choice([name for name in tables if name != "text_units"])]
    if chosen.random() < 0.3:
        rows = tables[chosen.choice(list(tables))]
        rows.append(dict(chosen.choice(rows)))
    return tables


def untold(report: TablesReport) -> list[str]:
    """Tables of which more rows are missing than were told of."""
    told = Counter(each.table for each in report.problems if each.reason not in KEPT)
    return [name for name, counts in report.tables.items() if counts.rows - counts.imported > told[name]]


@pytest.mark.parametrize("seed", [0, 19, 23, 56, 60, 74, 116, 201, 202, 203])
def test_faults_are_told_and_leave_the_store_sound(empty: Engine, tmp_path: Path, seed: int) -> None:
    folder = write_csv(tmp_path / "in", broken_tables(seed))
    try:
        report = import_tables(empty, folder)
    except UsageError:
        assert not [*plain_quads(empty.store, Graphs.SOURCE)]
        return
    assert [*run_checks(empty.store, empty.blobs, empty.text_index)] == []
    assert untold(report) == []
    commit = empty.store.commit_number()
    import_tables(empty, folder)
    assert empty.store.commit_number() == commit
    export_tables(empty, tmp_path / "out")


def test_an_import_that_was_cut_off_is_finished_by_the_next(empty: Engine, tmp_path: Path) -> None:
    folder = write_parquet(tmp_path, some_tables())
    done: list[int] = []
    cut = import_tables(empty, folder, progress=lambda *_: done.append(1), stop=lambda: len(done) >= 1)
    assert cut.stopped == "interrupted"
    found = run_checks(empty.store, empty.blobs, empty.text_index)
    assert {each.check for each in found} == {"document-finished"}
    assert import_tables(empty, folder).stopped is None
    with open_engine(":memory:", config=Settings()) as other:
        import_tables(other, folder)
        assert content(empty) == content(other)


def content(engine: Engine) -> set[Quad]:
    """Everything but times, and the store's own state."""
    times = {PROV.startedAtTime, PROV.endedAtTime, PROV.generatedAtTime}
    return {
        quad
        for quad in plain_quads(engine.store)
        if quad.graph_name != Graphs.SYSTEM and quad.predicate not in times
    }
