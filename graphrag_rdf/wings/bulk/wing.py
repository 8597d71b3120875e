"""Bulk loading."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="bulk",
    about=later("Stores that an engine's bulk loader has loaded, and plans for large collections."),
    commands={
        "adopt": (
            "graphrag_rdf.wings.bulk.adopt:adopt_command",
            later("Check and index a store that an engine's bulk loader has loaded."),
            "exchange",
        ),
        "plan": (
            "graphrag_rdf.wings.bulk.plan:plan_command",
            later("Machines, days and dollars for a number of documents."),
            "measure",
        ),
    },
)
