"""Reading a trace back: one query per kind of thing that a trace holds, each from the session's IRI."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.decided import decided_against
from graphrag_rdf.trace.documents import with_names
from graphrag_rdf.trace.fact_rows import fact_of
from graphrag_rdf.trace.feedback import read_marks
from graphrag_rdf.trace.items import (
    Activated,
    AnswerSentence,
    Call,
    Considered,
    Decision,
    DecisionNote,
    Fact,
    LookUp,
    Score,
    Seed,
    Selection,
    Source,
    Suggestion,
)
from graphrag_rdf.trace.labels import label_of, read_labels
from graphrag_rdf.trace.model import Trace, TraceStep
from graphrag_rdf.trace.passages import read_passages

_T = TypeVar("_T")


def read_trace(store: Store, iri: NamedNode | str, blobs: BlobStore | None = None) -> Trace:
    """A trace with all its steps, selections and sources.

    Args:
        iri: its session (see `catalogue.find_trace` for other names of a trace).
        blobs: where answers are that are too long for the graph; without it they are None.

    Raises:
        UsageError: when there is no such session.
    """
    session = NamedNode(iri) if isinstance(iri, str) else iri
    found = store.select("trace/session", session=session)
    if not found:
        raise UsageError(
            f"there is no trace {session.value}", hint="graphrag-rdf trace list shows what is stored"
        )
    row = found[0]
    steps = _Steps(store, session, blobs).read()
    filters = store.select("trace/entity-filters", session=session)
    return Trace(
        iri=session.value,
        kind=rows.text(row, "pipeline"),
        label=rows.text(row, "label"),
        question=rows.text(row, "question") or "",
        question_iri=next((step.iri for step in steps if step.kind == "question"), None),
        started=rows.moment(row, "started"),
        ended=rows.moment(row, "ended"),
        ms=rows.whole(row, "ms"),
        outcome=rows.text(row, "outcome"),
        model=rows.text(row, "model"),
        parameters=json.loads(rows.text(row, "parameters") or "{}"),
        commit=rows.whole(row, "commit"),
        forgotten=rows.truth(row, "forgotten"),
        steps=steps,
        marks=tuple(read_marks(store, session)),
        continues=rows.text(row, "continues"),
        pipeline_hash=rows.text(row, "pipeline_hash"),
        include=tuple(rows.must(one, "entity") for one in filters if rows.truth(one, "included")),
        exclude=tuple(rows.must(one, "entity") for one in filters if not rows.truth(one, "included")),
    )


class _Steps:
    def __init__(self, store: Store, session: NamedNode, blobs: BlobStore | None) -> None:
        self._store = store
        self._session = session
        self._blobs = blobs

    def read(self) -> tuple[TraceStep, ...]:
        edges = {rows.must(row, "item"): row for row in self._select("edges")}
        seeds, activated = self._select("seeds"), self._select("activated")
        entities = [row["entity"] for row in (*seeds, *activated)]
        self._labels = read_labels(self._store, [*entities, *(r[x] for r in edges.values() for x in "spo")])
        self._facts = {item: fact_of(row, self._labels) for item, row in edges.items()}
        self._removed = decided_against(self._store, ((f.s, f.p, f.o) for f in self._facts.values()))
        self._sources = self._read_sources()
        self._left_out = {rows.must(r, "step"): rows.whole(r, "count") or 0 for r in self._select("left-out")}
        concepts = self._by_step("concepts", lambda row: rows.must(row, "concept"))
        warnings = self._by_step("warnings", _warning)
        calls = self._by_step("calls", _call)
        selections = self._by_step("selections", self._selection)
        chosen = {item.fact for group in selections.values() for item in group if item.fact}
        considered = self._by_step("considered", lambda row: self._considered(row, chosen))
        decisions = self._decisions()
        look_ups = _look_ups(self._select("look-ups"))
        suggestions = self._by_step("suggestions", self._suggestion)
        sentences = _sentences(self._select("sentences"))
        passages = read_passages(self._store, self._session)
        seeded, activations = _grouped(seeds, self._seed), _grouped(activated, self._activated)
        return tuple(
            self._step(
                row,
                concepts=concepts[rows.must(row, "step")],
                seeds=seeded[rows.must(row, "step")],
                activated=activations[rows.must(row, "step")],
                considered=considered[rows.must(row, "step")],
                passages=tuple(passages.get(rows.must(row, "step"), ())),
                decisions=decisions[rows.must(row, "step")],
                look_ups=look_ups[rows.must(row, "step")],
                selections=selections[rows.must(row, "step")],
                sentences=sentences[rows.must(row, "step")],
                suggestions=suggestions[rows.must(row, "step")],
                warnings=warnings[rows.must(row, "step")],
                calls=calls[rows.must(row, "step")],
            )
            for row in self._select("steps")
        )

    def _select(self, name: str) -> list[Row]:
        return self._store.select(f"trace/{name}", session=self._session)

    def _by_step(self, name: str, make: Callable[[Row], _T]) -> defaultdict[str, tuple[_T, ...]]:
        return _grouped(self._select(name), make)

    def _step(self, row: Row, **details: Any) -> TraceStep:
        return TraceStep(
            iri=rows.must(row, "step"),
            kind=rows.text(row, "kind") or "step",
            before=rows.text(row, "before"),
            started=rows.moment(row, "started"),
            ended=rows.moment(row, "ended"),
            ms=rows.whole(row, "ms"),
            mode=rows.text(row, "mode"),
            model=rows.text(row, "model"),
            in_tokens=rows.whole(row, "in_tokens"),
            out_tokens=rows.whole(row, "out_tokens"),
            query=rows.text(row, "query"),
            candidates=rows.whole(row, "candidates"),
            edges=rows.whole(row, "edges"),
            coverage=rows.number(row, "coverage"),
            evidence_tokens=rows.whole(row, "evidence_tokens"),
            left_out=self._left_out.get(rows.must(row, "step"), 0),
            answer=self._answer(row),
            stored=rows.text(row, "stored"),
            draft=rows.text(row, "draft"),
            reason=rows.text(row, "reason"),
            stage=rows.text(row, "stage"),
            reuses=rows.text(row, "reuses"),
            **details,
        )

    def _answer(self, row: Row) -> str | None:
        inline, stored = rows.text(row, "text"), rows.text(row, "stored")
        if inline is not None or stored is None or self._blobs is None:
            return inline
        return self._blobs.text(stored)

    def _seed(self, row: Row) -> Seed:
        return Seed(
            entity=rows.must(row, "entity"),
            label=label_of(row["entity"], self._labels),
            score=rows.number(row, "score"),
            matched_by=rows.text(row, "matched_by"),
            matched_text=rows.text(row, "matched_text"),
        )

    def _activated(self, row: Row) -> Activated:
        return Activated(
            entity=rows.must(row, "entity"),
            label=label_of(row["entity"], self._labels),
            activation=rows.number(row, "activation"),
            round=rows.whole(row, "round"),
            carrier=rows.text(row, "carrier"),
            similarity=rows.number(row, "similarity"),
            origin=rows.text(row, "origin"),
        )

    def _suggestion(self, row: Row) -> Suggestion:
        item = rows.must(row, "item")
        return Suggestion(item, rows.must(row, "mode"), rows.text(row, "text"), self._facts.get(item))

    def _considered(self, row: Row, chosen: set[Fact]) -> Considered:
        fact = self._facts.get(rows.must(row, "item"))
        return Considered(
            iri=rows.must(row, "item"),
            fact=fact,
            score=_score(row),
            rank=rows.whole(row, "rank"),
            hop=rows.whole(row, "hop"),
            direction=rows.text(row, "direction"),
            edge_id=rows.text(row, "edge_id"),
            selected=fact in chosen,
            removed=self._removed_since(fact),
        )

    def _removed_since(self, fact: Fact | None) -> DecisionNote | None:
        return self._removed.get((fact.s, fact.p, fact.o)) if fact else None

    def _decisions(self) -> defaultdict[str, tuple[Decision, ...]]:
        found = self._select("decisions")
        nodes = sorted({rows.node(row, "sentence") for row in found if "sentence" in row}, key=str)
        texts = {
            rows.must(row, "sentence"): rows.must(row, "text")
            for row in (self._store.select("retrieval/sentence-texts", sentences=nodes) if nodes else ())
        }
        return _grouped(
            found,
            lambda row: Decision(
                iri=rows.must(row, "item"),
                filter=rows.must(row, "filter"),
                kept=rows.truth(row, "kept"),
                score=rows.number(row, "score"),
                reasoning=rows.text(row, "reasoning"),
                rerank=rows.number(row, "rerank"),
                fact=self._facts.get(rows.must(row, "item")),
                sentence=rows.text(row, "sentence"),
                text=texts.get(rows.text(row, "sentence") or ""),
            ),
        )

    def _selection(self, row: Row) -> Selection:
        item = rows.must(row, "item")
        return Selection(
            iri=item,
            fact=self._facts.get(item),
            removed=self._removed_since(self._facts.get(item)),
            chunk=rows.text(row, "chunk"),
            sentence=rows.text(row, "sentence"),
            score=_score(row),
            rank=rows.whole(row, "rank"),
            hop=rows.whole(row, "hop"),
            edge_id=rows.text(row, "edge_id"),
            concept=rows.text(row, "concept"),
            reasoning=rows.text(row, "reasoning"),
            marker=rows.whole(row, "marker"),
            closest=rows.truth(row, "closest"),
            sources=tuple(self._sources[item]),
        )

    def _read_sources(self) -> defaultdict[str, list[Source]]:
        """Quotes of facts, sentences, whole chunks where neither says which part, what facts came from that
        were read from no text, and what of all this is gone.
        """
        found: defaultdict[str, list[Source]] = defaultdict(list)
        for name in ("evidence", "sentence-sources", "chunk-sources", "origins"):
            for row in self._select(name):
                source = read_source(row)
                if source not in found[rows.must(row, "item")]:
                    found[rows.must(row, "item")].append(source)
        for row in self._select("lost-sources"):
            lost = Source(rows.text(row, "chunk"), document=rows.text(row, "document"), state="forgotten")
            found[rows.must(row, "item")].append(lost)
        named = iter(with_names(self._store, [source for group in found.values() for source in group]))
        return defaultdict(list, {item: [next(named) for _ in group] for item, group in found.items()})


def read_source(row: Row) -> Source:
    """A source from a row of a template that leads to places in documents, as `trace/evidence` does."""
    quote = rows.text(row, "quote")
    base, offset = rows.whole(row, "chunk_offset"), rows.whole(row, "offset")
    chunk = rows.text(row, "chunk")
    located = quote is not None and offset is not None
    whole_chunk = quote is None and chunk is not None
    retired = rows.moment(row, "retired")
    return Source(
        chunk=chunk,
        document=rows.text(row, "document"),
        title=rows.text(row, "title"),
        uri=rows.text(row, "location"),
        page=rows.text(row, "page"),
        page_number=rows.whole(row, "page_number"),
        page_label=rows.text(row, "page_label"),
        chunk_number=rows.whole(row, "chunk_number"),
        chunk_label=rows.text(row, "chunk_label"),
        char_offset=(base or 0) + (offset or 0) if located or whole_chunk else None,
        char_length=rows.whole(row, "length") if located or whole_chunk else None,
        quote=quote or "",
        verified=located,
        evidence=rows.text(row, "evidence"),
        subgraph=rows.text(row, "subgraph"),
        activity=rows.text(row, "activity"),
        state="retired" if retired else "current",
        retired=retired,
    )


def _grouped(found: Iterable[Row], make: Callable[[Row], _T]) -> defaultdict[str, tuple[_T, ...]]:
    groups: defaultdict[str, tuple[_T, ...]] = defaultdict(tuple)
    for row in found:
        groups[rows.must(row, "step")] += (make(row),)
    return groups


def _score(row: Row) -> Score:
    return Score(*(rows.number(row, part) for part in ("score", "lexical", "vector", "graph", "rerank")))


def _warning(row: Row) -> dict[str, str]:
    return {"type": rows.must(row, "type"), "detail": rows.text(row, "detail") or ""}


def _sentences(found: Iterable[Row]) -> defaultdict[str, tuple[AnswerSentence, ...]]:
    by_sentence: dict[str, list[Row]] = {}
    for row in found:
        by_sentence.setdefault(rows.must(row, "sentence"), []).append(row)
    groups: defaultdict[str, tuple[AnswerSentence, ...]] = defaultdict(tuple)
    for iri, same in by_sentence.items():
        first = same[0]
        sentence = AnswerSentence(
            iri=iri,
            text=rows.text(first, "text"),
            offset=rows.whole(first, "offset") or 0,
            length=rows.whole(first, "length") or 0,
            cites=tuple(rows.must(row, "cited") for row in same if "cited" in row),
            markers=tuple(number for row in same if (number := rows.whole(row, "marker")) is not None),
        )
        groups[rows.must(first, "step")] += (sentence,)
    return groups


def _look_ups(found: Iterable[Row]) -> defaultdict[str, tuple[LookUp, ...]]:
    by_item: dict[str, list[Row]] = {}
    for row in found:
        by_item.setdefault(rows.must(row, "item"), []).append(row)
    groups: defaultdict[str, tuple[LookUp, ...]] = defaultdict(tuple)
    for iri, same in by_item.items():
        chunks = tuple(rows.must(row, "selection") for row in same if "selection" in row)
        look_up = LookUp(iri, rows.text(same[0], "phrase"), chunks, rows.whole(same[0], "queries") or 0)
        groups[rows.must(same[0], "step")] += (look_up,)
    return groups


def _call(row: Row) -> Call:
    return Call(
        iri=rows.must(row, "call"),
        kind=rows.must(row, "kind"),
        template=rows.text(row, "template"),
        rows=rows.whole(row, "rows"),
        purpose=rows.text(row, "purpose"),
        model=rows.text(row, "model"),
        in_tokens=rows.whole(row, "in_tokens"),
        out_tokens=rows.whole(row, "out_tokens"),
        ms=rows.whole(row, "ms"),
        cached=rows.truth(row, "cached") if "cached" in row else None,
        sparql=rows.text(row, "sparql"),
        prompt=rows.text(row, "prompt"),
        completion=rows.text(row, "completion"),
    )
