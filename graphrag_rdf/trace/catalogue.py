"""The traces of a store: the list, newest first; finding one by what people call it; taking traces out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import Term, now
from graphrag_rdf.store.base import Changes, Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.foreign import pipeline_of
from graphrag_rdf.trace.outcomes import FOREIGN, OUTCOMES
from graphrag_rdf.trace.reader import trace_quads

_UNTIL_MARKED = timedelta(days=1)  # that a trace stays without a mark where only marked ones are kept
_PREFIX = re.compile(r"[0-9a-f][0-9a-f-]{3,35}\Z")


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A line of `trace list`.

    Attributes:
        iri: the session.
        kind: the pipeline; of traces of TrustGraph graphrag, docrag or agent.
        steps: how many steps were recorded, the question not counted.
        seconds: wall time; None when the run was never closed.
        outcome: completed, unanswered, failed or cancelled; None when it was never closed; foreign: another
            program wrote it.
        parent: the session of which this is a sub-trace.
    """

    iri: str
    kind: str | None
    question: str
    time: datetime | None
    steps: int
    seconds: float | None
    outcome: str | None
    parent: str | None = None


def list_traces(
    store: Store,
    limit: int,
    kind: str | None = None,
    *,
    outcome: str | None = None,
    match: str = "",
    offset: int = 0,
) -> list[TraceSummary]:
    """The newest traces, newest first; sub-traces follow their parent in the order in which they ran.

    Args:
        limit: how many. In a list of all traces, sub-traces come with their parents and do not count.
        kind: only traces of this pipeline.
        outcome: only traces that ended so: a code of `OUTCOMES`.
        match: only questions that hold this text, without regard to case.
        offset: traces to pass over; counted like `limit`.
    """
    chosen = {
        "pipelines": [kind] if kind else [],
        "outcomes": [outcome] if outcome else [],
        "texts": [match] if match else [],
    }
    each = any(chosen.values())
    summaries: list[TraceSummary] = []
    tops = read = 0
    while tops < offset + limit:
        page = store.select("trace/list", **chosen, limit=offset + limit, offset=read)
        for summary in _summaries(store, page):
            if tops == offset + limit:
                break
            if tops >= offset:  # what precedes a trace of its own are its sub-traces: they began later
                summaries.append(summary)
            tops += each or summary.parent is None
        if len(page) < offset + limit:
            break
        read += len(page)
    return _nested(summaries)


def find_trace(store: Store, text: str) -> NamedNode:
    """The session that a text names.

    Args:
        text: the IRI of a session, question or step; a run's UUID or an unambiguous beginning of it (4
            characters or more); or `last`: that of the last question that no other run asked.

    Raises:
        UsageError: when nothing, or more than one trace, is called so.
    """
    name = text.strip().strip("<>")
    unknown = UsageError(
        tr("there is no trace {name!r}").format(name=name),
        hint=tr("graphrag-rdf trace list shows what is stored"),
    )
    if name == "last":
        newest = store.select("trace/find", prefix="", limit=1)
        if not newest:
            raise UsageError(tr("there is no trace yet"), hint=tr('graphrag-rdf ask "…" makes one'))
        return _outermost(store, newest[0]["session"])
    uuid = iris.uuid_in(name)
    if ":" in name and not uuid:
        try:
            owners = store.select("trace/session-of", node=NamedNode(name))
        except ValueError:
            raise unknown from None
        if len(owners) != 1:
            raise unknown
        owner: NamedNode = owners[0]["session"]
        return owner
    prefix = uuid or name.lower()
    if not _PREFIX.match(prefix):
        raise unknown
    matches = store.select("trace/find", prefix=prefix, limit=5)
    if not matches:
        raise unknown
    if len(matches) > 1:
        listed = ", ".join(row["session"].value.rsplit(":", 1)[-1] for row in matches)
        raise UsageError(
            tr("{name!r} begins several traces: {listed}").format(name=name, listed=listed),
            hint=tr("give more of the UUID"),
        )
    session: NamedNode = matches[0]["session"]
    return session


