"""Hybrid ranking, as over property graphs, and hop and filter as in TrustGraph."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="hybrid",
    about=later("Exploration by a composite score over relations between chunks, and hop by hop."),
    elsewhere="graphrag_rdf.wings.hybrid.elsewhere:ELSEWHERE",
    flags="graphrag_rdf.wings.hybrid.flags:feature_flags",
    preview="hybrid_rag",
    steps=("graphrag_rdf.wings.hybrid.composite", "graphrag_rdf.wings.hybrid.hops"),
    stages=("graphrag_rdf.wings.hybrid.relation_stage:STAGE",),
)
