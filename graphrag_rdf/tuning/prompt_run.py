"""A run of `tune prompts` (sample, calls, comparison), its estimate, and applying its result."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.extract.prompts import FILE, NO_DATA, PromptData, as_yaml
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.claims import cost_of_claims
from graphrag_rdf.ingest.estimate import written_tokens
from graphrag_rdf.ingest.extractors import choose_guide, claim_reader, llm_extractor, prompt_data
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.ingest.report import LlmCounts, since
from graphrag_rdf.llm.model import CHARS_PER_TOKEN, estimate_tokens
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.prompts import TuningFacts, tuning
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes
from graphrag_rdf.tuning.prompt_check import Asking, Check, check
from graphrag_rdf.tuning.prompts import (
    FAILED,
    Tuner,
    Wishes,
    example_tries,
    focus_prompt,
    profile_prompt,
    prompt_text,
    prompt_tokens,
    types_prompt,
)
from graphrag_rdf.tuning.sample import Passage, Sample, Selection, draw, excerpts

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.ingest.schedule import Progress, Stop
    from graphrag_rdf.store.base import Store


_PROFILE_OUT, _TYPES_OUT = 120, 900
"""Estimated tokens of answers, rather too high."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run, for `sample.draw` and `prompts.Wishes`."""

    wishes: Wishes = field(default_factory=Wishes)
    selection: Selection = "random"
    limit: int = 15
    held_out: int = 5
    seed: int = 0

    def as_json(self) -> dict[str, Any]:
        """All options, flat."""
        own = {name: getattr(self, name) for name in ("selection", "limit", "held_out", "seed")}
        return {**own, **asdict(self.wishes)}


