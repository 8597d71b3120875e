"""What is selected: chunks, as many as fit, and facts; and how selections are written into traces.

The best chunks are taken whole. Of the others it is a window: whole sentences around the one that speaks most
of the question. A chunk that says nearly the same as a better one is left out, unless it has another number
or name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeAlias

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.exploration import Edge, PassageHit
from graphrag_rdf.steps.figures import known_figures
from graphrag_rdf.steps.kinds import Limit, Some, StepParameters
from graphrag_rdf.steps.sources import chunk_of, chunk_sentences, chunk_texts
from graphrag_rdf.steps.state import Called, Context, Parameters, Selection, State
from graphrag_rdf.trace.citations import MARKER, cited_numbers
from graphrag_rdf.trace.model import CHUNK, EDGE, SENTENCE
from graphrag_rdf.trace.recorder import Step

RANKED = 100
"""Chunks of the ranking that count."""

_LEAST = 0.5  # of a window that is still worth showing
_AHEAD = 10  # chunks whose sentences are looked up at once

_TOLD = 0.005  # of a score: smaller parts are not told as its reason

_PARTICULAR = re.compile(r"\b[^\W\d_a-zß-öø-ÿ]\w*|\w*\d\w*")
"""A word that begins like a name, or has a digit."""

_Placed: TypeAlias = tuple[int, int, float]
"""Offset and length of a sentence in its chunk, and its score."""


class FittingParameters(StepParameters):
    """Of the chunks that fit."""

    chunk_limit: Limit = Field(20, description="chunks selected, by rank")
    chunk_tokens: Limit = Field(1600, description="tokens of all selected chunks together")
    whole_chunks: Limit = Field(2, description="best chunks that are taken whole")
    whole_tokens: Some = Field(500, description="tokens taken of each of these, at most")
    window_tokens: Some = Field(200, description="tokens taken of another chunk, around its best sentence")


def select_chunks(context: Context, state: State, step: Step, parameters: Parameters) -> list[Selection]:
    """The chunks, best first; the state keeps which were well ranked, whether or not they fit.

    After a filter only those count that hold something which it kept.
    """
    ranked = state.passages[:RANKED]
    if parameters["filter"] != "none":
        kept = {chunk_of(hit.sentence.value) for hit in state.hits}
        kept |= {chunk_of(sentence.value) for edge in state.edges for sentence in edge.sentences}
        ranked = [hit for hit in ranked if hit.chunk.value in kept]
    room = parameters["chunk_tokens"], parameters["whole_chunks"]
    selections = fit_chunks(context, state, step, ranked, parameters, *room)
    asked = ranked[: parameters["chunk_limit"]]
    state.well_ranked = [hit.chunk for hit in asked if hit.chunk.value in state.texts]
    return selections


def fit_chunks(
    context: Context,
    state: State,
    step: Step,
    ranked: Sequence[PassageHit],
    parameters: Parameters,
    tokens: int,
    whole: int,
    shown: Sequence[Selection] = (),
) -> list[Selection]:
    """The best of ranked chunks, as many as fit; the first also if it does not.

    Args:
        tokens: that they may take together.
        whole: so many of the best are taken whole.
        shown: what was selected before. Of these chunks it is another part, around the best sentence that was
            found there.
    """
    asked = ranked[: parameters["chunk_limit"]]
    if not asked:
        return []
    texts = chunk_texts(context, state, step, [hit.chunk.value for hit in asked])
    asked = [
        hit for hit in asked if hit.chunk.value in texts and hit.score > 0
    ]  # else gone, or found by nothing
    folded = _folded(state, [hit.chunk.value for hit in asked])
    before: dict[str, list[Selection]] = {}
    for one in shown:
        if one.passage is not None:
            before.setdefault(one.passage.chunk.value, []).append(one)
    room = tokens
    out: list[Selection] = []
    for place, hit in enumerate(asked):
        chunk = hit.chunk.value
        size = min(room, parameters["whole_tokens" if place < whole else "window_tokens"])
        window = None
        if chunk in folded:
            continue
        if chunk in before or count_tokens(texts[chunk][0]) > size:
            if out and tokens < _LEAST * parameters["window_tokens"]:
                continue
            first = place - place % _AHEAD
            ahead = [hit.chunk.value for hit in asked[first : first + _AHEAD]]
            sentences = chunk_sentences(context, state, step, ahead)[chunk]
            window = _part(state, chunk, sentences, size, before.get(chunk))
            if window is None:
                continue
        offset, length = window or (None, None)
        selection = Selection(
            chunk=hit.chunk,
            char_offset=offset,
            char_length=length,
            score=hit.score,
            passage=hit,
            authority=hit.authority,
            reasoning=_reason(hit, place + 1, len(ranked)),
        )
        taken = tokens_of(state, selection)
        if taken <= tokens or not out:
            out.append(selection)
            tokens -= taken
    return out


def tokens_of(state: State, selection: Selection) -> int:
    """The tokens of what was selected of a chunk."""
    assert selection.chunk is not None  # noqa: S101
    text, _ = state.texts[selection.chunk.value]
    offset, length = selection.window or (0, len(text))
    return count_tokens(text[offset : offset + length])


def _folded(state: State, chunks: Sequence[str]) -> set[str]:
    """Chunks that say nearly the same as a better one, and have no number and no name that it lacks."""
    best: dict[str, list[str]] = {}
    for chunk in chunks:
        best.setdefault(state.alike.get(chunk, chunk), []).append(chunk)
    return {
        chunk
        for alike in best.values()
        for place, chunk in enumerate(alike)
        if any(_says_no_more(state.texts[chunk][0], state.texts[former][0]) for former in alike[:place])
    }


def _says_no_more(text: str, than: str) -> bool:
    particulars = {*_PARTICULAR.findall(than)}
    if not particulars.issuperset(_PARTICULAR.findall(text)):
        return False
    return known_figures(text).values <= known_figures(than).values


def _part(
    state: State,
    chunk: str,
    sentences: Sequence[tuple[int, int, str]],
    tokens: int,
    shown: Sequence[Selection] | None,
) -> tuple[int, int] | None:
    """The place in a chunk of the sentences that are taken: offset and length. None where there is none, or
    where nothing was found but what was shown before.
    """
    scores = {hit.sentence.value: hit.score for hit in state.hits}
    placed = [(offset, length, scores.get(iri, 0.0)) for offset, length, iri in sentences]
    unshown = _unshown(placed, shown) if shown else placed
    return _window(unshown, state.texts[chunk][0], tokens) if unshown else None


def _unshown(sentences: Sequence[_Placed], shown: Sequence[Selection]) -> list[_Placed]:
    """The run of sentences without any that was shown that has the best of those found there, if any has."""
    runs: list[list[_Placed]] = [[]]
    for sentence in sentences:
        if any(selection.window is None or _inside(sentence[0], selection.window) for selection in shown):
            runs.append([])
        else:
            runs[-1].append(sentence)
    best = max(runs, key=lambda run: max((score for _, _, score in run), default=0.0))
    return best if any(score > 0 for _, _, score in best) else []


def _inside(offset: int, window: tuple[int, int]) -> bool:
    return window[0] <= offset < sum(window)


def _window(sentences: Sequence[_Placed], text: str, tokens: int) -> tuple[int, int]:
    """Whole sentences around the best one, as evenly before as after it.

    Args:
        sentences: of the chunk, in order.
        text: of the chunk.
    """
    best = max(range(len(sentences)), key=lambda number: (sentences[number][2], -number))

    @cache
    def cost(number: int) -> int:
        offset, length, _ = sentences[number]
        return count_tokens(text[offset : offset + length])

    first = last = best
    total = cost(best)
    while True:
        before = cost(first - 1) if first else None
        after = cost(last + 1) if last + 1 < len(sentences) else None
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
    reason = tr("rank {place} of {among}").format(place=place, among=among) + (
        f": {made_of}" if made_of else ""
    )
    return (
        reason
        if hit.authority is None
        else tr("{told}; with authority {authority:g}: {score:.2f}").format(
            told=reason, authority=hit.authority, score=hit.score
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
    state: State, parameters: Parameters, limit: int, *, min_share: float = 0.0, unverified: bool = False
) -> list[Edge]:
    """The best facts that exploration found.

    Args:
        min_share: of the best fact's score that others need.
        unverified: also those whose quote was not found in its chunk.
    """
    most = max((edge.score for edge in state.edges), default=0.0)
    least = max(parameters["min_score"], min_share * most)
    verified = [edge for edge in state.edges if unverified or not edge.unverified]
    return [edge for edge in verified if edge.score >= least][:limit]


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
            selection.hop = selection.edge.hop
            selection.description = selection.edge.description
        elif selection.hit:
            selection.chunk = NamedNode(chunk_of(selection.hit.sentence.value))
            selection.sentence = selection.hit.sentence
        used = () if selection.endpoint else selection.sources
        selection.used_chunks = _nodes(source.chunk for source in used)
        selection.used_origins = _nodes(source.document for source in used if source.chunk is None)
        selection.evidence = _nodes(source.evidence for source in used)
        context.recorder.item(step, EDGE if selection.edge else SENTENCE, selection)


def _nodes(iris: Iterable[str | None]) -> tuple[NamedNode, ...]:
    return tuple(NamedNode(iri) for iri in dict.fromkeys(iris) if iri)


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
    marked = [selection for selection in selections if selection.marker in cited]
    for selection in sorted(marked, key=lambda selection: cited.index(selection.marker or 0)):
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


def _each_once(match: re.Match[str]) -> str:
    """Two numbers there may be one here."""
    return "".join(dict.fromkeys(re.findall(r"\[\d+\]", match[0])))


def _next_number(state: State) -> int:
    return 1 + max(state.markers, default=0)


def _key(selection: Selection) -> object:
    edge, hit = selection.edge, selection.hit
    return edge.triple if edge else hit.sentence if hit else selection.chunk
