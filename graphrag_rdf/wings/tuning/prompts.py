"""`tune prompts`: from a sample of chunks, a model describes the documents for the prompts of the ingest.

Microsoft GraphRAG calls it auto tuning. One question (`vocabulary.j2`) asks for the topic of the documents,
the role of the reader, and the types of entities and relations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.whole_file import whole_file
from graphrag_rdf.extract.answers import predicate_phrase
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.prompts import FILE, Kind, PromptData, Sentence, as_yaml
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.extractors import choose_guide, llm_extractor, prompt_data, prompt_folder
from graphrag_rdf.llm.budget import LlmUsage, since
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.llm.repair import ask_for, in_form
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.prompts import TuningFacts, tuning
from graphrag_rdf.rdf.terms import now as current_time
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.store.base import Changes
from graphrag_rdf.wings.tuning.sample import Sample, draw

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.extract.llm import LlmExtractor

PIPELINE, PROMPT = "tune_prompts", "vocabulary.j2"
COMPONENT, VERSION = "graphrag-rdf-prompt-tuning", "3"
MOST_TYPES, MOST_RELATIONS = 12, 20
"""Limits of the vocabulary: more would make the prompt long and hard to follow."""
MARK = "…"
"""Placeholder for title and chunk in a printed prompt."""

_PLAIN = re.compile(r"[^\"{}<>\[\]\\|]{1,60}")
"""Names that need no quoting in a prompt."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run.

    Attributes:
        domain, persona: None lets the model decide.
        language: of predicates, types and definitions; None for that of each chunk.
        entity_types: empty lets the model decide.
        limit: number of chunks to sample.
        seed: of the sample.
    """

    domain: str | None = None
    persona: str | None = None
    language: str | None = None
    entity_types: tuple[str, ...] = ()
    limit: int = 15
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run.

    Attributes:
        before, after: the extraction with the current and with the tuned prompt.
        warnings: type and detail of each.
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
    warnings: list[dict[str, str]]

    @property
    def changed(self) -> bool:
        """Whether the tuned prompt differs from the current one."""
        return self.before.prompt_hash != self.after.prompt_hash

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


class _Answer(BaseModel):
    """What the model is asked for; what a request gives is not asked."""

    domain: Sentence | None = None
    persona: Sentence | None = None
    entity_types: list[Kind] = []
    relation_types: list[Kind]


def tune_prompts(engine: Engine, request: Request, *, model: str) -> Outcome:
    """Have a model tune the extraction prompt.

    Nothing is written but answers into the cache, so that a repeated run costs nothing.

    Raises:
        UsageError: when the store has no chunks.
        ConfigError: when the template does not read what would be tuned.
        LlmError: when the call fails, or its answer cannot be read (another run asks again).
    """
    started, spent = current_time(), engine.budget.usage
    settings = engine.settings
    current = prompt_data(settings)
    guide = choose_guide(settings, engine.store, lambda: engine.gateway)
    before = llm_extractor(settings, model, current, guide)
    llm_extractor(settings, model, PromptData(domain="any"))  # raises if the template reads no data
    sample = draw(engine.store, limit=request.limit, seed=request.seed)
    if not sample.seen:
        raise UsageError(
            tr("the store has no chunks"), hint=tr("ingest some: graphrag-rdf ingest --model none")
        )
    answer = _ask(engine, sample, request, model)
    data = current.model_copy(
        update={
            "domain": request.domain or (answer.domain or "").rstrip("."),
            "persona": request.persona or answer.persona,
            "language": request.language,
            "entity_types": _typed(answer.entity_types, request.entity_types),
            "relation_types": _distinct(answer.relation_types)[:MOST_RELATIONS],
            "tuned_by": None,
        }
    )
    after = llm_extractor(settings, model, data, guide)
    warnings = []
    if settings.extract.use in ("rules", "none"):
        detail = tr("extract.use is {use}: an ingest asks no model, and so no prompt")
        warnings.append({"type": "prompt_unused", "detail": detail.format(use=settings.extract.use)})
    usage, ended = since(spent, engine.budget.usage), current_time()
    return Outcome(request, model, sample, data, before, after, started, ended, usage, warnings)


def _ask(engine: Engine, sample: Sample, request: Request, model: str) -> _Answer:
    prompt = render(
        (prompt_folder(engine.settings, PIPELINE, PROMPT),),
        PROMPT,
        passages=[
            {"title": " ".join(passage.title.split()), "text": passage.text} for passage in sample.seen
        ],
        domain=request.domain,
        persona=request.persona,
        language=request.language,
        entity_types=request.entity_types,
        most_types=MOST_TYPES,
        most_relations=MOST_RELATIONS,
    )
    answer, _ = ask_for(
        engine.gateway,
        prompt,
        lambda completion: read_answer(completion.text, request),
        what="vocabulary",
        form='one JSON object with "domain", "persona", "entity_types" and "relation_types"',
        hint=tr("use a model that follows instructions better"),
        purpose="tune_prompts",
        model=model,
        json_mode=True,
    )
    return answer


def read_answer(text: str, request: Request) -> _Answer:
    """What an answer holds.

    Raises:
        ValueError: what it lacks of what the request does not give, without words of the answer.
    """
    items, _ = parse_items(text)
    item = next((item for item in items if isinstance(item, dict) and "relation_types" in item), None)
    if item is None:
        raise ValueError('there is no JSON object with "relation_types"')
    answer = in_form(_Answer, item)
    if request.domain is None and not _has_text(answer.domain):
        raise ValueError('"domain" has no text')
    if request.persona is None and not _has_text(answer.persona):
        raise ValueError('"persona" has no text')
    if not _distinct([*answer.entity_types, *answer.relation_types]):
        raise ValueError("there is no valid type or relation")
    return answer


def _has_text(value: str | None) -> bool:
    return value is not None and any(map(str.isalnum, value))


def _typed(kinds: Sequence[Kind], names: Sequence[str]) -> tuple[Kind, ...]:
    """The types of an answer, or those that a request names, with the meanings of the answer."""
    types = _distinct(kinds, phrases=False)
    if not names:
        return types[:MOST_TYPES]
    meanings = {fold(kind.name): kind.meaning for kind in types}
    return tuple(Kind(name=name, meaning=meanings.get(fold(name), "")) for name in names)


def _distinct(kinds: Sequence[Kind], *, phrases: bool = True) -> tuple[Kind, ...]:
    """Those with a plain name, each once.

    Args:
        phrases: names are those of relations.
    """
    distinct: dict[str, Kind] = {}
    for kind in kinds:
        name = predicate_phrase(kind.name) if phrases else kind.name
        if _PLAIN.fullmatch(name) and _has_text(name):
            distinct.setdefault(fold(name), Kind(name=name, meaning=kind.meaning))
    return tuple(distinct.values())


def prompt_text(extractor: LlmExtractor) -> str:
    """The extraction prompt, with placeholders for title and chunk."""
    return extractor.prompt(MARK, language=None, title=MARK)


def prompt_tokens(extractor: LlmExtractor) -> int:
    """The approximate number of tokens of the extraction prompt without a chunk."""
    return estimate_tokens([{"role": "user", "content": prompt_text(extractor)}])


# --- what --apply writes ------------------------------------------------------------------------------


def file_in(pipelines: Path) -> Path:
    """The file with the data of the extraction prompt, in a folder of pipelines."""
    return pipelines / "ingest" / FILE


def keep(engine: Engine, outcome: Outcome, path: Path) -> str:
    """Record the tuning and write the file; return the IRI of the tuning.

    Args:
        path: see `file_in`; an existing file is replaced.

    Raises:
        UsageError: when the file cannot be written; then nothing is recorded.
        StoreError: when the store cannot be written; then the file is not written.
    """
    activity = iris.prompt_tuning(outcome.after.prompt_hash).value
    with suppress(OSError):  # `whole_file` complains, too
        path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as stream:
        stream.write(as_yaml(outcome.data.model_copy(update={"tuned_by": activity})).encode())
        _record(engine, outcome)
    return activity


def _record(engine: Engine, outcome: Outcome) -> None:
    prompt = outcome.after.prompt_hash
    if engine.store.ask("tuning/tuned", prompt=iris.prompt(prompt)):
        return
    facts = TuningFacts(
        prompt=prompt,
        former=outcome.before.prompt_hash,
        text=engine.blobs.put(prompt_text(outcome.after)),
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
    engine.store.commit(Changes(add=[*prov.agent(COMPONENT, VERSION), *tuning(facts)], content=False))
