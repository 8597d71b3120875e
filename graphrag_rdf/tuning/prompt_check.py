"""Comparison of the current and a tuned prompt on held-out chunks.

A fact is verified if its quote is in the chunk, as the ingest locates it. Whether it is *right* is not
measured, because the held-out chunks have no expected facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_rdf.errors import LlmError
from graphrag_rdf.evaluation.metrics import compared
from graphrag_rdf.extract.evidence import locate
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.extract.names import fold, match_key
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Progress, Schedule, Stop, UnexpectedError
from graphrag_rdf.tuning.sample import Passage

if TYPE_CHECKING:
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.llm.gateway import LlmGateway


BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a prompt for a chunk.

    Attributes:
        facts: statements; verified: those with a quote from the chunk.
        left_out: rejected candidates.
        in_tokens: of the prompt, as reported by the server; None if unknown.
        types, predicates: counts of each.
    """

    facts: int
    verified: int
    entities: int
    left_out: int
    in_tokens: int | None
    types: Mapping[str, int]
    predicates: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Check:
    """The comparison.

    Attributes:
        readings: of chunks with answers of both prompts, (before, after).
        failures: of other chunks: chunk, title of its document, prompt (before or after), reason.
    """

    readings: Sequence[tuple[Reading, Reading]] = ()
    failures: Sequence[Mapping[str, str]] = field(default_factory=list)

    def total(self, name: str) -> tuple[int, int]:
        """The sums of a number, before and after."""
        before, after = (sum(getattr(pair[side], name) for pair in self.readings) for side in (0, 1))
        return before, after

    @property
    def worse(self) -> bool:
        """Whether there are fewer verified facts or answers than before, or no comparison."""
        before, after = self.total("verified")
        return after < before or self.lost > 0 or (not self.readings and bool(self.failures))

    @property
    def lost(self) -> int:
        """The failures of the tuned prompt, minus those of the current one."""
        failed = Counter(one["prompt"] for one in self.failures)
        return failed[AFTER] - failed[BEFORE]

    def as_json(self) -> dict[str, Any]:
        """The key `check` of `tune prompts --format json`."""
        facts, verified = self.total("facts"), self.total("verified")
        measures = {
            name: compared(*([float(getattr(pair[side], name)) for pair in self.readings] for side in (0, 1)))
            for name in ("facts", "verified", "entities", "left_out")
        }
        told = [pair for pair in self.readings if pair[0].in_tokens and pair[1].in_tokens]
        if told:
            measures["in_tokens"] = compared(
                *([float(pair[side].in_tokens or 0) for pair in told] for side in (0, 1))
            )
        return {
            "passages": len(self.readings),
            "measures": measures,
            "verified_share": {
                side: round(verified[n] / facts[n], 4) if facts[n] else None
                for n, side in enumerate((BEFORE, AFTER))
            },
            "types": self._used("types"),
            "predicates": self._used("predicates"),
            "failures": list(self.failures),
            "worse": self.worse,
        }

    def _used(self, name: str) -> dict[str, dict[str, int]]:
        out = {}
        for place, side in enumerate((BEFORE, AFTER)):
            counts: Counter[str] = Counter()
            for pair in self.readings:
                counts.update(getattr(pair[place], name))
            out[side] = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        return out


