"""The settings of the history."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from graphrag_rdf.section import NONE_IS_A_WAY, Section


class HistorySection(Section):
    """[history] - earlier states of the store, for --at, log, diff and undo."""

    keep: Annotated[int | Literal["none", "all"], NONE_IS_A_WAY] = Field(
        default=30, description="days for which states are kept; none: no state; all: for ever"
    )
    max_mb: int = Field(
        default=2048,
        ge=0,
        description="megabytes that states may take beside the store itself; the oldest are deleted first",
    )
