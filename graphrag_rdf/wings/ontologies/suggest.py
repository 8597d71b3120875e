"""`ontology suggest`: a draft from the facts, whose terms a model names and groups, if there is one.

The model is asked once about all terms, and a second time if its answer cannot be read. It sees each term
with its number and examples under an id. Groups of unknown ids, of classes with properties, and of properties
of things with properties of values are left out and counted. What it does not
group stays as the rules have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, StringConstraints
from pyoxigraph import Literal, RdfFormat, Triple, serialize

from graphrag_rdf import __version__
from graphrag_rdf.extract.prompts import one_line
from graphrag_rdf.i18n import later
from graphrag_rdf.ingest.extractors import prompt_folder
from graphrag_rdf.llm.budget import LlmUsage, since
from graphrag_rdf.llm.question import Question
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.wings.ontologies.draft import (
    DraftReport,
    DraftRequest,
    Found,
    Group,
    draft,
    find_terms,
    terms_of,
)

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_EXAMPLES, _LONGEST = 1, 200
_PREFIXES = ("dcterms", "owl", "rag", "rdf", "rdfs", "schema", "skos", "xsd")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A drafted ontology.

    Attributes:
        dropped: reason → number of groups or ids of the model that were left out.
        model: that named the terms; None without one.
    """

    triples: list[Triple]
    report: DraftReport
    dropped: Mapping[str, int] = field(default_factory=dict)
    model: str | None = None
    llm: LlmUsage = field(default_factory=LlmUsage)

    def as_turtle(self) -> bytes:
        """The ontology as a file."""
        prefixes = {"": terms_of(self.report.ontology), **{name: PREFIXES[name] for name in _PREFIXES}}
        return serialize(self.triples, format=RdfFormat.TURTLE, prefixes=prefixes) or b""

    def as_json(self) -> dict[str, Any]:
        """The keys of `ontology suggest --counts`."""
        told = {"dropped": dict(self.dropped), "model": self.model, "llm": asdict(self.llm)}
        return {**asdict(self.report), **told}


def suggest_ontology(engine: Engine, ontology: str, request: DraftRequest) -> Suggestion:
    """Draft an ontology from the facts of a store. Nothing is written into the store.

    Args:
        ontology: its IRI.

    Raises:
        UsageError: nothing is frequent enough, or `ontology` is no IRI.
        LlmError: the model failed, or its second answer cannot be read either.
    """
    settings, spent = engine.settings, engine.budget.usage
    groups, left_out = find_terms(engine.store, settings.extract.namespace, request)
    draft(engine.store, [], ontology, "", request)  # before a model is asked
    dropped: Counter[str] = Counter()
    if settings.llm.model:
        groups, dropped = _named_by_model(engine, groups, settings.llm.model)
    by = f"grouped and named by {settings.llm.model}" if settings.llm.model else "grouped by rules"
    about = (
        f"Drafted by graphrag-rdf {__version__} from facts of documents, {by}: "
        f"types and relations found {request.least} times at least."
    )
    triples, report = draft(engine.store, groups, ontology, about, request)
    report.left_out = left_out
    return Suggestion(triples, report, dropped, settings.llm.model, since(spent, engine.budget.usage))


# --- the model -----------------------------------------------------------------------------------------


def _ids(value: object) -> object:
    return value if isinstance(value, list) else [value]


_Line = Annotated[str, BeforeValidator(lambda value: one_line(value) if isinstance(value, str) else value)]
_Name = Annotated[_Line, StringConstraints(min_length=1, max_length=60)]
_Text = Annotated[_Line, StringConstraints(max_length=400)]


class _AnsweredGroup(BaseModel):
    """A group as models write it."""

    name: _Name
    ids: Annotated[list[str], BeforeValidator(_ids)] = Field(
        validation_alias=AliasChoices("ids", "id", "terms")
    )
    parent: _Text | None = None
    meaning: _Text | None = Field(None, validation_alias=AliasChoices("meaning", "comment", "definition"))


class _Answer(BaseModel):
    classes: list[_AnsweredGroup] = []
    properties: list[_AnsweredGroup] = []


_PIPELINE, _PROMPT = "suggest_ontology", "terms.j2"
_QUESTION = Question(
    _Answer,
    keys=("classes", "properties"),
    what="draft of an ontology",
    form='one JSON object with "classes" and "properties"',
    purpose="ontology draft",
    hint=later("use a model that follows instructions better, or none: --model none"),
)


def _named_by_model(engine: Engine, groups: Sequence[Group], model: str) -> tuple[list[Group], Counter[str]]:
    """The groups as a model has them."""
    known = dict(zip(_numbered(groups), groups, strict=True))
    prompt = render(
        (prompt_folder(engine.settings, _PIPELINE, _PROMPT),),
        _PROMPT,
        classes=[_shown(engine, key, group) for key, group in known.items() if group.kind == "class"],
        properties=[_shown(engine, key, group) for key, group in known.items() if group.kind != "class"],
    )
    answer = _QUESTION.ask(engine.gateway, prompt, model)
    dropped: Counter[str] = Counter()
    named = list(_regrouped(answer, known, dropped))
    taken = {member.iri for group in named for member in group.members}
    rest = [group for group in groups if group.members[0].iri not in taken]
    return sorted([*named, *rest], key=lambda group: (-group.count, group.name.value)), dropped


def _numbered(groups: Sequence[Group]) -> Iterator[str]:
    numbers: Counter[str] = Counter()
    for group in groups:
        letter = "c" if group.kind == "class" else "p"
        numbers[letter] += 1
        yield f"{letter}{numbers[letter]}"


def _shown(engine: Engine, key: str, group: Group) -> dict[str, Any]:
    """An entry of the prompt."""
    if group.kind == "class":
        rows = engine.store.select("ontology/draft-things", types=group.iris, limit=3)
        examples = [row["name"].value for row in rows]
    else:
        limits = {"sample": 200, "longest": _LONGEST, "limit": _EXAMPLES}
        rows = engine.store.select("ontology/draft-evidence", relations=group.iris, **limits)
        examples = [row["quote"].value for row in rows]
    return {
        "id": key,
        "name": one_line(group.name.value)[:_LONGEST],
        "count": group.count,
        "to": "values" if group.kind == "value" else "things",
        "examples": [one_line(example)[:_LONGEST] for example in examples],
    }


def _regrouped(answer: _Answer, known: Mapping[str, Group], dropped: Counter[str]) -> Iterator[Group]:
    """The groups of an answer that hold."""
    free = dict(known)
    for said in [*answer.classes, *answer.properties]:
        members = [free.pop(key) for key in dict.fromkeys(said.ids) if key in free]
        if missing := len(said.ids) - len(members):
            dropped["unknown_or_repeated_id"] += missing
        kinds = {group.kind for group in members}
        if len(kinds) > 1:
            dropped["mixed_group"] += 1
        if len(kinds) != 1:
            continue
        found: list[Found] = [member for group in members for member in group.members]
        found.sort(key=lambda member: -member.count)
        name = Literal(said.name, language=members[0].name.language)
        yield replace(
            members[0],
            name=name,
            members=tuple(found),
            comment=said.meaning or "",
            parent=(said.parent or "") if kinds == {"class"} else "",
        )
