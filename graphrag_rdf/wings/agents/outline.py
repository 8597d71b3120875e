"""An overview as an answer: what the groups of a store are about, one line each.

Without a model each line is the title of a report and its first finding, cited by what it rests on, or,
where there are no reports, the name of a main entity and its strongest fact. A model writes from the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from graphrag_rdf.steps.evidence import Point
from graphrag_rdf.steps.findings import cite_findings
from graphrag_rdf.steps.kinds import Few, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.selection import cite, record_selections
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.steps.synthesise import SYNTHESISE, begin_answer, finish_with_suggestions
from graphrag_rdf.trace.messages import GraphRagResponse

_FULL_STOPS = ".!?。！？…"


class OutlineParameters(StepParameters):
    """Of the outline that quotes."""

    lines: Some = Field(10, description="groups, or entities, that the overview names")
    suggestions: Few = Field(0, description="questions to ask next, from facts")


def quotes(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """A line for each report: its title, and its first finding. Without reports, for each main entity."""
    step = begin_answer(context, state, "extractive")
    firsts = _firsts(state.points)[: parameters["lines"]]
    if firsts:
        cited = {
            number: (f"{point.head}\n{point.text}", point.rests, 1.0)
            for number, point in enumerate(firsts, start=1)
        }
        record_selections(context, step, cite_findings(state, cited), first=state.selected)
        lines = [
            f"{point.head}: {_ended(point.detail or point.text)} [{n}]"
            for n, point in enumerate(firsts, start=1)
        ]
    else:
        facts = _of_entities(state)[: parameters["lines"]]
        lines = [
            f"{name}: {_ended(sentence)} [{cite(state, selection)}]" for name, sentence, selection in facts
        ]
    text = "\n".join(lines)
    yield context.recorder.text_chunk(text)
    yield from finish_with_suggestions(context, state, parameters, step, text)


def _firsts(points: Sequence[Point]) -> list[Point]:
    """The first finding of each report; its summary if no finding had room."""
    by_head: dict[str, list[Point]] = {}
    for point in points:
        by_head.setdefault(point.head, []).append(point)
    return [own[min(1, len(own) - 1)] for own in by_head.values()]


def _of_entities(state: State) -> list[tuple[str, str, Selection]]:
    """The name of each main entity, and its strongest fact that is not quoted yet: words, selection."""
    by_words: dict[str, tuple[str, str, Selection]] = {}  # by the words
    for seed in state.seeds:
        for selection in state.selections:
            if selection.edge and seed.entity in (selection.edge.origin, *selection.edge.triple):
                quoted = next((source.quote for source in selection.sources if source.quote), None)
                sentence = " ".join((quoted or selection.edge.text).split())
                if sentence not in by_words:
                    by_words[sentence] = seed.label, sentence, selection
                    break
    return list(by_words.values())


def _ended(text: str) -> str:
    return text if text[-1:] in _FULL_STOPS else f"{text}."


OUTLINE = register(
    StepKind(
        "outline",
        SYNTHESISE.node,
        "Answers with an overview of what was selected, and cites it.",
        {
            "quotes": Way(
                quotes,
                OutlineParameters,
                templates=("documents/named-alike", "retrieval/labels", "retrieval/edges", "retrieval/names"),
            ),
            "llm": SYNTHESISE.ways["llm"],
        },
        auto=("quotes", "llm"),
    )
)
