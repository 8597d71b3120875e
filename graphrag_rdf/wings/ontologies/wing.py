"""Ontologies, beyond what extraction needs of them."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="ontologies",
    about=later("Ontologies: drafted, checked, tested by questions, edited in Protégé as OWL."),
    commands={
        "ontology": (
            "graphrag_rdf.wings.ontologies.commands:ontology_command",
            later("Ontologies: load, list, check, export for Protégé, remove."),
        )
    },
    lists=("graphrag_rdf.wings.ontologies.list",),
    syntaxes=("graphrag_rdf.wings.ontologies.owl_mapping:triples_of",),
)
