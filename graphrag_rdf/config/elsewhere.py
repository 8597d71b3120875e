"""Settings of hybrid rankers over property graphs and ours, for hints; docs/reference/seeds.md has more."""

from __future__ import annotations

from collections.abc import Iterable

from graphrag_rdf.errors import did_you_mean
from graphrag_rdf.i18n import tr

ELSEWHERE = {
    "BM25_ENABLED": "hybrid_rag.exploration.weight_words",
    "BM25_WEIGHT": "hybrid_rag.exploration.weight_words",
    "CHUNK_OVERLAP": "documents.chunk_overlap",
    "CHUNK_SIZE": "documents.chunk_size",
    "COOCCUR_MIN_COUNT": "relations.min_count",
    "ENTITY_MIN_LENGTH": "extract.entity_min_length",
    "ENTITY_NORMALIZE_ENABLED": "extract.normalise",
    "EXPAND_HOPS": "hybrid_rag.exploration.relation_hops",
    "GRAPH_RANK_ENABLED": "hybrid_rag.exploration.weight_degree",
    "GRAPH_RANK_WEIGHT": "hybrid_rag.exploration.weight_degree",
    "HASH_INCREMENTAL_ENABLED": "extract.incremental",
    "RELATION_CHUNK_TRUNC": "relations.truncate",
    "RELATION_LLM_TEMPERATURE": "llm.temperatures",
    "RELATION_WINDOW": "relations.window",
    "REL_FALLBACK_CONFIDENCE": "hybrid_rag.exploration.fallback_confidence",
    "REL_WEIGHT_COOCCUR": "hybrid_rag.exploration.weight_cooccurs",
    "RERANK_ENABLED": "rerank.model",
    "TOP_K": "hybrid_rag.exploration.passage_limit",
} | {
    f"REL_WEIGHT_{name}": f"hybrid_rag.exploration.weight_{name.lower()}"
    for name in (
        *("RELATES", "CAUSES", "SUPPORTS", "REFERENCES", "PART_OF", "SUBSTEP_OF", "CONTRASTS", "FOLLOWS"),
        "STEP_NEXT",
    )
}


def meant(key: str, keys: Iterable[str], otherwise: str) -> str:
    """A hint for an unknown setting: its name here, or what is spelt alike.

    Args:
        otherwise: the hint where there is neither.
    """
    ours = ELSEWHERE.get(key.upper())
    if ours is None:
        return did_you_mean(key, keys, otherwise)
    return tr("{theirs} of other systems is {ours} here").format(theirs=key.upper(), ours=ours)
