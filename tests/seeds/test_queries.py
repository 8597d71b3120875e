"""The shapes of the seeds, as queries for TrustGraph's store: without rows here, until changed as we suggest.

Each `.rq` names the seeds and the section that have its shape, and the changes with which it has rows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.sparql.empty import Alternative, alternatives, lexical, nothing_in
from graphrag_rdf.sparql.render import with_prefixes

QUERIES = {path.stem: path.read_text() for path in sorted(Path(__file__).parent.glob("*.rq"))}
CHANGES = {
    "union": "all graphs",
    "terms": "<<( s p o )>>",
    "names": "today's names",
}


def is_empty(engine: Engine, text: str, *, union: bool = False) -> bool:
    rows = engine.store.query(with_prefixes(text), union=union).rows or ()
    return nothing_in(map(lexical, row.values()) for row in rows)


def matches(engine: Engine, changed: Alternative) -> bool:
    return bool(engine.store.query(with_prefixes(changed.probe), union=changed.union).boolean)


@pytest.mark.parametrize("name", QUERIES)
def test_each_shape_has_rows_with_the_changes_that_are_suggested(told: Engine, name: str) -> None:
    text = QUERIES[name]
    needed = re.search(r"^# needs: (.*)$", text, re.MULTILINE)
    assert needed is not None
    assert is_empty(told, text)
    changed = next(alternative for alternative in alternatives(text) if matches(told, alternative))
    wanted = [CHANGES[change] for change in needed[1].split(", ")]
    assert len(changed.changes) == len(wanted)
    assert all(any(change in summary for summary in changed.changes) for change in wanted)
    assert not is_empty(told, changed.text, union=changed.union)


def test_descriptions_of_iris(told: Engine) -> None:
    (row, *_) = told.store.query(with_prefixes("SELECT ?s { ?s a rag:Session }"), union=True).rows or ()
    original, united = alternatives(f"DESCRIBE rag:none <{lexical(row['s'])}>")
    assert not matches(told, original)
    assert matches(told, united)


def test_a_sum_of_rows_is_something(told: Engine) -> None:
    """Zero is explained only if nothing was counted."""
    first = next(alternatives("SELECT (SUM(?n) AS ?sum) { VALUES ?n { 0 0 } }"))
    assert first.changes == ()
    assert matches(told, first)
