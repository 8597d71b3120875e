"""`tune prompts`: what the extraction prompt is told of the documents, written by a model that looks at some.

Microsoft GraphRAG calls it auto tuning. Three things are asked: what the documents are about and whose eye
they need (`profile.j2`), which types and relations they speak of (`types.j2`), and, by the extraction prompt
itself, what stands in short excerpts. Of these answers only what holds becomes a worked example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import predicate_phrase
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.prompts import Kind, PromptData, WorkedExample, one_line
from graphrag_rdf.ingest.extractors import llm_extractor, prompt_folder
from graphrag_rdf.ingest.facts import candidate_filter
from graphrag_rdf.llm.jsonl import Section, parse_items, parse_sections
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.tuning.examples import shown, worked_example
from graphrag_rdf.tuning.sample import Passage, cover

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import Completion
    from graphrag_rdf.tuning.asking import Asking

PIPELINE = "tune_prompts"
MOST_TYPES, MOST_RELATIONS = 12, 20
"""Of a vocabulary: more would be a long prompt, and harder to keep to."""
TRIES = 2
"""Excerpts that are asked about for each example that is wanted."""
MARK = "…"
"""What stands in place of title and passage where a prompt is shown."""
FAILED = "failed_"
"""Begins the reason why an excerpt gave no example, when it is the kind of an `LlmError`."""

_SECTIONS = {
    "entity_types": Section(("entity_types", "types"), ("entity_type",)),
    "relation_types": Section(("relation_types", "relations", "predicates"), ("relation_type",)),
}
_PLAIN = re.compile(r"[^\"{}<>\[\]\\|]{1,60}")
_DOMAIN, _PERSONA, _MEANING = 200, 400, 200  # characters
_BETTER_MODEL = "use a model that follows instructions better"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user says of the prompt.

    Attributes:
        domain, persona: None has the model say it.
        language: of predicates, types and definitions; None for each passage's own.
        entity_types: given ones; empty has the model choose, if `discover`.
        examples: as many at most.
        max_tokens: of the prompt without a passage, about.
    """

    domain: str | None = None
    persona: str | None = None
    language: str | None = None
    entity_types: tuple[str, ...] = ()
    discover: bool = True
    examples: int = 3
    max_tokens: int = 4000


@dataclass(frozen=True, slots=True)
class Made:
    """What was made.

    Attributes:
        rejected: why excerpts gave no example: reason → how many.
        too_long: tokens of the prompt, when it is longer than wanted even without examples.
    """

    data: PromptData
    rejected: Mapping[str, int]
    too_long: int | None = None


class Tuner:
    """Makes the data of a prompt.

    Args:
        model: its name; also that of the extraction.
        asking: has the calls made.
    """

    def __init__(self, settings: Settings, gateway: LlmGateway, model: str, asking: Asking) -> None:
        self._settings, self._gateway, self._model, self._asking = settings, gateway, model, asking
        self._candidate_filter = candidate_filter(settings)

    def make(self, seen: Sequence[Passage], excerpts: Sequence[Passage], wishes: Wishes) -> Made:
        """Ask what there is to ask.

        Args:
            seen: passages to look at.
            excerpts: of them, from which examples are made.

        Raises:
            LlmError: a call failed, or its answer cannot be read (and is asked for again by another run).
            KeyboardInterrupt: when it should end.
        """
        domain, persona = self._profile(seen, wishes)
        entity_types, relation_types = self._types(seen, wishes, domain, persona)
        data = PromptData(
            domain=domain,
            persona=persona,
            language=wishes.language,
            entity_types=entity_types,
            relation_types=relation_types,
        )
        examples, rejected = self._examples(excerpts, data, wishes.examples)
        for number in range(len(examples), -1, -1):
            whole = data.model_copy(update={"examples": tuple(examples[:number])})
            tokens = prompt_tokens(llm_extractor(self._settings, self._model, whole))
            if tokens <= wishes.max_tokens:
                if number < len(examples):
                    rejected["prompt_too_long"] = len(examples) - number
                return Made(whole, rejected)
        return Made(data, {**rejected, "prompt_too_long": len(examples)} if examples else rejected, tokens)

    # --- what it is about --------------------------------------------------------------------------

    def _profile(self, seen: Sequence[Passage], wishes: Wishes) -> tuple[str, str]:
        if wishes.domain is not None and wishes.persona is not None:
            return wishes.domain, wishes.persona
        answer = self._asking.one(
            "profile", lambda: self._ask("profile", profile_prompt(self._settings, seen, wishes))
        )
        items, _ = parse_items(answer.text)
        found = next((item for item in items if isinstance(item, dict) and item.get("persona")), {})
        domain = wishes.domain or (_cut(found.get("domain"), _DOMAIN) or "").rstrip(".")
        persona = wishes.persona or _cut(found.get("persona"), _PERSONA)
        if not domain or not persona:
            raise self._useless(
                answer, "domain and persona", f"{_BETTER_MODEL}, or give it by --domain and --persona"
            )
        return domain, persona

    def _types(
        self, seen: Sequence[Passage], wishes: Wishes, domain: str, persona: str
    ) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
        prompt = types_prompt(self._settings, seen, wishes, domain, persona)
        answer = self._asking.one("types", lambda: self._ask("types", prompt))
        try:
            found, _ = parse_sections(answer.text, _SECTIONS)
        except LlmError:
            self._gateway.discard(answer)
            raise
        types = _kinds(found["entity_types"])
        relations = _kinds(found["relation_types"], lower=True)[:MOST_RELATIONS]
        if not types and not relations:
            raise self._useless(answer, "type or relation that could be one", _BETTER_MODEL)
        if wishes.entity_types:
            meant = {fold(kind.name): kind.meaning for kind in types}
            types = [Kind(name=name, meaning=meant.get(fold(name), "")) for name in wishes.entity_types]
        elif not wishes.discover:
            types = []
        else:
            types = types[:MOST_TYPES]
        return tuple(types), tuple(relations)

    def _useless(self, answer: Completion, missing: str, hint: str) -> LlmError:
        """Why an answer will not do; it is forgotten, so that another run asks again."""
        self._gateway.discard(answer)
        return LlmError(f"the model's answer holds no {missing}: {answer.text[:200]!r}", "unparsable", hint)

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
                error.hint = f"{error.hint}; or look at fewer passages: --limit"
            raise

    # --- worked examples ---------------------------------------------------------------------------

    def _examples(
        self, excerpts: Sequence[Passage], data: PromptData, wanted: int
    ) -> tuple[list[WorkedExample], dict[str, int]]:
        """The examples that show the most together, and why other excerpts gave none."""
        tried = excerpts[: wanted * TRIES]
        extractor = llm_extractor(self._settings, self._model, data)
        found: dict[WorkedExample, set[str]] = {}
        rejected: dict[str, int] = {}
        asked = 0
        while asked < len(tried) and len(found) < wanted:
            batch = tried[asked : asked + wanted - len(found)]
            asked += len(batch)
            for excerpt, outcome in self._asking.many(
                "examples", lambda one: self._extract(extractor, one), batch
            ):
                made = (
                    f"{FAILED}{outcome.kind}"
                    if isinstance(outcome, LlmError)
                    else worked_example(excerpt, outcome, self._candidate_filter)
                )
                if isinstance(made, str):
                    rejected[made] = rejected.get(made, 0) + 1
                else:
                    found[made] = shown(made)
        self._asking.skip(len(tried) - asked)
        return cover(found, wanted), rejected

    def _extract(self, extractor: LlmExtractor, excerpt: Passage) -> Extraction:
        found, _ = extractor.extract(
            excerpt.text, language=excerpt.language, title=excerpt.title, gateway=self._gateway
        )
        return found