def _outermost(store: Store, session: NamedNode) -> NamedNode:
    """The run that no other started, and that started this one or runs on the way to it.

    Imported traces may start one another in a circle; then it is one of them.
    """
    seen = {session}
    while parents := [
        *store.select("trace/parents", sessions=[session]),
        *store.select("trace/foreign-parents", sessions=[session]),
    ]:
        session = parents[0]["parent"]
        if session in seen:
            break
        seen.add(session)
    return session


def _summaries(store: Store, page: Sequence[Row]) -> list[TraceSummary]:
    sessions = [row["session"] for row in page]
    foreign = [row["session"] for row in page if row["pipeline"] is None]
    rows = [
        *(store.select("trace/parents", sessions=sessions) if sessions else ()),
        *(store.select("trace/foreign-parents", sessions=foreign) if foreign else ()),
    ]
    parents = {row["session"].value: row["parent"].value for row in rows}
    foreign_rows = store.select("trace/foreign-list", sessions=foreign) if foreign else ()
    by_session = {row["session"].value: row for row in foreign_rows}
    summaries = [_summary(row, parents.get(row["session"].value)) for row in page]
    return [
        _of_foreign(summary, by_session[summary.iri]) if summary.iri in by_session else summary
        for summary in summaries
    ]


def _of_foreign(summary: TraceSummary, row: Row) -> TraceSummary:
    types = (NamedNode(iri) for iri in (row["types"] or "").split())
    steps = max(0, row["nodes"] - 1)
    return replace(summary, kind=pipeline_of(summary.iri, types), steps=steps, outcome=FOREIGN)


def _summary(row: Row, parent: str | None) -> TraceSummary:
    ms = row["ms"]
    return TraceSummary(
        iri=row["session"].value,
        kind=row["pipeline"],
        question=row["question"] or "",
        time=row["started"],
        steps=max(0, row["nodes"] - 1),
        seconds=None if ms is None else ms / 1000,
        outcome=row["outcome"],
        parent=parent,
    )


def _nested(newest_first: list[TraceSummary]) -> list[TraceSummary]:
    listed = {summary.iri for summary in newest_first}
    children: dict[str, list[TraceSummary]] = {}
    for summary in reversed(newest_first):
        if summary.parent in listed:
            children.setdefault(str(summary.parent), []).append(summary)
    out: list[TraceSummary] = []

    def add(summary: TraceSummary) -> None:
        out.append(summary)
        for child in children.get(summary.iri, []):
            add(child)

    for summary in newest_first:
        if summary.parent not in listed:
            add(summary)
    return out


def count_outcomes(store: Store) -> dict[str, int]:
    """How many traces ended in each way, by code; ways in which none ended are left out."""
    counts = {row["outcome"]: row["traces"] for row in store.select("trace/outcomes")}
    return {
        code: counts[code] for code in (*OUTCOMES, *sorted(counts.keys() - OUTCOMES.keys())) if code in counts
    }


# --- taking traces out: their quads, blobs that nothing else names, retired chunks that only they kept

_BATCH = 50


@dataclass(slots=True)
class Pruned:
    """What was taken out: traces (sub-traces counted), stored objects, chunks retired by earlier edits."""

    traces: int = 0
    objects: int = 0
    chunks: int = 0


def delete_trace(store: Store, blobs: BlobStore, iri: NamedNode | str) -> Pruned:
    """Take out a trace and its sub-traces.

    Args:
        iri: the session.

    Raises:
        UsageError: when there is no such session.
    """
    session = NamedNode(iri) if isinstance(iri, str) else iri
    if not store.select("trace/session", session=session):
        raise UsageError(
            tr("there is no trace {session}").format(session=session.value),
            hint=tr("graphrag-rdf trace list shows the traces"),
        )
    return _delete(store, blobs, [session])


