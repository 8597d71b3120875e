"""`tune prompts`: from a sample of documents, a model writes what the prompts of the ingest are told of them.

Microsoft GraphRAG calls it auto tuning. There are four kinds of calls: the topic of the documents and the
role of the reader (`profile.j2`), the types of entities and relations (`types.j2`), what claims and reports
should look for (`focus.j2`), and readings of short excerpts with the prompts of extraction and claims. What
of these readings is verified becomes examples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import predicate_phrase
from graphrag_rdf.extract.evidence import locate
from graphrag_rdf.extract.model import EntityCandidate, Extraction, RelationCandidate
from graphrag_rdf.extract.names import fold, match_key
from graphrag_rdf.extract.prompts import (
    ClaimExample,
    ExampleClaim,
    ExampleEntity,
    ExampleRelation,
    Kind,
    PromptData,
    WorkedExample,
    one_line,
)
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.extractors import claim_reader, llm_extractor, prompt_folder
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.llm.jsonl import Section, parse_items, parse_sections
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.tuning.sample import Passage, cover

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.extract.claims import ClaimAnswer, ClaimReader
    from graphrag_rdf.extract.guided import Guide
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import Completion
    from graphrag_rdf.tuning.prompt_check import Asking

E = TypeVar("E", WorkedExample, ClaimExample)
F = TypeVar("F")

PIPELINE = "tune_prompts"
MOST_TYPES, MOST_RELATIONS = 12, 20
"""Limits of the vocabulary: more would make the prompt long and hard to follow."""
TRIES = 2
"""Number of excerpts to try for each wanted example."""
MARK = "…"
"""Placeholder for title and chunk in a printed prompt."""
FAILED = "failed_"
"""Prefix of the kind of an `LlmError`, as the reason why an excerpt gave no example."""

_SECTIONS = {
    "entity_types": Section(("entity_types", "types"), ("entity_type",)),
    "relation_types": Section(("relation_types", "relations", "predicates"), ("relation_type",)),
}
_PLAIN = re.compile(r"[^\"{}<>\[\]\\|]{1,60}")
_DOMAIN, _PERSONA, _MEANING = 200, 400, 200  # characters
_BETTER_MODEL = later("use a model that follows instructions better")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The user's options for the prompt.

    Attributes:
        domain, persona: None lets the model decide.
        language: of predicates, types and definitions; None for that of each chunk.
        entity_types: empty lets the model decide, if `discover`.
        examples: maximum number, of each kind.
        claims: also fit the prompt of claims.
        reports: also fit the prompt of reports of communities.
    """

    domain: str | None = None
    persona: str | None = None
    language: str | None = None
    entity_types: tuple[str, ...] = ()
    discover: bool = True
    examples: int = 3
    claims: bool = False
    reports: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """The data of a tuned prompt.

    Attributes:
        rejected: reason why excerpts gave no example → their number.
    """

    data: PromptData
    rejected: Mapping[str, int]


