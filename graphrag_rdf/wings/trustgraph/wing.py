"""TrustGraph's wire protocol."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="trustgraph",
    about=later("TrustGraph's own protocol, for its clients."),
    settings={"gateway": "graphrag_rdf.wings.trustgraph.settings:GatewaySection"},
    routes=("graphrag_rdf.wings.trustgraph.routes:ROUTES",),
)
