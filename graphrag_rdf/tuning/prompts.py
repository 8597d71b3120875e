"""`tune prompts`: from a sample of documents, a model writes what the prompts of the ingest are told of them.

Microsoft GraphRAG calls it auto tuning. There are two calls: the topic of the documents and the role of the
reader (`profile.j2`), and the types of entities and relations (`types.j2`).
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import LlmError, UsageError, system_cause
from graphrag_rdf.extract.answers import predicate_phrase
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.prompts import FILE, Kind, PromptData, as_yaml, one_line
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.extractors import choose_guide, llm_extractor, prompt_data, prompt_folder
from graphrag_rdf.ingest.report import since
from graphrag_rdf.llm.budget import LlmUsage
from graphrag_rdf.llm.jsonl import Section, parse_items, parse_sections
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.prompts import TuningFacts, tuning
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.store.base import Changes
from graphrag_rdf.tuning.sample import Passage, Sample, draw

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import Completion
    from graphrag_rdf.store.base import Store

PIPELINE = "tune_prompts"
COMPONENT, VERSION = "graphrag-rdf-prompt-tuning", "2"
MOST_TYPES, MOST_RELATIONS = 12, 20
"""Limits of the vocabulary: more would make the prompt long and hard to follow."""
MARK = "…"
"""Placeholder for title and chunk in a printed prompt."""

_SECTIONS = {
    "entity_types": Section(("entity_types", "types"), ("entity_type",)),
    "relation_types": Section(("relation_types", "relations", "predicates"), ("relation_type",)),
}
_PLAIN = re.compile(r"[^\"{}<>\[\]\\|]{1,60}")
_DOMAIN, _PERSONA, _MEANING = 200, 400, 200  # characters
_PROFILE_OUT, _TYPES_OUT = 120, 900
"""Estimated tokens of answers, rather too high."""
_BETTER_MODEL = later("use a model that follows instructions better")


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run.

    Attributes:
        domain, persona: None lets the model decide.
        language: of predicates, types and definitions; None for that of each chunk.
        entity_types: empty lets the model decide, if `discover`.
        limit: number of chunks to sample.
        seed: of the sample.
    """

    domain: str | None = None
    persona: str | None = None
    language: str | None = None
    entity_types: tuple[str, ...] = ()
    discover: bool = True
    limit: int = 15
    seed: int = 0


