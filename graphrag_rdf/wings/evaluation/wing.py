"""Evaluation sets and what is measured on them."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="evaluation",
    about=later("Measures of retrieval, answers, queries, pages and facts."),
    needs=("audit",),
    commands={
        "eval": (
            "graphrag_rdf.wings.evaluation.commands:eval_command",
            later("Measure retrieval and answers on an evaluation set."),
            "measure",
        )
    },
    subcommands={"facts compare": "graphrag_rdf.wings.evaluation.compare:compare_command"},
    imports={"evalset": "graphrag_rdf.wings.evaluation.imported_sets:import_sets"},
)
