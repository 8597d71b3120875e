"""Communities, as in Microsoft GraphRAG (Edge et al. 2024)."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="communities",
    about=later(
        "Groups of entities, their reports, claims and descriptions; global, local and DRIFT search."
    ),
    needs=("agents",),
    commands={
        "communities": (
            "graphrag_rdf.wings.communities.commands:communities_command",
            later("Groups of related entities: build, list, show."),
            "curate",
        )
    },
    settings={
        "claims": "graphrag_rdf.wings.communities.settings:ClaimSection",
        "summaries": "graphrag_rdf.wings.communities.settings:SummarySection",
        "communities": "graphrag_rdf.wings.communities.settings:CommunitySection",
    },
    examples={"claims": "graphrag_rdf.wings.communities.extract.claims:faults_of"},
    lists=("graphrag_rdf.wings.communities.list",),
    stages=(
        "graphrag_rdf.wings.communities.stages.claims:STAGE",
        "graphrag_rdf.wings.communities.stages.descriptions:STAGE",
        "graphrag_rdf.wings.communities.stages.reports:STAGE",
    ),
    steps=(
        "graphrag_rdf.wings.communities.steps.drift",
        "graphrag_rdf.wings.communities.steps.local",
        "graphrag_rdf.wings.communities.steps.points",
        "graphrag_rdf.wings.communities.steps.reports",
    ),
)
