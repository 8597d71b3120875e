"""Settings of other systems and ours, for hints; docs/reference/seeds.md has more."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable

from graphrag_rdf.errors import did_you_mean
from graphrag_rdf.i18n import tr
from graphrag_rdf.wing import load, wings

ELSEWHERE = {
    "CHUNK_OVERLAP": "documents.chunk_overlap",
    "CHUNK_SIZE": "documents.chunk_size",
    "COOCCUR_MIN_COUNT": "relations.min_count",
    "ENTITY_MIN_LENGTH": "extract.entity_min_length",
    "ENTITY_NORMALIZE_ENABLED": "extract.normalise",
    "HASH_INCREMENTAL_ENABLED": "extract.incremental",
    "RELATION_CHUNK_TRUNC": "relations.truncate",
    "RELATION_LLM_TEMPERATURE": "llm.temperatures",
    "RELATION_WINDOW": "relations.window",
    "RERANK_ENABLED": "rerank.model",
}


def meant(key: str, keys: Iterable[str], otherwise: str) -> str:
    """A hint for an unknown setting: its name here, or what is spelt alike.

    Args:
        otherwise: the hint where there is neither.
    """
    brought = [load(wing.elsewhere) for wing in wings() if wing.elsewhere]
    ours = ChainMap(ELSEWHERE, *brought).get(key.upper())
    if ours is None:
        return did_you_mean(key, keys, otherwise)
    return tr("{theirs} of other systems is {ours} here").format(theirs=key.upper(), ours=ours)
