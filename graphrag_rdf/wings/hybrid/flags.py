"""What `doctor` shows of relations and of the weights of `hybrid_rag`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphrag_rdf.live_settings import step_values

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


def feature_flags(engine: Engine, indexes: Mapping[str, Any]) -> dict[str, bool]:
    """Features of this wing that are on and work.

    Args:
        indexes: name → state, see `checks.diagnosis.index_status`.
    """
    settings, weights = engine.settings, step_values(engine.pipeline("hybrid_rag"))
    words, degree = (weights.get(f"hybrid_rag.exploration.weight_{name}") for name in ("words", "degree"))
    return {
        "bm25_enabled": "error" not in indexes["text"] and bool(words),
        "graph_rank_enabled": bool(degree),
        "relations_enabled": settings.relations.build,
        "relation_extraction_enabled": settings.llm.model is not None
        and settings.relations.use != "structure",
    }
