"""What people decided about facts since, for those who show or verify what rested on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.fact_rows import fact_of
from graphrag_rdf.trace.items import Fact, iso
from graphrag_rdf.trace.labels import read_labels

Statement: TypeAlias = tuple[NamedNode, NamedNode, NamedNode | Literal]


@dataclass(frozen=True, slots=True)
class DecisionNote:
    """Why a fact does not hold any more.

    Attributes:
        label: who decided what, for people.
        when: it was decided that the fact does not hold, or that a correction that asserted it was wrong.
        instead: of a correction, what holds in its place.
    """

    iri: str
    label: str
    reason: str | None
    when: datetime | None
    taken_back: bool = False
    instead: Fact | None = None

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        instead = None if self.instead is None else self.instead.as_json()
        return {
            "iri": self.iri,
            "label": self.label,
            "reason": self.reason,
            "when": iso(self.when),
            "instead": instead,
        }

    def __str__(self) -> str:
        when = f"{self.when:%Y-%m-%d %H:%M}" if self.when else ""
        what = f"{self.label}, taken back" if self.taken_back else f"{self.label},"
        return f"{what} {when}".rstrip(" ,") + (f": {self.reason}" if self.reason else "")


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
    for row in (*store.select("facts/taken-back", edges=edges), *standing):
        iri = rows.must(row, "decision")
        found[row["s"], row["p"], row["o"]] = DecisionNote(
            iri,
            rows.must(row, "label"),
            rows.text(row, "reason"),
            rows.moment(row, "time"),
            taken_back=row not in standing,
            instead=instead.get(iri),
        )
    return found


def _instead(store: Store, decisions: Iterable[NamedNode]) -> dict[str, Fact]:
    """What the corrections among decisions assert: decision → fact."""
    asked = list(dict.fromkeys(decisions))
    found = store.select("facts/asserted-instead", decisions=asked) if asked else []
    labels = read_labels(store, [row[name] for row in found for name in "spo"])
    return {rows.must(row, "decision"): fact_of(row, labels) for row in found}
