"""Entities and relations that are the same."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

_RELATIONS = "graphrag_rdf.wings.merging.relation_commands"

WING = Wing(
    name="merging",
    about=later("Which entities and relations are the same, and links of entities to vocabularies."),
    subcommands={
        "relations inverse": f"{_RELATIONS}:inverse_command",
        "relations merge": f"{_RELATIONS}:merge_command",
        "relations normalise": f"{_RELATIONS}:normalise_command",
        "relations split": f"{_RELATIONS}:split_command",
    },
)