class Tuner:
    """Creates the data of a prompt.

    Args:
        model: its name, also for the extraction.
        asking: makes the calls.
        guide: the ontology that guides the extraction.
    """

    def __init__(
        self,
        settings: Settings,
        gateway: LlmGateway,
        model: str,
        asking: Asking,
        guide: Guide | None = None,
    ) -> None:
        self._guide = guide
        self._settings, self._gateway, self._model, self._asking = settings, gateway, model, asking
        self._candidate_filter = CandidateFilter(settings.extract.entity_min_length)

    def make(self, seen: Sequence[Passage], excerpts: Sequence[Passage], wishes: Wishes) -> Made:
        """Make all calls.

        Args:
            seen: the sampled chunks.
            excerpts: of them, for examples.

        Raises:
            LlmError: a call failed, or its answer cannot be parsed (another run makes the call again).
            KeyboardInterrupt: after a stop.
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
        data = data.model_copy(update=self._focus(seen, wishes, domain, persona))
        extractor = llm_extractor(self._settings, self._model, data, self._guide)
        examples, rejected = self._examples(
            excerpts, wishes.examples, lambda one: self._extract(extractor, one), self._worked, shown
        )
        data = data.model_copy(update={"examples": tuple(examples)})
        if wishes.claims:
            reader = claim_reader(self._settings, self._model, data)
            told, more = self._examples(
                excerpts, wishes.examples, lambda one: self._claims(reader, one), claim_example, claims_shown
            )
            data = data.model_copy(update={"claim_examples": tuple(told)})
            rejected = dict(Counter(rejected) + Counter(more))
        return Made(data, rejected)

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
                answer,
                "domain and persona",
                tr("use a model that follows instructions better, or give --domain and --persona"),
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
            raise self._useless(answer, "valid type or relation", tr(_BETTER_MODEL))
        if wishes.entity_types:
            meant = {fold(kind.name): kind.meaning for kind in types}
            types = [Kind(name=name, meaning=meant.get(fold(name), "")) for name in wishes.entity_types]
        elif not wishes.discover:
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

    # --- worked examples ---------------------------------------------------------------------------

    def _examples(
        self,
        excerpts: Sequence[Passage],
        wanted: int,
        read: Callable[[Passage], F],
        worked: Callable[[Passage, F], E | str],
        shown: Callable[[E], set[str]],
    ) -> tuple[list[E], dict[str, int]]:
        """The examples that together show the most, and the reasons why other excerpts gave none.

        Args:
            read: reads an excerpt with the model.
            worked: an example from what was read, or the reason why there is none.
            shown: what an example shows.
        """
        tried = excerpts[: wanted * TRIES]
        found: dict[E, set[str]] = {}
        rejected: dict[str, int] = {}
        asked = 0
        while asked < len(tried) and len(found) < wanted:
            batch = tried[asked : asked + wanted - len(found)]
            asked += len(batch)
            for excerpt, outcome in self._asking.many("examples", read, batch):
                made = (
                    f"{FAILED}{outcome.kind}" if isinstance(outcome, LlmError) else worked(excerpt, outcome)
                )
                if isinstance(made, str):
                    rejected[made] = rejected.get(made, 0) + 1
                else:
                    found[made] = shown(made)
        self._asking.skip(len(tried) - asked)
        return cover(found, wanted), rejected

    def _worked(self, excerpt: Passage, found: Extraction) -> WorkedExample | str:
        return worked_example(excerpt, found, self._candidate_filter)

    def _extract(self, extractor: LlmExtractor, excerpt: Passage) -> Extraction:
        found, _ = extractor.extract(
            excerpt.text, language=excerpt.language, title=excerpt.title, gateway=self._gateway
        )
        return found

    def _claims(self, reader: ClaimReader, excerpt: Passage) -> ClaimAnswer:
        return reader.read(excerpt.text, self._gateway, title=excerpt.title, names=())

    def _focus(
        self, seen: Sequence[Passage], wishes: Wishes, domain: str, persona: str
    ) -> dict[str, str | None]:
        """What counts as a claim, and what makes a group important."""
        if not (wishes.claims or wishes.reports):
            return {}
        prompt = focus_prompt(self._settings, seen, domain, persona)
        answer = self._asking.one("focus", lambda: self._ask("focus", prompt))
        items, _ = parse_items(answer.text)
        found = next((item for item in items if isinstance(item, dict)), {})
        claims = _cut(found.get("claims"), _PERSONA) if wishes.claims else None
        importance = _cut(found.get("importance"), _PERSONA) if wishes.reports else None
        if (wishes.claims and not claims) or (wishes.reports and not importance):
            raise self._useless(
                answer,
                "claims and importance",
                tr("use a model that follows instructions better, or use --no-claims --no-reports"),
            )
        return {"claim_description": claims, "importance": importance}


def example_tries(excerpts: int, wishes: Wishes) -> int:
    """Maximum number of excerpts to try, for examples of each kind."""
    return min(excerpts, wishes.examples * TRIES)


def focus_prompt(settings: Settings, seen: Sequence[Passage], domain: str | None, persona: str | None) -> str:
    """The prompt for what claims and reports should look for."""
    return render(
        (prompt_folder(settings, PIPELINE, "focus.j2"),),
        "focus.j2",
        passages=_shown_passages(seen),
        domain=domain,
        persona=persona,
    )


def profile_prompt(settings: Settings, seen: Sequence[Passage], wishes: Wishes) -> str:
    """The prompt for topic and persona."""
    return render(
        (prompt_folder(settings, PIPELINE, "profile.j2"),),
        "profile.j2",
        passages=_shown_passages(seen),
        domain=wishes.domain,
    )


def types_prompt(
    settings: Settings, seen: Sequence[Passage], wishes: Wishes, domain: str | None, persona: str | None
) -> str:
    """The prompt for types and relations."""
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


# --- examples --------------------------------------------------------------------------------------


LEAST_RELATIONS = 2
"""Minimum number of relations of an example."""

_DATATYPES = {"gYear": "year", "integer": "integer", "decimal": "decimal", "boolean": "boolean"}


def worked_example(
    excerpt: Passage, found: Extraction, candidate_filter: CandidateFilter
) -> WorkedExample | str:
    """An example from the verified facts of an answer, or the reason why there is none.

    It has only entities that the excerpt names, relations between them with a quote from the excerpt, and
    only what the ingest would accept. A quote that differs in spaces or marks is replaced by the excerpt's
    text.
    """
    named, fit = fold(excerpt.text), candidate_filter.fit(found)
    entities = {match_key(one.name): one for one in fit.entities if fold(one.name) in named}
    relations: dict[tuple[str, ...], ExampleRelation] = {}
    for relation in fit.relations:
        place = locate(relation.quote, excerpt.text) if relation.quote else None
        ends = [relation.subject, *([relation.object] if relation.object_is_entity else [])]
        if place is not None and all(match_key(name) in entities for name in ends):
            quote = excerpt.text[place.offset : place.offset + place.length]
            key = (*map(match_key, (relation.subject, relation.object)), relation.predicate, quote)
            relations.setdefault(key, _relation(relation, quote))
    if len(relations) < LEAST_RELATIONS:
        return "too_few_facts_hold" if found.relations else "no_facts"
    try:
        return WorkedExample(
            text=excerpt.text,
            source=excerpt.chunk.value,
            entities=tuple(_entity(one, excerpt.text, named, candidate_filter) for one in entities.values()),
            relations=tuple(relations.values()),
        )
    except ValidationError:
        return "not_valid"


def _entity(one: EntityCandidate, text: str, named: str, candidate_filter: CandidateFilter) -> ExampleEntity:
    aliases = tuple(
        alias for alias in one.aliases if fold(alias) in named and not candidate_filter.unfit(alias)
    )
    place = locate(one.quote, text) if one.definition and one.quote else None
    return ExampleEntity(
        name=one.name,
        type=one.type,
        definition=one.definition if place else None,
        definition_evidence=text[place.offset : place.offset + place.length] if place else None,
        aliases=aliases,
    )


def _relation(one: RelationCandidate, quote: str) -> ExampleRelation:
    datatype = None
    if not one.object_is_entity:
        name = (one.datatype or "").rpartition("#")[2]
        datatype = _DATATYPES.get(name, "date" if name else "string")
    return ExampleRelation.model_validate(
        {
            "subject": one.subject,
            "predicate": one.predicate,
            "object": one.object,
            "object_is_entity": one.object_is_entity,
            "datatype": datatype,
            "evidence": quote,
            "confidence": 1.0 if one.confidence is None else one.confidence,
        }
    )


def claim_example(excerpt: Passage, found: ClaimAnswer) -> ClaimExample | str:
    """An example from the verified claims of an answer, or the reason why there is none.

    It has only claims whose quotes are all in the excerpt, and whose subject the excerpt names.
    """
    named = fold(excerpt.text)
    claims = []
    for claim in found.claims.values():
        places = [locate(quote, excerpt.text) for quote in claim.quotes]
        if fold(claim.subject) in named and all(places):
            quotes = [excerpt.text[one.offset : one.offset + one.length] for one in places if one]
            claims.append(
                ExampleClaim(
                    subject=claim.subject,
                    object=claim.object,
                    type=claim.type,
                    status=claim.status,  # type: ignore[arg-type]
                    start=claim.start.lexical if claim.start else None,
                    end=claim.end.lexical if claim.end else None,
                    description=claim.description,
                    quotes=tuple(dict.fromkeys(quotes)),
                )
            )
    if not claims:
        return "no_claim_holds" if found.claims else "no_claims"
    try:
        return ClaimExample(text=excerpt.text, source=excerpt.chunk.value, claims=tuple(claims))
    except ValidationError:
        return "not_valid"


def claims_shown(example: ClaimExample) -> set[str]:
    """The types and statuses in an example."""
    return {
        f"{what} {value}"
        for one in example.claims
        for what, value in (("type", one.type), ("status", one.status))
    }


def shown(example: WorkedExample) -> set[str]:
    """The types, relations, datatypes and aliases in an example."""
    shown = {f"type {entity.type}" for entity in example.entities if entity.type}
    shown |= {f"predicate {relation.predicate}" for relation in example.relations}
    shown |= {f"value {relation.datatype}" for relation in example.relations if relation.datatype}
    return shown | ({"alias"} if any(entity.aliases for entity in example.entities) else set())