@dataclass(slots=True)
class Outcome:
    """The result of a run.

    Attributes:
        before, after: the extraction with the current and with the tuned prompt.
    """

    request: Request
    model: str
    sample: Sample
    data: PromptData
    before: LlmExtractor
    after: LlmExtractor
    started: datetime
    ended: datetime
    llm: LlmUsage
    warnings: list[dict[str, str]] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether the tuned prompt differs from the current one."""
        return self.before.prompt_hash != self.after.prompt_hash

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
                "seed": self.request.seed,
                "passages": self.sample.all,
                "seen": [passage.chunk.value for passage in self.sample.seen],
            },
            "data": self.data.model_dump(mode="json", exclude={"tuned_by"}),
            "prompt": {
                "changed": self.changed,
                "hash": {"before": self.before.prompt_hash, "after": self.after.prompt_hash},
                "tokens": {"before": prompt_tokens(self.before), "after": prompt_tokens(self.after)},
            },
            "warnings": self.warnings,
            "llm": asdict(self.llm),
            "seconds": round((self.ended - self.started).total_seconds(), 3),
        }


def choose(store: Store, request: Request) -> Sample:
    """The chunks to look at.

    Raises:
        UsageError: when there are none.
    """
    drawn = draw(store, limit=request.limit, seed=request.seed)
    if not drawn.seen:
        raise UsageError(
            tr("the store has no chunks"), hint=tr("name documents, or ingest some: graphrag-rdf ingest")
        )
    return drawn


def tune_prompts(engine: Engine, store: Store, request: Request, *, model: str) -> Outcome:
    """Have a model tune the extraction prompt.

    Nothing is written but answers into the cache, so that a run that failed goes on where it stopped.

    Args:
        engine: whose settings, prompts and model.
        store: with the chunks; the engine's own, or one in memory.

    Raises:
        UsageError: when there are no chunks.
        ConfigError: when the template does not read what would be tuned.
        LlmError: when a call fails, or its answer cannot be parsed (another run makes the call again).
    """
    started, spent = now(), engine.budget.usage
    settings = engine.settings
    current = prompt_data(settings)
    guide = choose_guide(settings, engine.store, lambda: engine.gateway)
    before = llm_extractor(settings, model, current, guide)
    require_reading(settings, model)
    sample = choose(store, request)
    found = _Tuner(settings, engine.gateway, model).make(sample.seen, request)
    by_hand = ("examples", "claim_description", "claim_examples", "importance")
    data = found.model_copy(update={name: getattr(current, name) for name in by_hand})
    after = llm_extractor(settings, model, data, guide)
    counts, ended = since(spent, engine.budget.usage), now()
    outcome = Outcome(request, model, sample, data, before, after, started, ended, counts)
    if settings.extract.use in ("rules", "none"):
        detail = tr("extract.use is {use}: an ingest asks no model, and so no prompt")
        outcome.warn("prompt_unused", detail.format(use=settings.extract.use))
    return outcome


def require_reading(settings: Settings, model: str) -> None:
    """Raise ConfigError when the extraction prompt would not read what is tuned."""
    llm_extractor(settings, model, PromptData(domain="any"))


def estimate(engine: Engine, store: Store, request: Request, *, model: str) -> dict[str, Any]:
    """The keys of `tune prompts --dry-run --format json`: calls and tokens at most, as answers in the cache
    cost nothing. Nothing is asked or written.

    Raises:
        UsageError: when there are no chunks.
        ConfigError: when the template does not read what would be tuned.
    """
    settings = engine.settings
    require_reading(settings, model)
    sample = choose(store, request)
    prompts = [types_prompt(settings, sample.seen, request, request.domain, request.persona)]
    out = _TYPES_OUT
    if request.domain is None or request.persona is None:
        prompts.append(profile_prompt(settings, sample.seen, request))
        out += _PROFILE_OUT
    read = sum(estimate_tokens([{"role": "user", "content": prompt}]) for prompt in prompts)
    return {
        "dry_run": True,
        "model": model,
        "passages": {"all": sample.all, "seen": len(sample.seen)},
        "llm": asdict(LlmUsage(len(prompts), 0, read, out, engine.gateway.price(read, out))),
    }


class _Tuner:
    """Creates the data of a prompt."""

    def __init__(self, settings: Settings, gateway: LlmGateway, model: str) -> None:
        self._settings, self._gateway, self._model = settings, gateway, model

    def make(self, seen: Sequence[Passage], request: Request) -> PromptData:
        """Make both calls."""
        domain, persona = self._profile(seen, request)
        entity_types, relation_types = self._types(seen, request, domain, persona)
        return PromptData(
            domain=domain,
            persona=persona,
            language=request.language,
            entity_types=entity_types,
            relation_types=relation_types,
        )

    def _profile(self, seen: Sequence[Passage], request: Request) -> tuple[str, str]:
        if request.domain is not None and request.persona is not None:
            return request.domain, request.persona
        answer = self._ask("profile", profile_prompt(self._settings, seen, request))
        items, _ = parse_items(answer.text)
        found = next((item for item in items if isinstance(item, dict) and item.get("persona")), {})
        domain = request.domain or (_cut(found.get("domain"), _DOMAIN) or "").rstrip(".")
        persona = request.persona or _cut(found.get("persona"), _PERSONA)
        if not domain or not persona:
            raise self._useless(
                answer,
                "domain and persona",
                tr("use a model that follows instructions better, or give --domain and --persona"),
            )
        return domain, persona

    def _types(
        self, seen: Sequence[Passage], request: Request, domain: str, persona: str
    ) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
        prompt = types_prompt(self._settings, seen, request, domain, persona)
        answer = self._ask("types", prompt)
        try:
            found, _ = parse_sections(answer.text, _SECTIONS)
        except LlmError:
            self._gateway.discard(answer)
            raise
        types = _kinds(found["entity_types"])
        relations = _kinds(found["relation_types"], lower=True)[:MOST_RELATIONS]
        if not types and not relations:
            raise self._useless(answer, "valid type or relation", tr(_BETTER_MODEL))
        if request.entity_types:
            meant = {fold(kind.name): kind.meaning for kind in types}
            types = [Kind(name=name, meaning=meant.get(fold(name), "")) for name in request.entity_types]
        elif not request.discover:
            types = []
        else:
            types = types[:MOST_TYPES]
        return tuple(types), tuple(relations)

    def _useless(self, answer: Completion, missing: str, hint: str) -> LlmError:
        """The error for a useless answer, which is removed from the cache."""
        self._gateway.discard(answer)
        return LlmError(
            tr("the model's answer has no {missing}: {text!r}").format(
                missing=missing, text=answer.text[:200]
            ),
            "unparsable",
            hint,
        )

    def _ask(self, purpose: str, prompt: str) -> Completion:
        try:
            return self._gateway.chat(
                [{"role": "user", "content": prompt}],
                purpose=f"tune_{purpose}",
                json_mode=True,
                model=self._model,
            )
        except LlmError as error:
            if error.kind == "bad_request":
                error.hint = tr("{hint}; or sample fewer chunks with --limit").format(hint=error.hint)
            raise


def profile_prompt(settings: Settings, seen: Sequence[Passage], request: Request) -> str:
    """The prompt for topic and persona."""
    return render(
        (prompt_folder(settings, PIPELINE, "profile.j2"),),
        "profile.j2",
        passages=_shown_passages(seen),
        domain=request.domain,
    )


def types_prompt(
    settings: Settings, seen: Sequence[Passage], request: Request, domain: str | None, persona: str | None
) -> str:
    """The prompt for types and relations."""
    return render(
        (prompt_folder(settings, PIPELINE, "types.j2"),),
        "types.j2",
        passages=_shown_passages(seen),
        domain=domain,
        persona=persona,
        language=request.language,
        entity_types=request.entity_types,
        discover=request.discover,
        most_types=MOST_TYPES,
        most_relations=MOST_RELATIONS,
    )


def prompt_text(extractor: LlmExtractor) -> str:
    """The extraction prompt, with placeholders for title and chunk."""
    return extractor.prompt(MARK, language=None, title=MARK)


def prompt_tokens(extractor: LlmExtractor) -> int:
    """The approximate number of tokens of the extraction prompt without a chunk."""
    return estimate_tokens([{"role": "user", "content": prompt_text(extractor)}])


def _shown_passages(passages: Sequence[Passage]) -> list[dict[str, str]]:
    return [{"title": " ".join(passage.title.split()), "text": passage.text} for passage in passages]


def _kinds(items: Sequence[Any], *, lower: bool = False) -> list[Kind]:
    """The distinct types or relations of an answer; invalid names are left out."""
    found: dict[str, Kind] = {}
    for item in _apart(items):
        given = item if isinstance(item, dict) else {"name": item}
        name = given.get("name") or given.get("entity_type") or given.get("relation_type")
        if not isinstance(name, str):
            continue
        name = predicate_phrase(name) if lower else " ".join(name.split())
        if _PLAIN.fullmatch(name) and any(map(str.isalnum, name)):
            meaning = _cut(given.get("meaning") or given.get("description"), _MEANING) or ""
            found.setdefault(fold(name), Kind(name=name, meaning=meaning))
    return list(found.values())


def _apart(items: Sequence[Any]) -> Iterator[Any]:
    """The items of a list, of an object of names with meanings, or of a comma-separated text."""
    if len(items) == 1 and isinstance(items[0], str):
        yield from items[0].split(",")
        return
    for item in items:
        if isinstance(item, dict) and not item.keys() & {"name", "entity_type", "relation_type"}:
            yield from ({"name": name, "meaning": meaning} for name, meaning in item.items())
        else:
            yield item


def _cut(value: object, length: int) -> str | None:
    """A text on one line, cut at a sentence or a word to a maximum length; None without text."""
    text = one_line(value) if isinstance(value, str) else ""
    if not any(map(str.isalnum, text)):
        return None
    if len(text) <= length:
        return text
    head = text[: length - 1]
    whole, _, _ = head.rpartition(". ")
    return f"{whole}." if whole else f"{head.rpartition(' ')[0] or head}…"


# --- what --apply writes ------------------------------------------------------------------------------


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
        facts = TuningFacts(
            prompt=prompt,
            former=outcome.before.prompt_hash,
            text=text,
            component=COMPONENT,
            model=outcome.model,
            started=outcome.started,
            ended=outcome.ended,
            sampled=[passage.chunk for passage in outcome.sample.seen],
            examples=[example.source for example in outcome.data.all_examples if example.source],
            parameters=asdict(outcome.request),
            calls=outcome.llm.calls + outcome.llm.cached,
            in_tokens=outcome.llm.in_tokens,
            out_tokens=outcome.llm.out_tokens,
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
