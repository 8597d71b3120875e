"""The list of entities."""

from __future__ import annotations

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.lists.declaration import Column, Filter, Item, List, register


def _merged(item: Item) -> str:
    """How many entities a merged one represents."""
    return tr("{number} in one").format(number=item["members"]) if item["members"] > 1 else ""


ENTITIES = register(
    List(
        "entities",
        later("Entities"),
        """List entities, those with the most facts first. Merged entities are listed as one.

Shown are those that a fact holds, a chunk is about, or two sentences name.""",
        columns=(
            Column("name", later("name"), link="entity", note=_merged),
            Column("facts", later("facts"), "count"),
            Column("members"),
            Column("iri", later("iri"), page=False),
        ),
        filters=(
            Filter("match", "Only names that contain this text.", "text", later("Part of a name"), "text"),
            Filter("all", "Also list names that are not shown elsewhere.", "flag", parameter="every"),
        ),
        command="entities list",
        path="/entities",
        examples=("graphrag-rdf entities list --match harbour --limit 10",),
        template="entities/list",
        keys={"iri": "entity"},
        none=later("There are no entities."),
        no_match=later("No entity has this name."),
    )
)
