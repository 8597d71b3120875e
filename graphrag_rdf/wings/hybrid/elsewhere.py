"""Settings of hybrid rankers over property graphs, and the parameters of `hybrid_rag` that do the same."""

from __future__ import annotations

from typing import Final

_STEP: Final = "hybrid_rag.exploration"

ELSEWHERE: Final = {
    "BM25_ENABLED": f"{_STEP}.weight_words",
    "BM25_WEIGHT": f"{_STEP}.weight_words",
    "EXPAND_HOPS": f"{_STEP}.relation_hops",
    "GRAPH_RANK_ENABLED": f"{_STEP}.weight_degree",
    "GRAPH_RANK_WEIGHT": f"{_STEP}.weight_degree",
    "REL_FALLBACK_CONFIDENCE": f"{_STEP}.fallback_confidence",
    "REL_WEIGHT_COOCCUR": f"{_STEP}.weight_cooccurs",
    "TOP_K": f"{_STEP}.passage_limit",
} | {
    f"REL_WEIGHT_{name}": f"{_STEP}.weight_{name.lower()}"
    for name in (
        *("RELATES", "CAUSES", "SUPPORTS", "REFERENCES", "PART_OF", "SUBSTEP_OF", "CONTRASTS", "FOLLOWS"),
        "STEP_NEXT",
    )
}
