"""The shapes of the seeds, as queries for TrustGraph's store: without rows here, until changed as we suggest.

Each `.rq` names the seeds and the section that have its shape, and the changes with which it has rows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.sparql.empty import alternatives
from graphrag_rdf.sparql.render import with_prefixes

QUERIES = {path.stem: path.read_text() for path in sorted(Path(__file__).parent.glob("*.rq"))}
CHANGES = {"union": "all graphs", "terms": "<<( s p o )>>", "names": "today's names"}


def rows(engine: Engine, text: str, *, union: bool = False) -> int:
    return len(engine.store.query(with_prefixes(text), union=union).rows or ())


@pytest.mark.parametrize("name", [name for name, text in QUERIES.items() if "another query" not in text])
def test_each_shape_has_rows_with_the_changes_that_are_suggested(told: Engine, name: str) -> None:
    text = QUERIES[name]
    needed = re.search(r"^# needs: (.*)$", text, re.MULTILINE)
    assert needed is not None
    assert rows(told, text) == 0
    found = next(one for one in alternatives(text) if rows(told, one.text, union=one.union))
    wanted = [CHANGES[change] for change in needed[1].split(", ")]
    assert [any(change in said for change in wanted) for said in found.changes] == [True] * len(wanted)


def test_what_needs_another_query_finds_nothing_when_changed(told: Engine) -> None:
    """Nothing is suggested that does not find rows; the reference has the query."""
    others = [text for text in QUERIES.values() if "needs: another query" in text]
    assert others
    for text in others:
        assert not any(rows(told, one.text, union=one.union) for one in alternatives(text))
