"""What is selected: chunks, as many as fit, and facts; and how selections are written into traces.

Of a chunk that is too long it is a window: whole sentences around the one that speaks most of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.exploration import Edge, PassageHit
from graphrag_rdf.steps.sources import chunk_of, chunk_texts
from graphrag_rdf.steps.state import Called, Context, Parameters, Selection, State
from graphrag_rdf.trace.citations import MARKER, cited_numbers
from graphrag_rdf.trace.model import CHUNK, EDGE, SENTENCE
from graphrag_rdf.trace.recorder import Step

RANKED = 100
"""Chunks of the ranking that count."""

_TOLD = 0.005  # of a score: smaller parts are not told as its reason

_Placed: TypeAlias = tuple[int, int, float]
"""Offset and length of a sentence in its chunk, and its score."""


def select_chunks(context: Context, state: State, step: Step, parameters: Parameters) -> list[Selection]:
    """The chunks, best first; the state keeps which were well ranked, whether or not they fit.

    After a filter only those count that hold something which it kept.
    """
    ranked = state.passages[:RANKED]
    if parameters["filter"] != "none":
        kept = {chunk_of(hit.sentence.value) for hit in state.hits}
        kept |= {chunk_of(sentence.value) for edge in state.edges for sentence in edge.sentences}
        ranked = [hit for hit in ranked if hit.chunk.value in kept]
    found = fit_chunks(context, state, step, ranked, parameters, parameters["chunk_tokens"])
    asked = ranked[: parameters["chunk_limit"]]
    state.well_ranked = [hit.chunk for hit in asked if hit.chunk.value in state.texts]
    return found


def fit_chunks(
    context: Context,
    state: State,
    step: Step,
    ranked: Sequence[PassageHit],
    parameters: Parameters,
    tokens: int,
) -> list[Selection]:
    """The best of ranked chunks, as many as fit.

    Args:
        tokens: that they may take together.
    """
    asked = ranked[: parameters["chunk_limit"]]
    if not asked:
        return []
    texts = chunk_texts(context, state, step, [hit.chunk.value for hit in asked])
    asked = [hit for hit in asked if hit.chunk.value in texts]  # else gone meanwhile
    long = min(parameters["window_tokens"], tokens)
    taken = {chunk: count_tokens(text) for chunk, (text, _) in texts.items()}
    rows = [
        (hit.chunk, place, hit.score, min(taken[hit.chunk.value], long))
        for place, hit in enumerate(asked, start=1)
    ]
    limit = parameters["chunk_limit"]
    found = context.decide(step, "selection/chunks", ranked=rows, tokens=tokens, limit=limit)
    fitting = {text_of(row["chunk"]) for row in found}
    cut = [hit.chunk for hit in asked if hit.chunk.value in fitting and taken[hit.chunk.value] > long]
    windows = _windows(context, state, step, cut, long)
    out = []
    for place, hit in enumerate(asked, start=1):
        if hit.chunk.value in fitting:
            offset, length = windows.get(hit.chunk.value, (None, None))
            selection = Selection(
                chunk=hit.chunk,
                char_offset=offset,
                char_length=length,
                score=hit.score,
                passage=hit,
                authority=hit.authority,
                reasoning=_reason(hit, place, len(ranked)),
            )
            out.append(selection)
    return out


def _windows(
    context: Context, state: State, step: Step, chunks: Sequence[NamedNode], tokens: int
) -> dict[str, tuple[int, int]]:
    """Of each long chunk the place in it of the sentences that are shown: offset and length."""
    if not chunks:
        return {}
    rows = context.select(step, "retrieval/passage-sentences", chunks=chunks)
    scores = {hit.sentence.value: hit.score for hit in state.hits}
    found: dict[str, list[_Placed]] = {}
    for row in rows:
        iri, offset, length = (text_of(row[name]) for name in ("sentence", "offset", "length"))
        placed = int(offset), int(length), scores.get(iri, 0.0)
        found.setdefault(chunk_of(iri), []).append(placed)
    return {chunk: _window(sorted(own), state.texts[chunk][0], tokens) for chunk, own in found.items()}


def _window(sentences: Sequence[_Placed], text: str, tokens: int) -> tuple[int, int]:
    """Whole sentences around the best one, as evenly before as after it.

    Args:
        sentences: of the chunk, in order.
        text: of the chunk.
    """
    best = max(range(len(sentences)), key=lambda number: (sentences[number][2], -number))
    costs = [count_tokens(text[offset : offset + length]) for offset, length, _ in sentences]
    first = last = best
    total = costs[best]
    while True:
        before = costs[first - 1] if first else None
        after = costs[last + 1] if last + 1 < len(sentences) else None
        if after is not None and total + after <= tokens and (before is None or last - best <= best - first):
            last, total = last + 1, total + after
        elif before is not None and total + before <= tokens:
            first, total = first - 1, total + before
        elif after is not None and total + after <= tokens:
            last, total = last + 1, total + after
        else:
            break
    (start, _, _), (end, length, _) = sentences[first], sentences[last]
    return start, end + length - start


def _reason(hit: PassageHit, place: int, among: int) -> str:
    shares = {name: hit.weights.get(name, 0.0) * value for name, value in hit.signals.items()}
    parts = sorted(((share, name) for name, share in shares.items()), reverse=True)
    made_of = ", ".join(f"{name} {share:.2f}" for share, name in parts if share >= _TOLD)
    told = tr("rank {place} of {among}").format(place=place, among=among) + (
        f": {made_of}" if made_of else ""
    )
    return (
        told
        if hit.authority is None
        else tr("{told}; with authority {authority:g}: {score:.2f}").format(
            told=told, authority=hit.authority, score=hit.score
        )
    )


def record_chunks(context: Context, state: State, step: Step, first: int) -> None:
    """Write which chunks were selected, and which well ranked ones were not.

    Args:
        first: how many selections the trace has already.
    """
    left_out = set(state.well_ranked)
    for rank, selection in enumerate(state.chunks, start=first + 1):
        assert selection.chunk is not None  # noqa: S101
        left_out.discard(selection.chunk)
        selection.rank, selection.used_chunks = rank, (selection.chunk,)
        context.recorder.item(step, CHUNK, selection)
    for chunk in sorted(left_out, key=str):
        context.recorder.say(step, RAG.leftOut, chunk)


def best_facts(
    context: Context,
    state: State,
    parameters: Parameters,
    step: Step,
    limit: int,
    *,
    min_share: float = 0.0,
    unverified: bool = False,
) -> list[Edge]:
    """The best facts that exploration found.

    Args:
        min_share: of the best fact's score that others need.
        unverified: also those whose quote was not found in its chunk.
    """
    rows = context.decide(
        step,
        "selection/facts",
        facts=[(*edge.triple, rank, edge.score, edge.unverified) for rank, edge in enumerate(state.edges)],
        min_score=parameters["min_score"],
        min_share=min_share,
        unverified=unverified,
        limit=limit,
    )
    return [state.edges[int(text_of(row["rank"]))] for row in rows]


def record_selections(context: Context, step: Step, selections: Sequence[Selection], first: int = 0) -> None:
    """Write which facts and sentences were selected.

    Args:
        first: how many selections the trace has already.
    """
    for rank, selection in enumerate(selections, start=first + 1):
        about = selection.edge or selection.hit
        assert about is not None  # noqa: S101
        selection.rank = rank
        selection.lexical, selection.vector, selection.graph = about.lexical, about.vector, about.graph
        selection.reranked, selection.authority = about.reranked, about.authority
        if selection.edge:
            selection.triple, selection.also = selection.edge.triple, selection.edge.also
            selection.hop, selection.edge_id = selection.edge.hop, selection.edge.label_hash
            selection.description = selection.edge.description
        elif selection.hit:
            selection.chunk = NamedNode(chunk_of(selection.hit.sentence.value))
            selection.sentence = selection.hit.sentence
        used = selection.sources
        selection.used_chunks = _nodes(source.chunk for source in used)
        selection.used_origins = _nodes(source.document for source in used if source.chunk is None)
        selection.evidence = _nodes(source.evidence for source in used)
        context.recorder.item(step, EDGE if selection.edge else SENTENCE, selection)


def _nodes(found: Iterable[str | None]) -> tuple[NamedNode, ...]:
    return tuple(NamedNode(iri) for iri in dict.fromkeys(found) if iri)


def cite(state: State, selection: Selection, number: int | None = None) -> int:
    """The number by which the run can cite a selection. The run holds each selection once.

    Args:
        number: for one that has none yet; by default the next.
    """
    held = next((one for one in state.selections if _key(one) == _key(selection)), None)
    if held is None:
        held = selection
        state.selections.append(held)
    if held.marker is None:
        held.marker = number or _next_number(state)
    return held.marker


def adopted(state: State, called: Called) -> str:
    """The answer of another run, its citations numbered on. What it cites becomes a selection of this run,
    which can be cited too; what is cited already keeps its number.
    """
    return adopt(state, str(called.answer["answer"]), called.state.selections)


def adopt(state: State, answer: str, selections: Sequence[Selection]) -> str:
    """A text of another run with its citations numbered on (see `adopted`).

    Args:
        selections: of that run.
    """
    cited = cited_numbers(answer)
    numbers: dict[int, dict[int, None]] = {}  # there → here
    fresh: dict[int, int] = {}
    marked = [one for one in selections if one.marker in cited]
    for selection in sorted(marked, key=lambda one: cited.index(one.marker or 0)):
        there = selection.marker or 0
        copied = replace(selection, marker=None, iri=None, taken_from=selection.iri or selection.taken_from)
        offered = fresh.get(there) or _next_number(state)
        number = cite(state, copied, offered)
        if number == offered:
            fresh[there] = number
        numbers.setdefault(there, {})[number] = None

    def written(marker: re.Match[str]) -> str:
        return "".join(f"[{number}]" for number in numbers.get(int(marker[1]), ()))

    return _RUN.sub(_each_once, MARKER.sub(written, answer))


_RUN = re.compile(r"(?:\[\d+\]){2,}", re.ASCII)
"""Citations in a row."""


def _each_once(found: re.Match[str]) -> str:
    """Two numbers there may be one here."""
    return "".join(dict.fromkeys(re.findall(r"\[\d+\]", found[0])))


def _next_number(state: State) -> int:
    return 1 + max(state.markers, default=0)


def _key(selection: Selection) -> object:
    edge, hit = selection.edge, selection.hit
    return edge.triple if edge else hit.sentence if hit else selection.chunk
