"""Shared indexes."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="shared_index",
    about=later("Search indexes that one process makes and many servers read."),
    settings={"index": "graphrag_rdf.wings.shared_index.settings:IndexSection"},
    subcommands={"index publish": "graphrag_rdf.wings.shared_index.commands:publish_command"},
    rests="graphrag_rdf.wings.shared_index.publication:publish_at_rest",
    indexes="graphrag_rdf.wings.shared_index.publication:shared_index",
)
