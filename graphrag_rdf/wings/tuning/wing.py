"""Weights and prompts that follow the documents."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="tuning",
    about=later("Weights learned from evaluation sets, and prompts tuned to documents."),
    needs=("evaluation", "hybrid"),
    commands={
        "tune": (
            "graphrag_rdf.wings.tuning.commands:tune_command",
            later("Tune weights from feedback, and prompts to documents."),
            "measure",
        )
    },
)
