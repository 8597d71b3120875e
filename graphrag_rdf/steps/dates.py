"""The dates of a question: which chunks were written in its period, and whether others count at all.

A period that the user gives is a filter: only chunks of it count. One that the question's words name is a
preference: others count less (`outside_weight`), so such words never make a question unanswerable. A year
says less than a day or month, as it is often that of an event: its factor is the square root. A text without
a date is of no period.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.extract.periods import Period, find_period, span_of
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.records import Hit
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import Term, double, integer
from graphrag_rdf.steps.kinds import Share, StepParameters
from graphrag_rdf.steps.sources import chunk_of
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.recorder import Step

_MOST_TRIED = 50_000  # hits among which those of a period are searched
_PREFERRED = 4_000  # the same, where others count too
_SPANS = 12  # that a trace names
_YEAR = 364  # days between the first and the last one
_BY_MEANING = 0.02  # exponent of the factor of other chunks with an embedding model: about two ranks
_ANY = (date(2000, 1, 1), date(2000, 12, 31))  # dates of documents, to see whether a question has any

Day = Annotated[str, Field(pattern=r"^$|^\d{4}(-\d\d(-\d\d)?)?$")]


class DateParameters(StepParameters):
    """Of the ways of exploring that know when chunks were written."""

    since: Day = Field("", description="only chunks written on this day, month or year, or later")
    until: Day = Field("", description="only chunks written on this day, month or year, or earlier")
    valid: Day = Field(
        "", description="without facts that began after this day, month or year, or ended before it"
    )
    dates: bool = Field(True, description="prefer chunks of the dates that the question names")
    outside_weight: Share = Field(
        0.3, description="factor of the score of chunks that are not of the dates that the question names"
    )


@dataclass(frozen=True, slots=True)
class Dated:
    """The chunks of a question's period.

    Attributes:
        chunks: all of the period.
        strict: whether others are left out.
        weight: factor of the score of others.
        statements: what an exploration says of it.
    """

    chunks: frozenset[str]
    strict: bool
    weight: float
    statements: Sequence[tuple[NamedNode, Term]]

    def factor(self, *chunks: str) -> float:
        """By what a score is multiplied that rests on these chunks."""
        return 1.0 if any(chunk in self.chunks for chunk in chunks) else self.weight

    def search(self, find: Callable[[int], list[Hit]], k: int) -> list[Hit]:
        """The k best chunks or sentences of the period and, if others count, also the k best of all.

        Args:
            find: the so many best of all, best first.
        """
        all_of = [] if self.strict else find(k)
        asked, most = k, _MOST_TRIED if self.strict else _PREFERRED
        while True:
            hits = find(asked)
            inside = [hit for hit in hits if chunk_of(hit.iri) in self.chunks][:k]
            if len(inside) == k or len(hits) < asked or asked >= most or not self.chunks:
                break
            asked = min(asked * 8, most)
        iris = {hit.iri for hit in all_of}
        hits = [*all_of, *(hit for hit in inside if hit.iri not in iris)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.iri))


def dated_chunks(context: Context, state: State, step: Step, parameters: Parameters) -> Dated | None:
    """The chunks of the period that is given, or that the question names; None if there is none, or if no
    chunk is of a period that the question names.

    Raises:
        UsageError: for a period that ends before it begins.
    """
    since, until = parameters.get("since", ""), parameters.get("until", "")
    strict = bool(since or until)
    period = _given(since, until) if strict else None
    newest = ""
    named = None if strict or not parameters.get("dates") else _named(state.question)
    if named and not parameters.get("valid"):
        state.day = _whole_of(named), named.words
    if named:
        (row,) = context.select(step, "retrieval/oldest-newest")
        if row["newest"]:
            newest = row["newest"][:10]
            oldest, latest = date.fromisoformat(row["oldest"][:10]), date.fromisoformat(newest)
            with suppress(KeyError, OverflowError, ValueError):  # letters of odd case, years out of range
                period = find_period(state.question, oldest, latest)
    if period is None:
        return None
    spans = [(first.isoformat(), last.isoformat()) for first, last in period.spans]
    rows = context.select(step, "retrieval/chunks-of-period", periods=spans)
    period_in_words = ", ".join(
        first if first == last else tr("{first} to {last}").format(first=first, last=last)
        for first, last in spans[:_SPANS]
    )
    if period.relative:
        state.warn(
            "relative_dates",
            tr("“{words}” was read as {period}, because the newest document is of {newest}").format(
                words=period.words, period=period_in_words, newest=newest
            ),
        )
    short = all((last - first).days < _YEAR for first, last in period.spans)
    if not rows and (strict or short):
        state.warn(
            "no_documents_of_period",
            tr("no text has a date of {period}; texts without a date are left out").format(
                period=period_in_words
            )
            if strict
            else tr("no text has a date of {period}: texts of all dates were searched").format(
                period=period_in_words
            ),
        )
    statements = [
        *((RAG.period, Literal("/".join(span))) for span in spans[:_SPANS]),
        (RAG.periodChunkCount, integer(len(rows))),
    ]
    if rows or strict:
        # likeness by meaning, and ranks that are fused, differ little from one chunk to the next
        mildly = 1.0 if context.vectors is None else _BY_MEANING
        weight = 0.0 if strict else parameters["outside_weight"] ** (mildly * (1.0 if short else 0.5))
        statements.append((RAG.outsideWeight, double(weight)))
        chunks = frozenset(row["chunk"].value for row in rows)
        state.period = period.words, chunks
        state.only = chunks if strict else state.only
        return Dated(chunks, strict, weight, statements)
    for predicate, value in statements:
        context.recorder.say(step, predicate, value)
    return None


def _whole_of(period: Period) -> str:
    """The day, month or year that the words name with its year, in ISO form; "" for other periods."""
    first = period.spans[0][0].isoformat()
    if len(period.spans) > 1 or first[:4] not in period.words:
        return ""
    return next((first[:n] for n in (10, 7, 4) if span_of(first[:n]) == period.spans[0]), "")


def period_words(question: str) -> str:
    """The words of a question that name a day, month, year or so; "" without any."""
    named = _named(question)
    return named.words if named else ""


def _named(question: str) -> Period | None:
    with suppress(KeyError, OverflowError, ValueError):
        return find_period(question, *_ANY)
    return None


def warn_of_undated_reports(state: State) -> None:
    """Say that a date of the question has no effect on reports, which tell of all times."""
    if words := period_words(state.question):
        state.warn(
            "dates_ignored",
            tr("reports of communities are of all dates: “{words}” has no effect on which are read").format(
                words=words
            ),
        )


def _given(since: str, until: str) -> Period:
    try:
        first = span_of(since)[0] if since else date.min
        last = span_of(until)[1] if until else date.max
    except ValueError as error:
        raise UsageError(
            tr("{text!r} is no date, such as 1911-11-17, 1911-11 or 1911").format(text=f"{error}")
        ) from error
    if first > last:
        raise UsageError(
            tr("the period ends on {last}, before it begins on {first}").format(first=first, last=last)
        )
    return Period("", ((first, last),))
