"""GraphRAG whose whole memory is RDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

__all__ = ["Engine", "__version__"]


def __getattr__(name: str) -> Any:
    """`Engine` is imported when it is first used, so that importing the package stays instant."""
    if name == "Engine":
        from graphrag_rdf.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
