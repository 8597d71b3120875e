"""Parts of the summaries that ingest, refresh and tune print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphrag_rdf.cli.failures import DONE, IN_PART, INTERRUPTED

if TYPE_CHECKING:
    from graphrag_rdf.ingest.report import LlmCounts


def counts(numbers: Any) -> str:
    """All counts that are not zero, in a line.

    Args:
        numbers: name → number, or a dataclass of numbers.
    """
    from dataclasses import asdict

    if isinstance(numbers, Mapping):
        named = numbers
    else:
        named = {name.replace("_", " "): number for name, number in asdict(numbers).items()}
    return ", ".join(f"{number:,} {name}" for name, number in named.items() if number)


def usage(llm: LlmCounts) -> str:
    """The calls, tokens and cost of a model, in a line."""
    parts = [f"{llm.calls:,} calls", f"{llm.cached:,} cached"]
    if llm.in_tokens is not None:
        kept = f" ({llm.cached_in_tokens:,} from the provider's cache)" if llm.cached_in_tokens else ""
        parts.append(f"{llm.in_tokens:,}{kept} + {llm.out_tokens or 0:,} tokens")
    if llm.cost_usd is not None:
        parts.append(f"{llm.cost_usd:.4f} USD")
    return ", ".join(parts)


def planned(calls: int, in_tokens: int | None, out_tokens: int | None, cost_usd: float | None) -> str:
    """The estimated calls, tokens and cost of a model, in a line."""
    cost = "price unknown" if cost_usd is None else f"{cost_usd:.2f} USD"
    return f"{calls:,} calls, about {in_tokens or 0:,} + {out_tokens or 0:,} tokens, {cost}"


def outcome(stopped: str | None, *, failed: bool) -> int:
    """The exit code of work that continues when a part of it fails.

    Args:
        stopped: why it ended early; None if it did not.
    """
    if stopped == "interrupted":
        return INTERRUPTED
    return IN_PART if failed or stopped else DONE
