"""Entities and relations that are the same."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

_STAGES = "graphrag_rdf.wings.merging.stages"
_ENTITIES = "graphrag_rdf.wings.merging.entity_commands"
_RELATIONS = "graphrag_rdf.wings.merging.relation_commands"

WING = Wing(
    name="merging",
    about=later("Which entities and relations are the same, and links of entities to vocabularies."),
    plain_stages=(
        f"{_STAGES}:SYNONYMS",
        f"{_STAGES}:WRITTEN_TOGETHER",
        f"{_STAGES}:ALIASES",
        f"{_STAGES}:VOCABULARIES",
    ),
    subcommands={
        "entities link": f"{_ENTITIES}:link_command",
        "entities merge": f"{_ENTITIES}:merge_command",
        "entities normalise": f"{_ENTITIES}:normalise_command",
        "entities split": f"{_ENTITIES}:split_command",
        "relations inverse": f"{_RELATIONS}:inverse_command",
        "relations merge": f"{_RELATIONS}:merge_command",
        "relations normalise": f"{_RELATIONS}:normalise_command",
        "relations split": f"{_RELATIONS}:split_command",
    },
)
