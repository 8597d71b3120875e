"""Run the queries again that decided what a trace took, and compare the rows with what it recorded."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.sparql.calls import may_call
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.kinds import node_kinds

_ALIKE = 1e-9  # scores that differ less are the same: the order in which an engine adds up is its own


def result_hash(found: Sequence[Row]) -> str:
    """SHA-256 of what rows name, in their order, without scores: engines round sums differently."""
    digest = hashlib.sha256()
    for row in found:
        named = (f"{name}={term}" for name, term in sorted(row.items()) if not _is_score(term))
        digest.update("\t".join([*named, "\n"]).encode())
    return digest.hexdigest()


def _is_score(term: object) -> bool:
    return isinstance(term, Literal) and term.datatype in (XSD.double, XSD.decimal)


@dataclass(slots=True)
class Rerun:
    """What came of it.

    Attributes:
        queries: how many decided.
        unkept: how many of them the trace does not hold, because it is a summary or a text was erased.
        different: what is not as it was, in words.
    """

    queries: int = 0
    unkept: int = 0
    different: list[str] = field(default_factory=list)


def rerun(store: Store, blobs: BlobStore, session: NamedNode) -> Rerun:
    """Run a trace's deciding queries again.

    The rows must be those of then, in the same order. The chunks that the trace ranked must be the first of
    the ranking, in its order and with its scores. Chunks that it selected must be among the query's.
    """
    out = Rerun()
    kinds = [one for node in node_kinds().values() for one in node.items]
    ranks = {template for one in kinds for template in one.ranked_by}
    takes = {template for one in kinds for template in one.taken_by}
    ranking: dict[str, list[Row]] = {}
    taken: dict[str, set[str]] = {}
    for decided in store.select("trace/decisions-taken", session=session):
        out.queries += 1
        template, step = rows.must(decided, "template"), rows.must(decided, "step")
        text = blobs.text(rows.must(decided, "sparql")) if "sparql" in decided else None
        if text is None:
            out.unkept += 1
            continue
        if may_call(text):  # a trace may come from elsewhere
            out.different.append(
                f"{template} (call {rows.whole(decided, 'number')}) is not run: it calls another server"
            )
            continue
        try:
            found = store.query(text).rows or []
        except GraphRagError as error:
            out.different.append(f"{template} (call {rows.whole(decided, 'number')}) fails: {error}")
            continue
        if result_hash(found) != rows.must(decided, "hash"):
            out.different.append(f"{template} (call {rows.whole(decided, 'number')}) returns other rows")
        if template in ranks:
            ranking[step] = found
        if template in takes:
            taken.setdefault(step, set()).update(rows.must(row, "chunk") for row in found)
    out.different += _compared(store.select("trace/ranked", session=session), ranking, taken)
    return out


def _compared(
    recorded: Sequence[Row], ranking: Mapping[str, Sequence[Row]], taken: Mapping[str, set[str]]
) -> Iterator[str]:
    """How recorded chunks differ from what the queries return now."""
    places = {
        step: {
            rows.must(row, "passage" if "passage" in row else "chunk"): (place, row) for place, row in ranked
        }
        for step, ranked in ((step, enumerate(found, start=1)) for step, found in ranking.items())
    }
    for row in recorded:
        step, chunk, rank = rows.must(row, "step"), rows.must(row, "chunk"), rows.whole(row, "rank")
        if rows.truth(row, "selected"):
            if step in taken and chunk not in taken[step]:
                yield f"{chunk} was selected and is not now"
        elif step in places:
            place, now = places[step].get(chunk, (None, {}))
            score, before = rows.number(now, "score") or 0.0, rows.number(row, "score") or 0.0
            if place != rank:
                yield f"{chunk} had rank {rank} and has {place or 'none'} now"
            elif not math.isclose(score, before, abs_tol=_ALIKE):
                yield f"{chunk} had score {before:.6f} and has {score:.6f} now"
