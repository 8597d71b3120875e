"""The list of traces: questions and how they were answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.lists.declaration import Asked, Column, Filter, Item, List, register
from graphrag_rdf.trace.outcomes import OUTCOMES, outcome_words

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.trace.catalogue import TraceSummary


def _traces(engine: Engine, asked: Asked) -> Iterable[TraceSummary]:
    from graphrag_rdf.trace.catalogue import list_traces

    return list_traces(engine.store, asked.limit or 0, offset=asked.offset, **asked.values)


def _counts(engine: Engine) -> dict[str, int]:
    from graphrag_rdf.trace.catalogue import count_outcomes

    return count_outcomes(engine.store)


def _question(item: Item) -> str:
    return item["question"] or tr("(a question that was erased)")


TRACES = register(
    List(
        "traces",
        later("Questions and how they were answered"),
        "List traces, newest first. Sub-traces are indented below their parents.",
        columns=(
            Column("question", later("question"), value=_question, link="trace", below="table"),
            Column("time", later("asked"), "moment"),
            Column("outcome", later("outcome"), value=lambda item: outcome_words(item["outcome"])),
            Column("steps", later("steps"), "count"),
            Column("seconds", later("seconds"), "seconds"),
            Column("kind", later("pipeline")),
            Column("iri", later("trace"), value=lambda item: item["iri"].rpartition(":")[2], page=False),
        ),
        filters=(
            Filter("match", "Only questions with this text.", "text", later("Words of a question"), "texts"),
            Filter("kind", "Only traces of this pipeline.", parameter="pipelines", option="--pipeline"),
            Filter(
                "outcome",
                "Only traces with this outcome; foreign: those that another program wrote.",
                parameter="outcomes",
                choices=tuple(OUTCOMES),
            ),
        ),
        command="trace list",
        path="/traces",
        examples=("graphrag-rdf trace list --limit 5",),
        template="trace/list",
        read=_traces,
        limit=20,
        parent="parent",
        counted="outcomes",
        count=_counts,
        words=outcome_words,
        none=later("no traces yet"),
        no_match=later("no trace matches"),
        links=((later("Ask something"), "/ask"),),
    )
)
