"""The caches of an engine: answers to questions, raw answers of models, vectors of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from graphrag_rdf.trace import reuse

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


def cache_stats(engine: Engine) -> dict[str, Any]:
    """Statistics of the caches: the keys of `cache stats --format json`."""
    answers, cache = reuse.stats(engine.store), engine.response_cache
    with ExitStack() as opened:
        if cache is None and (served := engine.served_cache()) is not None:
            cache = opened.enter_context(served)
        stats: dict[str, Any] = {
            "enabled": cache is not None,
            "answers": {
                "enabled": engine.settings.answers.cache,
                "entries": answers.entries,
                "reused": answers.reused,
            },
        }
        if cache is not None:
            both, chat, vectors = cache.stats(), cache.stats("answers"), cache.stats("embeddings")
            stats |= {"entries": both.entries, "bytes": both.bytes, "max_bytes": both.max_bytes}
            stats["llm"] = {"entries": chat.entries, "bytes": chat.bytes}
            stats["embeddings"] = {"entries": vectors.entries, "bytes": vectors.bytes}
        return stats


def clear_caches(engine: Engine, names: Iterable[str] = ()) -> dict[str, int]:
    """Clear caches; return the number of erased entries by cache, and their sum as `erased`.

    Args:
        names: keys of `CACHES`; none for all. Traces of answers stay.
    """
    wanted = set(names) or set(CACHES)
    gone = {name: clear(engine) for name, clear in CACHES.items() if name in wanted}
    return {"erased": sum(gone.values()), **gone}


def _clear_answers(engine: Engine) -> int:
    return reuse.clear(engine.store, engine.blobs)


def _clear_llm(engine: Engine) -> int:
    cache = engine.response_cache
    return cache.clear("answers") if cache is not None else 0


def _clear_embeddings(engine: Engine) -> int:
    cache = engine.response_cache
    return cache.clear("embeddings") if cache is not None else 0


CACHES: Mapping[str, Callable[[Engine], int]] = {
    "answers": _clear_answers,
    "llm": _clear_llm,
    "embeddings": _clear_embeddings,
}
"""Cache → the function that clears it."""
