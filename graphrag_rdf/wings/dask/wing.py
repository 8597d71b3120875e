"""Dask."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="dask",
    about=later("Documents read, and rules applied, on a Dask cluster."),
    settings={"dask": "graphrag_rdf.wings.dask.settings:DaskSection"},
    workers="graphrag_rdf.wings.dask.cluster:workers",
)
