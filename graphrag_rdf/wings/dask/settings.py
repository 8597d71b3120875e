"""The settings of the Dask cluster."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from graphrag_rdf.section import Section


class DaskSection(Section):
    """[dask] - a cluster that reads documents for an ingest."""

    in_store: ClassVar[bool] = False

    scheduler: str | None = Field(
        default=None,
        description="address of the scheduler, as tcp://localhost:8786 (default: DASK_SCHEDULER_ADDRESS)",
    )
