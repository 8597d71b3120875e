"""Agents: ReAct, plan and execute, supervisors."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="agents",
    about=later("Agents that think, use tools and work in teams."),
    steps=(
        "graphrag_rdf.wings.agents.agent",
        "graphrag_rdf.wings.agents.outline",
        "graphrag_rdf.wings.agents.team",
    ),
)
