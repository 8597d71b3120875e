"""Manual corrections of facts that a trace rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.fact_decisions import Statement
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.fact_rows import fact_of
from graphrag_rdf.trace.items import DecisionNote, Fact
from graphrag_rdf.trace.labels import read_labels


def decided_against(store: Store, facts: Iterable[Statement]) -> dict[Sequence[object], DecisionNote]:
    """Why facts that are not asserted do not hold: fact → the decision against it, or the correction that had
    asserted it and was taken back; facts that hold, or about which nobody decided, are absent.
    """
    edges = list(dict.fromkeys(facts))
    if not edges:
        return {}
    standing = store.select("facts/retracted-by", edges=edges)
    instead = _instead(store, [rows.node(row, "decision") for row in standing])
    found: dict[Sequence[object], DecisionNote] = {}
    for taken_back, given in ((True, store.select("facts/taken-back", edges=edges)), (False, standing)):
        for row in given:
            iri = rows.must(row, "decision")
            found[row["s"], row["p"], row["o"]] = DecisionNote(
                iri,
                rows.must(row, "label"),
                rows.text(row, "reason"),
                rows.moment(row, "time"),
                taken_back=taken_back,
                instead=instead.get(iri),
            )
    return found


def _instead(store: Store, decisions: Iterable[NamedNode]) -> dict[str, Fact]:
    """What the corrections among decisions assert: decision → fact."""
    asked = list(dict.fromkeys(decisions))
    found = store.select("facts/asserted-instead", decisions=asked) if asked else []
    labels = read_labels(store, [row[name] for row in found for name in "spo"])
    return {rows.must(row, "decision"): fact_of(row, labels) for row in found}
