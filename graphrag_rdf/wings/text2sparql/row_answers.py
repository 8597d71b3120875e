"""Answers from the rows of a query: a model writes one, or the rows are listed; each row cites its facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import text_of, to_sparql_json
from graphrag_rdf.steps.answer import SYNTHESIS, finish_answer, read_answer
from graphrag_rdf.steps.checking import SENTINEL, nothing_found
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.kinds import Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.labels import labels_of
from graphrag_rdf.steps.prompts import complete
from graphrag_rdf.steps.sources import OF_FACTS, attach_sources
from graphrag_rdf.steps.state import Context, Parameters, Selection, State, Triple
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.documents import of_endpoint
from graphrag_rdf.trace.facts import label_of
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.text2sparql.row_facts import BLANK, Result

_TRUTH = {"true": "yes", "false": "no"}
_BEHIND = 4  # rows of an endpoint that are cited for one row
_TEMPLATES = (
    "retrieval/labels",
    *OF_FACTS,
    "documents/named-alike",
)


class ListParameters(StepParameters):
    """Of both ways."""

    rows: Some = Field(40, description="rows of the result that the answer is made of")


class RowsParameters(ListParameters):
    """Of the answer of a model."""

    response_type: str = Field(
        "a short answer of a few sentences", description="what the answer should be like"
    )


def answer_rows(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The answer from the rows; each cites its facts. Without rows, that nothing is known."""
    step, result, labels = _begun(context, state)
    rows = result.rows[: parameters["rows"]]
    if rows:
        state.completion = complete(
            context,
            step,
            "answer",
            prompt="rows",
            question=state.question,
            history=state.conversation,
            query=result.query,
            **_table(rows, result.variables, labels),
            more=len(result.rows) - len(rows),
            response_type=parameters["response_type"],
            unknown=SENTINEL,
        )
        read_answer(state, {*range(1, len(rows) + 1)})
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(_without_cache(context) if result.called else context, state, step)


