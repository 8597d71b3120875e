"""Grounding: what of the question to look for in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.lexicon import TAGGED_LANGUAGES, base_language, lexicon
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDFS, TG
from graphrag_rdf.steps.kinds import Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.search import entities_called
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step

_LANGUAGE_SHARE = 0.05  # of the documents in a language that the model is told


@item
class Concept:
    """A name or phrase that exploration searches for.

    Attributes:
        asked: the earlier question that it was taken from, if any.
    """

    JSON: ClassVar = ("=text",)

    text: str | None = said(RDFS.label, words=True)
    asked: NamedNode | None = said(PROV.wasDerivedFrom, default=None)
    iri: NamedNode | None = None


CONCEPT = ItemKind(
    "concept",
    "concepts",
    RAG.conceptTerm,
    RAG.ConceptTerm,
    Concept,
    compared=lambda concept: concept.text or "",
)


def _text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    concepts = step.items["concepts"]
    page.line(tr("    {count} concept(s)").format(count=len(concepts)))
    for concept in concepts:
        page.paragraph(concept.text or tr(ERASED), "      ", "- ")


GROUNDING = NodeKind(
    "grounding",
    TG.Grounding,
    "What of the question to search for.",
    items=(CONCEPT,),
    words=(TG.concept,),  # what TrustGraph's clients read of it
    text=_text,
    page=Path(__file__).with_name("grounding.html.j2"),
)


_LONGEST_NAME = 8  # words, or characters of scripts without spaces
_OF_ANSWER = 600  # characters of an earlier answer that are searched for names,
_FROM_ANSWER = 4  # and names taken from them
_PERSONS = ("he", "she", "they")
_POSSESSIVE = re.compile(r"(?:['’][sS]|(?<=[sS])['’])$")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+(?:['’.&-][^\W_]+)*")


class GroundParameters(StepParameters):
    """Of both ways."""

    max_concepts: Some = Field(12, description="names and phrases to search for")


def by_rules(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Names in the question: what looks like one, known names of any case; else its content words.

    A question that names nothing, or says "he" or "she", also takes the names of the question and answer
    before it in the session.
    """
    step = context.recorder.step(GROUNDING)
    context.recorder.say(step, RAG.mode, Literal("rules"))
    named = _names(context, state, step, state.question)
    origins = _inherited(context, state, step) if not named or _refers_back(state) else {}
    words = [] if named else analyse(state.question, state.language)
    state.concepts = list(dict.fromkeys([*named, *origins, *words]))[: parameters["max_concepts"]]
    state.also = tuple(origins)
    yield _finish(context, state, step, origins)


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Names of the question, and what the model lists, one concept a line: what the documents would say.

    It is told the languages of the documents.
    """
    step = context.recorder.step(GROUNDING)
    context.recorder.say(step, RAG.mode, Literal("llm"))
    text = ask_model(
        context,
        step,
        "concepts",
        prompt="concepts",
        question=state.question,
        history=state.conversation,
        max_concepts=parameters["max_concepts"],
        languages=_languages(context, step),
    )
    listed = [line.strip(" \t-*•·").strip() for line in text.splitlines()]
    state.also = tuple(line for line in listed if 0 < len(line) <= 200)[: parameters["max_concepts"]]
    named = _names(context, state, step, state.question)
    words = [] if named or state.also else analyse(state.question, state.language)
    state.concepts = list(dict.fromkeys([*named, *state.also, *words]))[: parameters["max_concepts"]]
    yield _finish(context, state, step)


def _languages(context: Context, step: Step) -> list[dict[str, str]]:
    """The languages of the documents, for the prompt, without those of a few among many."""
    rows = context.select(step, "documents/languages")
    least = _LANGUAGE_SHARE * sum(row["documents"] for row in rows)
    return [
        {"tag": row["language"] or "", "count": str(row["documents"])}
        for row in rows
        if row["documents"] >= least
    ]


def _finish(
    context: Context, state: State, step: Step, origins: Mapping[str, NamedNode] | None = None
) -> GraphRagResponse:
    """Record the concepts; `origins` tells which earlier question some were taken from."""
    for concept in state.concepts:
        context.recorder.say(step, TG.concept, Literal(concept))
    found = (Concept(concept, (origins or {}).get(concept)) for concept in state.concepts)
    context.recorder.items(step, CONCEPT, found)
    return context.recorder.finish(step)


def concepts_by_rules(context: Context, state: State, step: Step) -> list[str]:
    """Names in the question, else its content words; queries are recorded with the step."""
    names = _names(context, state, step, state.question)
    return names or list(dict.fromkeys(analyse(state.question, state.language)))


def _names(context: Context, state: State, step: Step, text: str) -> list[str]:
    sentences = split_sentences(text, state.language)
    named = [m.name for m in find_mentions(text, sentences, language=state.language)]
    known = _known_names(context, state, step, text)
    found = list(dict.fromkeys([*known, *named]))
    return [name for name in found if not any(_hides(longer, name) for longer in known)]


def _hides(longer: str, name: str) -> bool:
    """Whether a name is not looked for on its own as it is inside a longer one. It is within words that are
    not written like a name: "the survey vessel Halden".
    """
    apart = longer[:1].islower() and name[:1].isupper()
    return longer != name and name.lower() in longer.lower() and not apart


def _refers_back(state: State) -> bool:
    """Whether somebody is meant who was named before."""
    language = base_language(state.language)
    if not state.history or language not in TAGGED_LANGUAGES:
        return False
    pronouns = lexicon(language).pronouns
    return any(pronouns.get(word.lower()) in _PERSONS for word in _WORD.findall(state.question))


def _inherited(context: Context, state: State, step: Step) -> dict[str, NamedNode]:
    """Names of the newest question of the session that names something, and of the answers since."""
    found: dict[str, NamedNode] = {}
    for turn in reversed(state.history):
        asked = _names(context, state, step, turn.question)
        said = _names(context, state, step, turn.answer[:_OF_ANSWER])[:_FROM_ANSWER]
        found = dict.fromkeys([*asked, *said], turn.asked) | found
        if asked:
            break
    return found


def _known_names(context: Context, state: State, step: Step, question: str) -> list[str]:
    """The longest runs of words of a question, or of another text, that are names in the graph."""
    tokens = [match.span() for match in _WORD.finditer(question)]
    runs = {
        (start, end): _POSSESSIVE.sub("", question[tokens[start][0] : tokens[end - 1][1]])
        for start in range(len(tokens))
        for end in range(start + 1, min(start + _LONGEST_NAME, len(tokens)) + 1)
    }
    names = sorted(set(runs.values()))
    found = entities_called(names, partial(context.select, step), context.text_index, state.language)
    taken: list[tuple[int, int]] = []
    for (start, end), run in sorted(runs.items(), key=lambda item: (item[0][0] - item[0][1], item[0][0])):
        if run in found and analyse(run, None) and all(end <= a or b <= start for a, b in taken):
            taken.append((start, end))
    return [runs[span] for span in sorted(taken)]


# without the text index, or of names written together or apart
_BY_LABEL = ("retrieval/entities-by-label", "documents/languages")

GROUND = register(
    StepKind(
        "ground",
        GROUNDING,
        "Takes names and phrases from the question: what to search for.",
        {
            "rules": Way(by_rules, GroundParameters, templates=_BY_LABEL),
            "llm": Way(
                by_model,
                GroundParameters,
                needs_model=True,
                prompts={"concepts": "concepts.j2"},
                templates=_BY_LABEL,
            ),
        },
        auto=("rules", "llm"),
        finds=True,
    )
)