def check(
    before: LlmExtractor,
    after: LlmExtractor,
    passages: Sequence[Passage],
    candidate_filter: CandidateFilter,
    gateway: LlmGateway,
    asking: Asking,
) -> Check:
    """Extract facts from chunks with both prompts.

    Args:
        before, after: the extraction with the current and with the tuned prompt.
        passages: the held-out chunks.
        candidate_filter: rejects the same candidates as the ingest.

    Raises:
        LlmError: when the model cannot be used at all, or the budget is used up.
        KeyboardInterrupt: after a stop.
    """

    def ask(task: tuple[Passage, LlmExtractor]) -> Reading:
        passage, extractor = task
        found, answers = extractor.extract(
            passage.text, language=passage.language, title=passage.title, gateway=gateway
        )
        tokens = [answer.in_tokens for answer in answers]
        known = [number for number in tokens if number is not None]
        return reading(
            found, passage.text, candidate_filter, sum(known) if len(known) == len(tokens) else None
        )

    tasks = [(passage, extractor) for passage in passages for extractor in (before, after)]
    outcomes = [outcome for _, outcome in asking.many("check", ask, tasks)]
    readings: list[tuple[Reading, Reading]] = []
    failures = []
    for passage, old, new in zip(passages, outcomes[::2], outcomes[1::2], strict=True):
        for side, outcome in ((BEFORE, old), (AFTER, new)):
            if isinstance(outcome, LlmError):
                failed = {"chunk": passage.chunk.value, "title": passage.title, "prompt": side}
                failures.append({**failed, "reason": outcome.message})
        if not isinstance(old, LlmError) and not isinstance(new, LlmError):
            readings.append((old, new))
    return Check(readings, failures)


def reading(
    found: Extraction, text: str, candidate_filter: CandidateFilter, in_tokens: int | None
) -> Reading:
    """Count the results of an extraction that the ingest would accept.

    Args:
        text: of the chunk, to locate quotes in.
        in_tokens: of the prompt, as reported by the server; None if unknown.
    """
    fit = candidate_filter.fit(found)
    facts: dict[tuple[str, str, str], bool] = {}
    predicates: Counter[str] = Counter()
    for relation in fit.relations:
        target = match_key(relation.object) if relation.object_is_entity else relation.object
        fact = (match_key(relation.subject), relation.predicate, target)
        if fact not in facts:
            predicates[relation.predicate] += 1
        verified = bool(relation.quote) and locate(relation.quote or "", text) is not None
        facts[fact] = facts.get(fact, False) or verified
    types = Counter(fold(entity.type) for entity in fit.entities if entity.type)
    return Reading(
        facts=len(facts),
        verified=sum(facts.values()),
        entities=len(fit.entities),
        left_out=len(fit.rejected),
        in_tokens=in_tokens,
        types=types,
        predicates=predicates,
    )


T = TypeVar("T")
F = TypeVar("F")


class Asking:
    """Makes and counts calls.

    Args:
        total: maximum number of calls.
        jobs: number of concurrent calls.
        progress: called with (finished calls, all calls, purpose).
        stop: called between calls; True ends the work. The answers so far are in the cache.
    """

    def __init__(
        self, total: int, jobs: int, progress: Progress | None = None, stop: Stop | None = None
    ) -> None:
        self._total, self._jobs = total, jobs
        self._progress = progress
        self._stop = stop or (lambda: False)
        self._done = 0

    def one(self, what: str, call: Callable[[], F]) -> F:
        """Make one call. Raises its error, or KeyboardInterrupt after a stop."""
        ((_, found),) = self.many(what, lambda _: call(), [None])
        if isinstance(found, LlmError):
            raise found
        return found

    def many(
        self, what: str, call: Callable[[T], F], things: Iterable[T]
    ) -> Sequence[tuple[T, F | LlmError]]:
        """Make a call for each thing, concurrently.

        Returns:
            each thing with the result or error, in order.

        Raises:
            LlmError: when the model cannot be used at all, or the budget is used up.
            KeyboardInterrupt: after a stop.
        """
        listed = list(things)
        found: dict[int, F | LlmError] = {}

        def keep(place: int, outcome: F | Failure) -> None:
            if isinstance(outcome, UnexpectedError):
                raise outcome
            found[place] = outcome
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total, what)

        try:
            Schedule(lambda place: call(listed[place]), keep, self._stop).run(
                iter(range(len(listed))), self._jobs
            )
        except BudgetSpentError as spent:
            hint = tr("raise the budget, and run the same command again to continue")
            raise LlmError(str(spent), "budget", hint) from spent
        if self._stop():
            raise KeyboardInterrupt
        return [(thing, found[place]) for place, thing in enumerate(listed)]

    def skip(self, number: int) -> None:
        """Reduce the total by a number of calls."""
        self._total -= number
