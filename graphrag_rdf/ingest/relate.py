"""All relations of a store: read by a model pair by pair, and derived from what the store holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.ingest.choice import choose_relation_reader
from graphrag_rdf.ingest.expected_tokens import PER_PAIR
from graphrag_rdf.ingest.pair_relations import (
    PairCounts,
    PairReport,
    PairSettings,
    plan_pairs,
    relate_pairs,
    texts_of_pairs,
)
from graphrag_rdf.ingest.relations import Built, RelationSettings, build_relations, built, relation_counts
from graphrag_rdf.ingest.report import LlmCounts, since
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.rdf.namespaces import prefixed

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.ingest.protocols import NeededComponents

NO_LLM = "no model is set: passages are related by what they share and how they stand, not by what they say"


@dataclass(slots=True)
class RelationReport:
    """The outcome of a refresh of relations.

    Attributes:
        relations: how many there are now of each kind, by IRI.
        read: what a model was asked, and found.
    """

    relations: dict[str, int] = field(default_factory=dict)
    read: PairReport = field(default_factory=PairReport)
    warnings: list[dict[str, str]] = field(default_factory=list)
    llm: LlmCounts = field(default_factory=LlmCounts)
    seconds: float = 0.0

    def warn(self, type: str, detail: str) -> None:  # noqa: A002 - the key of the JSON
        """Add a warning."""
        self.warnings.append({"type": type, "detail": detail})

    def as_json(self) -> dict[str, Any]:
        """The keys of `refresh relations --format json`."""
        return {
            "relations": relation_names(self.relations),
            **asdict(self.read),
            "warnings": self.warnings,
            "llm": asdict(self.llm),
            "seconds": self.seconds,
        }


def relation_settings(settings: Settings) -> RelationSettings:
    """How derived relations are built."""
    wanted = settings.relations
    return RelationSettings(wanted.sentence_window, wanted.min_count, wanted.hub_limit)


def pair_settings(settings: Settings, *, again: bool | frozenset[NamedNode] = False) -> PairSettings:
    """How pairs of passages are read."""
    return PairSettings(settings.relations.window, settings.extract.jobs, again)


def refresh_relations(
    engine: NeededComponents,
    documents: Sequence[NamedNode] = (),
    *,
    again: bool | frozenset[NamedNode] = False,
    lazily: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> RelationReport:
    """See `Engine.refresh_relations`.

    Args:
        again: may also name the documents whose pairs are read again.
        lazily: leave the derived relations when they are those of what the store holds.
    """
    begun = time.perf_counter()
    store, settings = engine.store, engine.settings
    report, spent = RelationReport(), engine.budget.usage
    structure = relation_settings(settings)
    before = built(store)
    if documents and before is not None:
        before.require(structure)
    reader = choose_relation_reader(settings)
    if reader is not None:
        report.read = relate_pairs(
            store, reader, engine.gateway, pair_settings(settings, again=again), documents, progress, stop
        )
    elif settings.relations.use == "auto":
        report.warn("no_llm", NO_LLM)
    read = report.read
    changed = bool(read.pairs.asked or read.pairs.removed)
    if changed or not lazily or before != Built(structure, store.content_commit()):
        build_relations(store, structure, documents)
    if read.failures:
        report.warn("relation_parse_fallback", fallback(read.pairs.failed, read.failures[0].reason))
    if read.stopped == "budget":
        report.warn("budget_spent", "the budget was used up before all pairs of passages were read")
    report.relations = relation_counts(store)
    report.llm = since(spent, engine.budget.usage)
    report.seconds = round(time.perf_counter() - begun, 3)
    return report


@dataclass(frozen=True, slots=True)
class RelationEstimate:
    """What a model would be asked: pairs; calls and tokens at most, as answers in the cache cost nothing."""

    pairs: PairCounts
    llm: LlmCounts

    def as_json(self) -> dict[str, Any]:
        """The keys of `refresh relations --dry-run --format json`."""
        return {"dry_run": True, "pairs": asdict(self.pairs), "llm": asdict(self.llm)}


def estimate_relations(
    engine: NeededComponents, documents: Sequence[NamedNode] = (), *, again: bool = False
) -> RelationEstimate:
    """Find out what `refresh_relations` would ask a model. Nothing is asked or written.

    Raises:
        ConfigError: when a model is asked for and none is set.
    """
    reader = choose_relation_reader(engine.settings)
    if reader is None:
        return RelationEstimate(PairCounts(), LlmCounts(0, 0, 0, 0, 0.0))
    plan = plan_pairs(engine.store, reader.key, pair_settings(engine.settings, again=again), documents)
    pairs = list(plan.todo)
    read = sum(
        estimate_tokens([{"role": "user", "content": reader.prompt(*texts)}])
        for _, texts in texts_of_pairs(engine.store, pairs)
    )
    written = len(pairs) * PER_PAIR
    cost = engine.gateway.price(read, written) if pairs else 0.0
    counts = PairCounts(asked=len(pairs), kept=plan.kept, removed=len(plan.gone))
    return RelationEstimate(counts, LlmCounts(len(pairs), 0, read, written, cost))


def fallback(failed: int, reason: str) -> str:
    """What `relation_parse_fallback` says: no answer of a model could be had or read for pairs of passages.

    Args:
        reason: of one of them.
    """
    pairs = f"{failed:,} pair{'s' if failed != 1 else ''} of passages"
    return f"{pairs}: no relation could be read, only their order relates them; {reason}"


def relation_names(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by IRI as counts by prefixed name, in order."""
    return {prefixed(NamedNode(iri)) or iri: counts[iri] for iri in sorted(counts)}
