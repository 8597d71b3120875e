"""Grounding: what of the question to look for in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyoxigraph import Literal

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.models import ask_model
from graphrag_rdf.steps.names import entities_called
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step

_LONGEST_NAME = 8  # words, or characters of scripts without spaces
_POSSESSIVE = re.compile(r"(?:['’][sS]|(?<=[sS])['’])$")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+(?:['’.&-][^\W_]+)*")


def by_rules(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Names in the question: what looks like one, known names of any case; else its content words."""
    step = context.recorder.step("grounding", TG.Grounding)
    context.recorder.say(step, RAG.mode, Literal("rules"))
    state.concepts = _concepts(context, state, step)[: parameters["max_concepts"]]
    yield _finish(context, state, step)


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """What the model lists, one concept a line; names of the question that it left out are added."""
    step = context.recorder.step("grounding", TG.Grounding)
    context.recorder.say(step, RAG.mode, Literal("llm"))
    text = ask_model(
        context,
        step,
        "concepts",
        question=state.question,
        max_concepts=parameters["max_concepts"],
    )
    listed = [line.strip(" \t-*•·").strip() for line in text.splitlines()]
    found = [line for line in listed if 0 < len(line) <= 200]
    state.concepts = list(dict.fromkeys([*found, *_concepts(context, state, step)]))[
        : parameters["max_concepts"]
    ]
    yield _finish(context, state, step)


def _finish(context: Context, state: State, step: Step) -> GraphRagResponse:
    for index, concept in enumerate(state.concepts):
        context.recorder.say(step, TG.concept, Literal(concept))
        context.recorder.item(
            step,
            RAG.conceptTerm,
            "concept",
            index,
            (RDF.type, RAG.ConceptTerm),
            (RDFS.label, Literal(concept)),
            (RAG.index, integer(index)),
        )
    return context.recorder.finish(step)


def _concepts(context: Context, state: State, step: Step) -> list[str]:
    question = state.question
    sentences = split_sentences(question, state.language)
    named = [m.name for m in find_mentions(question, sentences, language=state.language)]
    known = _known_names(context, state, step)
    concepts = list(dict.fromkeys([*known, *named]))
    # a name inside a longer one is not looked for on its own
    concepts = [c for c in concepts if not any(c != other and c.lower() in other.lower() for other in known)]
    return concepts or list(dict.fromkeys(analyse(question, state.language)))


def _known_names(context: Context, state: State, step: Step) -> list[str]:
    """The longest runs of words of the question that are names in the graph."""
    question = state.question
    tokens = [match.span() for match in _WORD.finditer(question)]
    runs = {
        (start, end): _POSSESSIVE.sub("", question[tokens[start][0] : tokens[end - 1][1]])
        for start in range(len(tokens))
        for end in range(start + 1, min(start + _LONGEST_NAME, len(tokens)) + 1)
    }
    found = entities_called(
        sorted(set(runs.values())),
        store=context.store,
        index=context.text_index,
        language=state.language,
        queried=lambda query: context.recorder.queried(step, query),
    )
    taken: list[tuple[int, int]] = []
    for (start, end), run in sorted(runs.items(), key=lambda item: (item[0][0] - item[0][1], item[0][0])):
        if run in found and analyse(run, None) and all(end <= a or b <= start for a, b in taken):
            taken.append((start, end))
    return [runs[span] for span in sorted(taken)]
