"""The list of ontologies."""

from __future__ import annotations

from graphrag_rdf.exchange.ontologies import ontology_versions
from graphrag_rdf.i18n import later
from graphrag_rdf.lists.declaration import Column, List, register

ONTOLOGIES = register(
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
        read_all=lambda engine, _: ontology_versions(engine.store),
        limit=None,
        none=later("no ontologies"),
        links=((later("Ontology"), "/ontology"),),
    )
)
