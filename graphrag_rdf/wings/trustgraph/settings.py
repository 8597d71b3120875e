"""The settings of TrustGraph's protocol."""

from __future__ import annotations

from pydantic import Field

from graphrag_rdf.section import Section
from graphrag_rdf.wing import wings

_PIPELINE = "hops_rag" if any(wing.name == "hybrid" for wing in wings()) else "graph_rag"


class GatewaySection(Section):
    """[gateway] - TrustGraph's clients, at `/api/v1` of `graphrag-rdf serve`."""

    in_store = False

    graph_rag: str = Field(
        default=_PIPELINE, pattern=r"^[a-z][a-z0-9_]{0,63}$", description="pipeline of the service graph-rag"
    )
