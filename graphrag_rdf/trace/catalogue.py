"""Which traces there are: the list, newest first, and finding one by what people call it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace import rows

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PREFIX = re.compile(r"[0-9a-f][0-9a-f-]{3,35}\Z")


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A line of `trace list`.

    Attributes:
        iri: the session.
        kind: the pipeline.
        steps: how many steps were recorded, the question not counted.
        seconds: wall time; None when the run was never closed.
        outcome: completed, unanswered, failed or cancelled; None when it was never closed.
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
        outcome: only traces that ended so: a code of `trace.outcomes`.
        match: only questions that hold this text, without regard to case.
        offset: traces to pass over; counted like `limit`.
    """
    chosen = {
        "pipelines": [kind] if kind else [],
        "outcomes": [outcome] if outcome else [],
        "texts": [match] if match else [],
    }
    each = any(chosen.values())
    found: list[TraceSummary] = []
    tops = read = 0
    while tops < offset + limit:
        page = store.select("trace/list", **chosen, limit=offset + limit, offset=read)
        for summary in _summaries(store, page):
            if tops == offset + limit:
                break
            if tops >= offset:  # what precedes a trace of its own are its sub-traces: they began later
                found.append(summary)
            tops += each or summary.parent is None
        if len(page) < offset + limit:
            break
        read += len(page)
    return _nested(found)


def find_trace(store: Store, text: str) -> NamedNode:
    """The session that a text names.

    Args:
        text: the IRI of a session, question or step; a run's UUID or an unambiguous beginning of it (4
            characters or more); or `last`.

    Raises:
        UsageError: when nothing, or more than one trace, is called so.
    """
    name = text.strip().strip("<>")
    unknown = UsageError(f"there is no trace {name!r}", hint="graphrag-rdf trace list shows what is stored")
    if name == "last":
        newest = store.select("trace/find", prefix="", limit=1)
        if not newest:
            raise UsageError("there is no trace yet", hint='graphrag-rdf ask "…" makes one')
        return rows.node(newest[0], "session")
    uuid = _UUID.search(name.lower())
    if ":" in name and not uuid:
        try:
            owners = store.select("trace/session-of", node=NamedNode(name))
        except ValueError:
            raise unknown from None
        if len(owners) != 1:
            raise unknown
        return rows.node(owners[0], "session")
    prefix = uuid[0] if uuid else name.lower()
    if not _PREFIX.match(prefix):
        raise unknown
    matches = store.select("trace/find", prefix=prefix, limit=5)
    if not matches:
        raise unknown
    if len(matches) > 1:
        listed = ", ".join(rows.must(row, "session").rsplit(":", 1)[-1] for row in matches)
        raise UsageError(f"{name!r} begins several traces: {listed}", hint="give more of the UUID")
    return rows.node(matches[0], "session")


def _summaries(store: Store, page: Sequence[Row]) -> list[TraceSummary]:
    sessions = [rows.node(row, "session") for row in page]
    found = store.select("trace/parents", sessions=sessions) if sessions else ()
    parents = {rows.must(row, "session"): rows.must(row, "parent") for row in found}
    return [_summary(row, parents.get(rows.must(row, "session"))) for row in page]


def _summary(row: Row, parent: str | None) -> TraceSummary:
    ms = rows.whole(row, "ms")
    return TraceSummary(
        iri=rows.must(row, "session"),
        kind=rows.text(row, "pipeline"),
        question=rows.text(row, "question") or "",
        time=rows.moment(row, "started"),
        steps=max(0, (rows.whole(row, "nodes") or 0) - 1),
        seconds=None if ms is None else ms / 1000,
        outcome=rows.text(row, "outcome"),
        parent=parent,
    )


def _nested(newest_first: list[TraceSummary]) -> list[TraceSummary]:
    known = {summary.iri for summary in newest_first}
    children: dict[str, list[TraceSummary]] = {}
    for summary in reversed(newest_first):
        if summary.parent in known:
            children.setdefault(str(summary.parent), []).append(summary)
    out: list[TraceSummary] = []

    def add(summary: TraceSummary) -> None:
        out.append(summary)
        for child in children.get(summary.iri, []):
            add(child)

    for summary in newest_first:
        if summary.parent not in known:
            add(summary)
    return out
