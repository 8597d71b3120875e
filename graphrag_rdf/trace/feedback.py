"""What people think of answers: marks, as Web Annotations beside the trace.

A mark is an `oa:Annotation` (https://www.w3.org/TR/annotation-vocab/) that assesses an answer, or a fact or
sentence that an answer rests on. Everybody has one mark for each of these: a new one takes the place of the
old. Marks are part of the trace and go with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS, OA, PROV, RAG, RDF
from graphrag_rdf.rdf.terms import Term, datetime_, double, now
from graphrag_rdf.store.base import Changes, Row, Store
from graphrag_rdf.trace.model import Mark

Rating = Choice["helpful", "wrong"]
RATINGS: Mapping[Rating, float] = {"helpful": 1.0, "wrong": 0.0}
"""What a rating is on the scale from 0 to 1."""

_SCALE = 1.0


def read_marks(store: Store, session: NamedNode) -> list[Mark]:
    """The marks of a trace, the oldest first."""
    return [_mark(row) for row in store.select("trace/marks", session=session)]


def add_mark(
    store: Store,
    session: NamedNode,
    rating: Rating,
    *,
    citation: int | None = None,
    edge: int | None = None,
    note: str | None = None,
    by: str | None = None,
    graph: NamedNode,
) -> Mark:
    """Mark an answer, or what it rests on.

    Args:
        session: the trace (see `catalogue.find_trace`).
        citation: the number of a marker in the answer, to mark what it cites.
        edge: the rank of a selected fact or sentence, to mark that.
        note: why, in the words of whoever marks.
        by: who marks; each has a mark of their own.
        graph: the graph of traces.

    Raises:
        UsageError: when the trace has no such thing.
    """
    target = _target(store, session, citation, edge)
    moment = now()
    node = _node(target, by)
    facts: list[tuple[NamedNode, Term | None]] = [
        (RDF.type, RAG.Feedback),
        (RDF.type, OA.Annotation),
        (OA.hasTarget, target),
        (OA.motivatedBy, OA.assessing),
        (RAG.rating, double(RATINGS[rating])),
        (RAG.ratingScale, double(_SCALE)),
        (OA.bodyValue, Literal(note) if note else None),
        (DCTERMS.creator, Literal(by) if by else None),
        (PROV.generatedAtTime, datetime_(moment)),
    ]
    quads = [Quad(node, prop, value, graph) for prop, value in facts if value is not None]
    old: list[tuple[str, dict[str, object]]] = [("trace/drop-marks", {"marks": [node]})]
    store.commit(Changes(updates=old, add=quads, content=False))
    return next(mark for mark in _all_marks(store, session) if mark.iri == node.value)


def take_back(
    store: Store,
    session: NamedNode,
    *,
    citation: int | None = None,
    edge: int | None = None,
    by: str | None = None,
) -> bool:
    """Take a mark back; whether there was one. Arguments and errors are those of `add_mark`."""
    node = _node(_target(store, session, citation, edge), by)
    if not any(mark.iri == node.value for mark in _all_marks(store, session)):
        return False
    store.commit(Changes(updates=[("trace/drop-marks", {"marks": [node]})], content=False))
    return True


def _node(target: NamedNode, by: str | None) -> NamedNode:
    return iris.feedback(target, by or "")


def _all_marks(store: Store, session: NamedNode) -> list[Mark]:
    """Also those of the trace whose answer this one gives again."""
    first = _first(store, session)
    return [*read_marks(store, session), *(read_marks(store, first) if first is not None else ())]


def _first(store: Store, session: NamedNode) -> NamedNode | None:
    for row in store.select("trace/mark-targets", session=session):
        if row["reuses"] is not None:
            owners = store.select("trace/session-of", node=row["reuses"])
            return owners[0]["session"] if owners else None
    return None


def _target(store: Store, session: NamedNode, citation: int | None, edge: int | None) -> NamedNode:
    if citation is not None and edge is not None:
        raise UsageError(tr("a citation and an edge cannot be marked at once"), hint=tr("give one of them"))
    rows = store.select("trace/mark-targets", session=session)
    if citation is None and edge is None:
        answers = [row for row in rows if row["answer"]]
        if not answers:
            raise _without_answer(session, rows)
        target: NamedNode = answers[-1]["target"]
        return target
    key, number = ("marker", citation) if citation is not None else ("rank", edge)
    for trace in (session, _first(store, session)):
        for row in store.select("trace/mark-targets", session=trace) if trace is not None else ():
            if not row["answer"] and row[key] == number:
                target = row["target"]
                return target
    if not any(row["answer"] for row in rows) and citation is not None:
        raise _without_answer(session, rows)
    message = (
        tr("the answer has no citation [{number}]")
        if citation is not None
        else tr("the answer has no selection of rank {number}")
    )
    raise UsageError(
        message.format(number=number),
        hint=tr("graphrag-rdf trace show TRACE lists what it rests on"),
    )


def _without_answer(session: NamedNode, target_rows: Sequence[Row]) -> UsageError:
    """A trace of a retrieval, or of a run that failed, has none; what it selected can be marked."""
    edges = any(row["rank"] is not None for row in target_rows)
    hint = (
        tr("--edge N marks what it selected")
        if edges
        else tr("mark one of graphrag-rdf trace list that has an answer")
    )
    return UsageError(
        tr("the trace {session} has no answer to mark").format(session=session.value), hint=hint
    )


def _mark(row: Row) -> Mark:
    return Mark(
        iri=row["mark"],
        target=row["target"].value,
        rating="helpful" if row["rating"] == _SCALE else "wrong",
        note=row["note"],
        by=row["by"],
        time=row["time"],
        marker=row["marker"],
        rank=row["rank"],
    )
