"""What people decided about facts since, for those who show or verify what rested on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.model import iso


@dataclass(frozen=True, slots=True)
class DecisionNote:
    """Why a fact does not hold any more.

    Attributes:
        label: who decided what, for people.
        when: it was decided that the fact does not hold, or that a correction that asserted it was wrong.
    """

    iri: str
    label: str
    reason: str | None
    when: datetime | None
    taken_back: bool = False

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {"iri": self.iri, "label": self.label, "reason": self.reason, "when": iso(self.when)}

    def __str__(self) -> str:
        when = f"{self.when:%Y-%m-%d %H:%M}" if self.when else ""
        what = f"{self.label}, taken back" if self.taken_back else f"{self.label},"
        return f"{what} {when}".rstrip(" ,") + (f": {self.reason}" if self.reason else "")


def decided_against(
    store: Store, facts: Iterable[tuple[NamedNode, NamedNode, NamedNode | Literal]]
) -> dict[Sequence[object], DecisionNote]:
    """Why facts that are not asserted do not hold: fact → the decision against it, or the correction that had
    asserted it and was taken back; facts that hold, or about which nobody decided, are absent.
    """
    edges = list(dict.fromkeys(facts))
    found: dict[Sequence[object], DecisionNote] = {}
    for template in ("facts/taken-back", "facts/retracted-by") if edges else ():
        for row in store.select(template, edges=edges):
            found[row["s"], row["p"], row["o"]] = DecisionNote(
                rows.must(row, "decision"),
                rows.must(row, "label"),
                rows.text(row, "reason"),
                rows.moment(row, "time"),
                taken_back=template == "facts/taken-back",
            )
    return found
