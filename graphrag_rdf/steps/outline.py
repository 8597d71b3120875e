"""An overview as an answer: what the groups of a store are about, one line each.

Without a model each line is the title of a report and its first finding, which is cited by what it rests on;
where there are no reports, the strongest facts of the main entities are quoted. A model writes from the same.
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

    lines: Some = Field(10, description="groups, or facts, that the overview names")
    suggestions: Few = Field(0, description="questions to ask next, from facts")


def quotes(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """A line for each report: its title, and its first finding. Without reports, facts."""
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
        lines = [_fact(state, one) for one in state.selections[: parameters["lines"]]]
    text = "\n".join(lines)
    yield context.recorder.text_chunk(text)
    yield from finish_with_suggestions(context, state, parameters, step, text)


def _firsts(points: Sequence[Point]) -> list[Point]:
    """The first finding of each report; its summary if no finding had room."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.head, []).append(point)
    return [own[min(1, len(own) - 1)] for own in found.values()]


def _fact(state: State, selection: Selection) -> str:
    number = cite(state, selection)
    quoted = next((source.quote for source in selection.sources if source.quote), None)
    said = quoted or (selection.edge.text if selection.edge else "")
    return f"{_ended(' '.join(said.split()))} [{number}]"


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
