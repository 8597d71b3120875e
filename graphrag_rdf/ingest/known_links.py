"""The links of entities to vocabularies, as readers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.store.base import Store, select_in_batches


@dataclass(frozen=True, slots=True)
class KnownLink:
    """A link as readers see it.

    Attributes:
        relation, thing, method, confidence, decision, reason: of the decision.
        name: of the thing, that matched, with its `language`.
        evidence: the sentences, with `text`, `chunk`, `document` and `title`.
    """

    relation: NamedNode
    thing: NamedNode
    name: str
    language: str | None
    method: str
    confidence: float
    decision: NamedNode
    evidence: tuple[dict[str, str], ...] = ()
    reason: str | None = None


def read_links(store: Store, members: Sequence[NamedNode]) -> list[KnownLink]:
    """The links of an entity to vocabularies, the surest first.

    Args:
        members: the entity, and those that are one with it.
    """
    rows = store.select("linking/of-entity", members=members)
    sentences = list(dict.fromkeys(row["sentence"] for row in rows if row["sentence"] is not None))
    columns = ("text", "chunk", "document", "title")
    told = {
        row["sentence"]: {column: row[column].value for column in columns}
        for row in select_in_batches(store, "linking/evidence", "sentences", sentences)
    }
    found: dict[NamedNode, KnownLink] = {}
    for row in rows:
        decision, name = row["decision"], row["name"]
        known = found.setdefault(
            decision,
            KnownLink(
                row["relation"],
                row["thing"],
                name.value,
                name.language if isinstance(name, Literal) else None,
                row["method"],
                row["confidence"],
                decision,
                reason=row["reason"],
            ),
        )
        if quote := told.get(row["sentence"]):
            found[decision] = replace(known, evidence=(*known.evidence, quote))
    return list(found.values())
