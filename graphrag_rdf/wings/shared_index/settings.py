"""The settings of the shared index."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from graphrag_rdf.section import Section


class IndexSection(Section):
    """[index] - search indexes of a store behind an endpoint, made by one process and read by many."""

    in_store: ClassVar[bool] = False

    shared: str | None = Field(
        default=None,
        description="folder, or URL as s3://bucket/path, to which the process that writes the store copies "
        "its indexes, and from which those that only read take them",
    )