def example_tries(excerpts: int, wishes: Wishes) -> int:
    """How many excerpts are asked about at most."""
    return min(excerpts, wishes.examples * TRIES)


def profile_prompt(settings: Settings, seen: Sequence[Passage], wishes: Wishes) -> str:
    """What is asked about the documents as a whole."""
    return render(
        (prompt_folder(settings, PIPELINE, "profile.j2"),),
        "profile.j2",
        passages=_shown_passages(seen),
        domain=wishes.domain,
    )


def types_prompt(
    settings: Settings, seen: Sequence[Passage], wishes: Wishes, domain: str | None, persona: str | None
) -> str:
    """What is asked about types and relations."""
    return render(
        (prompt_folder(settings, PIPELINE, "types.j2"),),
        "types.j2",
        passages=_shown_passages(seen),
        domain=domain,
        persona=persona,
        language=wishes.language,
        entity_types=wishes.entity_types,
        discover=wishes.discover,
        most_types=MOST_TYPES,
        most_relations=MOST_RELATIONS,
    )


def prompt_text(extractor: LlmExtractor) -> str:
    """The extraction prompt, with marks in place of title and passage."""
    return extractor.prompt(MARK, language=None, title=MARK)


def prompt_tokens(extractor: LlmExtractor) -> int:
    """About how many tokens the extraction prompt has without a passage."""
    return estimate_tokens([{"role": "user", "content": prompt_text(extractor)}])


def _shown_passages(passages: Sequence[Passage]) -> list[dict[str, str]]:
    return [{"title": " ".join(passage.title.split()), "text": passage.text} for passage in passages]


def _kinds(items: Sequence[Any], *, lower: bool = False) -> list[Kind]:
    """Types or relations of an answer, each once; what cannot be a name is left out."""
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
    """Items; one by one those of an object with a meaning for each name, or of a text instead of a list."""
    if len(items) == 1 and isinstance(items[0], str):
        yield from items[0].split(",")
        return
    for item in items:
        if isinstance(item, dict) and not item.keys() & {"name", "entity_type", "relation_type"}:
            yield from ({"name": name, "meaning": meaning} for name, meaning in item.items())
        else:
            yield item


def _cut(value: object, length: int) -> str | None:
    """A text on one line, of so many characters at most, ended at a sentence or a word; None without any."""
    text = one_line(value) if isinstance(value, str) else ""
    if not any(map(str.isalnum, text)):
        return None
    if len(text) <= length:
        return text
    head = text[: length - 1]
    whole, _, _ = head.rpartition(". ")
    return f"{whole}." if whole else f"{head.rpartition(' ')[0] or head}…"
