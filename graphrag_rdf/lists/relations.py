"""The list of relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later, listed
from graphrag_rdf.lists.declaration import Column, Filter, Item, List, register
from graphrag_rdf.lists.values import plain
from graphrag_rdf.rdf.terms import one_label
from graphrag_rdf.rdf.wording import phrase_of

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


def _complete(engine: Engine, items: list[dict[str, Any]]) -> None:
    """Names, the relations that are one with each, and its inverse."""
    store = engine.store
    members = store.select("predicates/members", relations=[NamedNode(item["iri"]) for item in items])
    members = [{name: plain(value) for name, value in row.items()} for row in members]
    things = {item[key] for item in items for key in ("iri", "inverse") if item[key]}
    things |= {member["member"] for member in members}
    labels = one_label(store.select("retrieval/labels", things=[*map(NamedNode, sorted(things))]))
    names = {row["thing"].value: row["label"].value for row in labels}

    def called(iri: str) -> dict[str, Any]:
        return {"iri": iri, "name": names.get(iri) or phrase_of(iri)}

    for item in items:
        item.update(called(item["iri"]))
        item["inverse"] = called(item["inverse"]) if item["inverse"] else None
        item["members"] = [
            {**called(member["member"]), "facts": member["facts"]}
            for member in members
            if member["canonical"] == item["iri"]
        ]


def _also(item: Item) -> str:
    return listed(member["name"] for member in item["members"] if member["iri"] != item["iri"])


def _inverse(item: Item) -> str | None:
    return item["inverse"]["name"] if item["inverse"] else None


RELATIONS = register(
    List(
        "relations",
        later("Relations"),
        "List relations, those with the most facts first. Merged relations are listed as one.",
        columns=(
            Column("name", later("name"), link="thing"),
            Column("facts", later("facts"), "count"),
            Column("members", later("also called"), value=_also),
            Column("inverse", later("inverse"), value=_inverse),
            Column("iri", later("iri"), page=False),
        ),
        filters=(
            Filter("match", "Only names that contain this text.", "text", later("Part of a name"), "text"),
        ),
        command="relations list",
        path="/relations",
        examples=("graphrag-rdf relations list --match work --limit 10",),
        template="predicates/list",
        keys={"iri": "relation"},
        complete=_complete,
        none=later("There are no relations."),
        no_match=later("No relation has this name."),
    )
)