@dataclass(slots=True)
class Outcome:
    """The result of a run.

    Attributes:
        before, after: the extraction with the current and with the tuned prompt.
        check: None without held-out chunks, or if the extraction prompts are equal.
        former: what the prompts of claims, merged descriptions and reports are told now.
        rejected: reason why excerpts gave no example → their number.
    """

    request: Request
    model: str
    sample: Sample
    data: PromptData
    before: LlmExtractor
    after: LlmExtractor
    started: datetime
    ended: datetime
    llm: LlmCounts
    check: Check | None = None
    rejected: Mapping[str, int] = field(default_factory=dict)
    warnings: list[dict[str, str]] = field(default_factory=list)
    former: Mapping[str, Any] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the tuned prompts differ from the current ones."""
        return self.before.prompt_hash != self.after.prompt_hash or self.data.shared() != self.former

    @property
    def in_part(self) -> bool:
        """Whether failed calls left out comparisons or examples."""
        missing = len(self.data.examples) < self.request.wishes.examples
        failed = missing and any(reason.startswith(FAILED) for reason in self.rejected)
        return failed or (self.check is not None and bool(self.check.failures))

    def diff(self) -> str:
        """A unified diff of the two prompts."""
        old, new = (prompt_text(one).splitlines() for one in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, "current prompt", "tuned prompt", lineterm=""))

    def warn(self, kind: str, detail: str) -> None:
        """Add a warning."""
        self.warnings.append({"type": kind, "detail": detail})

    def as_json(self) -> dict[str, Any]:
        """The keys of `tune prompts --format json`, except the outcome of --apply."""
        return {
            "model": self.model,
            "sample": {
                "selection": self.request.selection,
                "seed": self.request.seed,
                "passages": self.sample.all,
                "seen": [passage.chunk.value for passage in self.sample.seen],
                "held_out": [passage.chunk.value for passage in self.sample.held_out],
            },
            "data": self.data.model_dump(mode="json", exclude={"tuned_by"}),
            "rejected_examples": dict(self.rejected),
            "prompt": {
                "changed": self.changed,
                "hash": {"before": self.before.prompt_hash, "after": self.after.prompt_hash},
                "tokens": {"before": prompt_tokens(self.before), "after": prompt_tokens(self.after)},
            },
            "check": self.check.as_json() if self.check is not None else None,
            "warnings": self.warnings,
            "llm": asdict(self.llm),
            "seconds": round((self.ended - self.started).total_seconds(), 3),
        }


def choose(store: Store, request: Request) -> Sample:
    """The passages to look at and to hold out.

    Raises:
        UsageError: when there are none.
    """
    drawn = draw(
        store,
        request.selection,
        limit=request.limit,
        held_out=request.held_out,
        seed=request.seed,
    )
    if not drawn.seen:
        raise UsageError(
            tr("the store has no chunks"), hint=tr("name documents, or ingest some: graphrag-rdf ingest")
        )
    return drawn


def tune_prompts(
    engine: Engine,
    store: Store,
    request: Request,
    *,
    model: str,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Outcome:
    """Have a model tune the extraction prompt, and compare the result with the prompt in force.

    Nothing is written but answers into the cache, so that a run that was stopped goes on where it stopped.

    Args:
        engine: whose settings, prompts and model.
        store: with the passages; the engine's own, or one in memory.
        progress: hears (calls done, calls in all at most, what was asked).
        stop: asked between calls whether to end.

    Raises:
        UsageError: when there are no passages.
        ConfigError: when the template does not read what would be tuned.
        LlmError: when a call fails that everything else needs.
        KeyboardInterrupt: when `stop` says so.
    """
    started, spent = now(), engine.budget.usage
    settings = engine.settings
    current = prompt_data(settings)
    guide = choose_guide(settings, engine.store, lambda: engine.gateway)
    before = llm_extractor(settings, model, current, guide)
    require_reading(settings, model)
    sample = choose(store, request)
    texts = excerpts(store, sample.seen)
    asking = Asking(_calls(request, sample, texts), settings.extract.jobs, progress, stop)
    made = Tuner(settings, engine.gateway, model, asking, guide).make(sample.seen, texts, request.wishes)
    after = llm_extractor(settings, model, made.data, guide)
    outcome = Outcome(
        request, model, sample, made.data, before, after, started, started, LlmCounts(), None, made.rejected
    )
    outcome.former = current.shared()
    if not made.data.examples and request.wishes.examples:
        why = ", ".join(f"{number} {reason}" for reason, number in made.rejected.items()) or tr(
            "there is none"
        )
        outcome.warn(
            "no_examples",
            tr("no excerpt gave an example that holds ({why}): the built-in one stays").format(why=why),
        )
    if settings.extract.use in ("rules", "none"):
        detail = tr("extract.use is {use}: an ingest asks no model, and so no prompt").format(
            use=settings.extract.use
        )
        outcome.warn("prompt_unused", detail)
    if request.held_out and not sample.held_out:
        detail = tr("{all} passages are too few to hold any out: the prompts were not compared").format(
            all=sample.all
        )
        outcome.warn("not_checked", detail)
    if before.prompt_hash != after.prompt_hash and sample.held_out:
        outcome.check = check(
            before,
            after,
            sample.held_out,
            CandidateFilter(settings.extract.entity_min_length),
            engine.gateway,
            asking,
        )
    outcome.llm, outcome.ended = since(spent, engine.budget.usage), now()
    return outcome


def require_reading(settings: Settings, model: str) -> None:
    """Raise ConfigError when the extraction prompt would not read what is tuned."""
    llm_extractor(settings, model, PromptData(domain="any"))


def estimate(engine: Engine, store: Store, request: Request, *, model: str) -> dict[str, Any]:
    """The keys of `tune prompts --dry-run --format json`: calls and tokens at most, as answers in the cache
    cost nothing. Nothing is asked or written.

    Raises:
        UsageError: when there are no passages.
        ConfigError: when the template does not read what would be tuned.
    """
    settings, wishes = engine.settings, request.wishes
    before = llm_extractor(
        settings, model, prompt_data(settings), choose_guide(settings, engine.store, lambda: engine.gateway)
    )
    require_reading(settings, model)
    sample = choose(store, request)
    texts = excerpts(store, sample.seen)
    tries = texts[: example_tries(len(texts), wishes)]
    prompts = [_tokens(types_prompt(settings, sample.seen, wishes, wishes.domain, wishes.persona))]
    written = [_TYPES_OUT]
    if _needs_profile(wishes):
        prompts.append(_tokens(profile_prompt(settings, sample.seen, wishes)))
        written.append(_PROFILE_OUT)
    if wishes.claims or wishes.reports:
        prompts.append(_tokens(focus_prompt(settings, sample.seen, wishes.domain, wishes.persona)))
        written.append(_PROFILE_OUT)
    if wishes.claims:
        reader = claim_reader(settings, model, NO_DATA)
        for one in tries:
            cost = cost_of_claims(reader, one.text, one.title)
            prompts += [cost[1] // cost[0]] * cost[0]
            written += [cost[2] // cost[0]] * cost[0]
    plain = prompt_tokens(before)
    vocabulary = plain + _TYPES_OUT
    tuned = vocabulary + sum(_example_tokens(text) for text in texts[: wishes.examples])
    for passages, lengths in ((tries, [vocabulary]), (sample.held_out, [plain, max(plain, tuned)])):
        for passage in passages:
            text = len(passage.text) // CHARS_PER_TOKEN
            wrote = written_tokens(passage.text)
            for number in range(1 + settings.extract.gleaning_rounds):  # each with all that was said before
                prompts += [text + length + number * wrote for length in lengths]
                written += [wrote] * len(lengths)
    calls, read, out = len(prompts), sum(prompts), sum(written)
    return {
        "dry_run": True,
        "model": model,
        "passages": {"all": sample.all, "seen": len(sample.seen), "held_out": len(sample.held_out)},
        "llm": asdict(LlmCounts(calls, 0, read, out, engine.gateway.price(read, out))),
    }


def _calls(request: Request, sample: Sample, texts: list[Passage]) -> int:
    wishes = request.wishes
    asked = 1 + _needs_profile(wishes) + (wishes.claims or wishes.reports)
    return asked + example_tries(len(texts), wishes) * (1 + wishes.claims) + 2 * len(sample.held_out)


def _needs_profile(wishes: Wishes) -> bool:
    return wishes.domain is None or wishes.persona is None


def _tokens(prompt: str) -> int:
    return estimate_tokens([{"role": "user", "content": prompt}])


def _example_tokens(excerpt: Passage) -> int:
    return len(excerpt.text) // CHARS_PER_TOKEN + written_tokens(excerpt.text)


COMPONENT, VERSION = "graphrag-rdf-prompt-tuning", "1"


def file_in(pipelines: Path) -> Path:
    """The file with the data of the extraction prompt, in a folder of pipelines."""
    return pipelines / "ingest" / FILE


def require_writable(path: Path) -> None:
    """Check that a file can be written, before any model is called.

    Raises:
        UsageError: when it is a folder, or there is no permission to write it.
    """
    there = next(place for place in path.parents if place.exists())
    if path.is_dir():
        raise _unwritable(path, tr("it is a folder"))
    if not there.is_dir():
        raise _unwritable(path, tr("{folder} is not a folder").format(folder=there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise _unwritable(path, tr("there is no permission to write to {there}").format(there=there))


def keep(engine: Engine, outcome: Outcome, path: Path) -> str:
    """Record the tuning and write the file; return the IRI of the tuning.

    Args:
        path: see `file_in`; an existing file is replaced.

    Raises:
        UsageError: when the file cannot be written; then nothing is recorded.
        StoreError: when the store cannot be written; then the file is not written.
    """
    activity = iris.prompt_tuning(outcome.after.prompt_hash).value
    with _replaced(path, as_yaml(outcome.data.model_copy(update={"tuned_by": activity}))):
        _record(engine, outcome)
    return activity


def _record(engine: Engine, outcome: Outcome) -> None:
    prompt = outcome.after.prompt_hash
    if not engine.store.ask("tuning/tuned", prompt=iris.prompt(prompt)):
        text = engine.blobs.put(prompt_text(outcome.after))
        found = outcome.check
        facts = TuningFacts(
            prompt=prompt,
            former=outcome.before.prompt_hash,
            text=text,
            component=COMPONENT,
            model=outcome.model,
            started=outcome.started,
            ended=outcome.ended,
            sampled=[passage.chunk for passage in outcome.sample.seen],
            held_out=[passage.chunk for passage in outcome.sample.held_out],
            examples=[example.source for example in outcome.data.all_examples if example.source],
            parameters=outcome.request.as_json(),
            calls=outcome.llm.calls + outcome.llm.cached,
            in_tokens=outcome.llm.in_tokens,
            out_tokens=outcome.llm.out_tokens,
            facts=found.total("facts") if found and found.readings else None,
            verified=found.total("verified") if found and found.readings else None,
        )
        add = [*prov.agent(COMPONENT, VERSION), *tuning(facts)]
        engine.store.commit(Changes(add=add, content=False))


@contextmanager
def _replaced(path: Path, text: str) -> Iterator[None]:
    """Write a temporary file, run the block, and replace the file."""
    beside = path.with_name(f".{path.name}.new")
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(text, encoding="utf-8")
        except OSError as error:
            raise _unwritable(path, system_cause(error)) from error
        yield
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _unwritable(path: Path, reason: str | None) -> UsageError:
    return UsageError(
        tr("cannot write {path}: {cause}").format(path=path, cause=reason),
        hint=tr("name another folder with --output"),
    )
