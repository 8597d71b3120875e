"""Ontologies, and extraction in their terms."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="ontologies",
    about=later("Ontologies: guided extraction, drafts, checks, competency questions, OWL for Protégé."),
    commands={
        "ontology": (
            "graphrag_rdf.wings.ontologies.commands:ontology_command",
            later("Ontologies: load, check, export for Protégé."),
            "curate",
        )
    },
    lists=("graphrag_rdf.wings.ontologies.list",),
    syntaxes=("graphrag_rdf.wings.ontologies.owl_mapping:triples_of",),
    guides=("graphrag_rdf.wings.ontologies.extract.guide:choose_guide",),
)