def prune(
    store: Store,
    blobs: BlobStore,
    *,
    keep: int | None = None,
    older_than: datetime | timedelta | None = None,
    unmarked: bool = False,
    rewrite: bool = True,
) -> Pruned:
    """Take out old traces with their sub-traces, and rewrite the database once, which makes it smaller.

    Args:
        keep: how many of the newest stay, sub-traces not counted.
        older_than: what began before this moment, or so long ago, goes. With both, what either names goes.
        unmarked: of these, only what nobody marked.
        rewrite: False leaves the files to the engine, which reuses what becomes free.

    Raises:
        UsageError: when neither is given, or `keep` is negative.
    """
    if keep is None and older_than is None:
        raise UsageError(
            tr("nothing says which traces to take out"), hint=tr("use --keep N or --older-than DAYS")
        )
    sessions: dict[str, NamedNode] = {}
    if keep is not None:
        if keep < 0:
            raise UsageError(
                tr("{keep} traces cannot be kept").format(keep=keep), hint=tr("use --keep 0 to take out all")
            )
        rows = store.select("trace/beyond", keep=keep)
        sessions |= {row["session"].value: row["session"] for row in rows}
    if older_than is not None:
        before = now() - older_than if isinstance(older_than, timedelta) else older_than
        rows = store.select("trace/older", before=before, unmarked=unmarked)
        sessions |= {row["session"].value: row["session"] for row in rows}
    out = _delete(store, blobs, list(sessions.values()))
    if out.traces and rewrite:
        store.purge()
    return out


def keep_by_rule(store: Store, blobs: BlobStore, rule: str) -> Pruned:
    """Take out the traces that a rule (the setting `trace.keep`) does not keep."""
    number, _, days = rule.partition(" ")
    if rule == "all":
        return Pruned()
    if rule == "marked":
        return prune(store, blobs, older_than=_UNTIL_MARKED, unmarked=True, rewrite=False)
    if days:
        return prune(store, blobs, older_than=timedelta(days=int(number)), rewrite=False)
    return prune(store, blobs, keep=int(number), rewrite=False)


def _delete(store: Store, blobs: BlobStore, sessions: Sequence[NamedNode]) -> Pruned:
    out = Pruned()
    gone: set[NamedNode] = set()
    for start in range(0, len(sessions), _BATCH):
        batch = [session for session in sessions[start : start + _BATCH] if session not in gone]
        if not batch:
            continue
        below = batch
        while below := _started(store, below, {*batch, *gone}):
            batch += below
        _delete_batch(store, blobs, batch, out)
        gone.update(batch)
    out.traces = len(gone)
    return out


def _started(store: Store, sessions: list[NamedNode], listed: set[NamedNode]) -> list[NamedNode]:
    """The runs that runs started, without those that are known."""
    rows = [
        *store.select("trace/sub-traces", sessions=sessions),
        *store.select("trace/foreign-sub-traces", sessions=sessions),
    ]
    return [sub_trace for row in rows if (sub_trace := row["session"]) not in listed]


def _foreign_nodes(store: Store, sessions: Sequence[NamedNode]) -> list[NamedNode]:
    """The nodes of those of the traces that another program wrote."""
    foreign = [row["session"] for row in store.select("trace/foreign", sessions=sessions)]
    subjects = (quad.subject for trace in foreign for quad in trace_quads(store, trace, with_sources=False))
    return sorted({node for node in subjects if isinstance(node, NamedNode)}, key=str)


def _delete_batch(store: Store, blobs: BlobStore, sessions: list[NamedNode], out: Pruned) -> None:
    rows = store.select("trace/objects", sessions=sessions)
    objects = list({row["object"].value: row["object"] for row in rows}.values())
    retired = [row["chunk"] for row in store.select("trace/used-chunks", sessions=sessions)]
    updates: list[tuple[str, dict[str, Any]]] = [("trace/delete", {"sessions": sessions})]
    if nodes := _foreign_nodes(store, sessions):
        updates.insert(0, ("trace/foreign-delete", {"nodes": nodes}))
    if retired:
        rows_of_others = store.select("trace/chunks-of-others", chunks=retired, sessions=sessions)
        cited = {row["chunk"] for row in rows_of_others}
        if chunks := [chunk for chunk in retired if chunk not in cited]:
            updates.append(("ingest/retract-chunks", {"chunks": chunks}))
            out.chunks += len(chunks)
    # the store first: an object that nothing names is litter, a name without its object is a broken trace
    store.commit(Changes(updates=updates, content=False))
    if objects:
        out.objects += blobs.sweep(objects, lambda free: _named(store, free))


def _named(store: Store, objects: Sequence[NamedNode]) -> set[Term]:
    return {row["object"] for row in store.select("trace/shared-objects", objects=objects)}
