"""What a store has of communities: members, and reports without their findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.store.base import Store, select_in_batches


def read_members(store: Store, communities: Sequence[NamedNode]) -> dict[str, list[dict[str, Any]]]:
    """The members of each community, central ones first."""
    members: dict[str, list[dict[str, Any]]] = {}
    for row in select_in_batches(store, "communities/members", "communities", communities):
        member = {
            "iri": row["entity"].value,
            "name": text_of(row["name"]),
            "central": to_python(row["central"]),
        }
        members.setdefault(row["community"].value, []).append(member)
    return members


_REPORT = {"iri": "report", "title": "title", "summary": "summary", "rating": "rating"}
_REPORT |= {"rating_explanation": "explanation", "model": "model"}


def read_reports(store: Store, communities: Sequence[NamedNode]) -> dict[str, dict[str, Any]]:
    """The report of each community that has one, without its findings."""
    return {
        row["community"].value: to_json({key: row[name] for key, name in _REPORT.items()})
        for row in select_in_batches(store, "communities/reports", "communities", communities)
    }
