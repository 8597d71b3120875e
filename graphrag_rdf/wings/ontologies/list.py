"""The list of ontologies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_rdf.i18n import later
from graphrag_rdf.lists.declaration import Asked, Column, List, register

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.exchange.ontologies import OntologyVersion


def _versions(engine: Engine, asked: Asked) -> list[OntologyVersion]:
    del asked
    from graphrag_rdf.exchange.ontologies import ontology_versions

    return ontology_versions(engine.store)


register(
    List(
        "ontologies",
        later("Ontologies"),
        "List the loaded ontologies with all versions.",
        columns=(
            Column("ontology", later("ontology"), link="term"),
            Column("active", later("active"), "truth"),
            Column("file", later("file")),
            Column("loaded", later("loaded"), "moment"),
            Column("graph", later("named graph")),
        ),
        command="ontology list",
        path="/ontologies",
        examples=("graphrag-rdf ontology list",),
        template="ontology/versions",
        read_all=_versions,
        limit=None,
        none=later("no ontologies"),
        links=((later("Ontology"), "/ontology"),),
    )
)