def list_rows(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The rows as they are, each with its facts. Without rows, that nothing is known."""
    step, result, labels = _begun(context, state)
    rows = result.rows[: parameters["rows"]]
    if rows:
        cited = state.markers
        lines = [
            _line(row, result.variables, labels) + (f" [{number}]" if number in cited else "")
            for number, row in enumerate(rows, start=1)
        ]
        if len(result.rows) > len(rows):
            lines.append(tr("… and {count} more rows").format(count=len(result.rows) - len(rows)))
        state.answer = "\n".join(lines)
        for warning in state.warnings:
            if warning["type"] == "no_llm":
                warning["detail"] = tr(
                    "No language model is configured: this answer lists the rows of a query."
                )
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(_without_cache(context) if result.called else context, state, step)


def _begun(context: Context, state: State) -> tuple[Step, Result, dict[str, str]]:
    """The step, the rows, and what to call the things in them. Selects the facts of the rows; without rows,
    the answer is that nothing is known.
    """
    step = context.recorder.step(SYNTHESIS)
    result: Result = state.work.results[0]
    if not result.rows:
        state.answered, state.answer = False, nothing_found(state.language, state.question)
        return step, result, {}
    state.result = {
        "template": result.template,
        "values": result.values,
        "query": result.query,
        "columns": list(result.variables),
        "rows": [{name: to_sparql_json(term) for name, term in row.items()} for row in result.rows],
    }
    facts = (term for facts in result.facts for fact in facts for term in fact)
    labels = labels_of(context, step, state, chain(facts, *(row.values() for row in result.rows)))
    state.selections = _selections(context, state, step, result, labels)
    return step, result, labels


def _without_cache(context: Context) -> Context:
    """For answers that rest on other servers, whose changes nobody learns of: they are not kept."""
    return replace(context, reuse=None)


def _line(row: Row, variables: Sequence[str], labels: Mapping[str, str]) -> str:
    """A row in words: things by their names, other values after the names of their columns."""
    cells: dict[str, str] = {}
    for name, text in zip(variables, _cells(row, variables, labels), strict=True):
        if text and text not in cells.values():  # a thing, and its name in the next column
            cells[name] = text
    bare = {"name"} | {name for name in cells if isinstance(row[name], NamedNode) or len(cells) == 1}
    words = (text if name in bare else f"{name.replace('_', ' ')} {text}" for name, text in cells.items())
    return ", ".join(words)


def _table(rows: Sequence[Row], variables: Sequence[str], labels: Mapping[str, str]) -> dict[str, Any]:
    """Rows for the prompt, without columns that repeat an earlier one: a thing, and its name."""
    columns = list(zip(*(_cells(row, variables, labels) for row in rows), strict=True))
    kept = [place for place, cells in enumerate(columns) if cells not in columns[:place]]
    return {
        "columns": [variables[place] for place in kept],
        "rows": [[columns[place][number] for place in kept] for number in range(len(rows))],
    }


def _cells(row: Row, variables: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    cells = (label_of(row[name], labels) if name in row else "" for name in variables)
    return [_TRUTH.get(cell, cell) for cell in cells]


def _selections(
    context: Context, state: State, step: Step, result: Result, labels: Mapping[str, str]
) -> list[Selection]:
    """The facts of each row, cited by its number, with their sources. Facts without any are left out."""
    selections: list[Selection] = []
    by_fact: dict[Triple, Selection] = {}
    for number, facts in enumerate(result.facts, start=1):
        for fact in facts:
            s, p, o = (label_of(term, labels) for term in fact)
            edge = Edge(fact, s, p, o, hop=0, direction="out", origin=fact[0])
            selection = Selection(score=1.0, edge=edge, marker=number)
            by_fact.setdefault(fact, selection)
            selections.append(selection)
    attach_sources(context, state, step, list(by_fact.values()))
    for selection in selections:
        assert selection.edge is not None  # noqa: S101
        selection.sources = by_fact[selection.edge.triple].sources
        row = _line(result.rows[(selection.marker or 1) - 1], result.variables, labels)
        selection.shown = f"{row}\n{selection.edge.text}"  # a sum or count is in the row alone
    supported = [selection for selection in selections if selection.sources]
    return [*supported, *_returned(result, labels)]


def _returned(result: Result, labels: Mapping[str, str]) -> Iterator[Selection]:
    """What other endpoints returned for each row: their values in it, else how many rows, and the values of
    those that it is made of.
    """

    def in_words(values: Row, names: Sequence[str]) -> str:
        named = {name: term for name, term in values.items() if not text_of(term).startswith(BLANK)}
        cells = zip(names, _cells(named, names, labels), strict=True)
        return ", ".join(f"{name.replace('_', ' ')} {cell}" for name, cell in cells if cell)

    for called in result.called:
        address, columns = NamedNode(called.address), [n for n in result.variables if n in called.variables]
        for number, row in enumerate(result.rows, start=1):
            own = {name: row[name] for name in columns if name in row}
            if columns and not own:
                continue
            text = in_words(own, columns)
            if not text:
                solutions = result.solutions[number - 1]
                behind = dict.fromkeys(in_words(values, called.variables) for values in solutions)
                listed = list(filter(None, behind))
                text = f"{'; '.join(listed[:_BEHIND])}{'; …' if listed[_BEHIND:] else ''}"
                if len(listed) != 1:
                    counted = tr("{rows} row(s)").format(rows=len(listed) or called.rows)
                    text = f"{counted}: {text}" if text else counted
            fact = address, RAG.returned, Literal(text)
            edge = Edge(fact, called.name, "returned", text, hop=0, direction="out", origin=address)
            shown = f"{_line(row, result.variables, labels)}\n{edge.text}"
            selection = Selection(score=1.0, edge=edge, marker=number, endpoint=address, shown=shown)
            selection.sources = (of_endpoint(address),)
            yield selection


ANSWER_ROWS = register(
    StepKind(
        "answer_rows",
        SYNTHESIS,
        "Answers from the rows of a query; each row cites its facts.",
        {
            "list": Way(list_rows, ListParameters, templates=_TEMPLATES),
            "llm": Way(
                answer_rows,
                RowsParameters,
                needs_model=True,
                prompts={"rows": "rows.j2"},
                templates=_TEMPLATES,
            ),
        },
        auto=("list", "llm"),
    )
)
