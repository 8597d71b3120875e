"""The model's choice among the evidence, and look-ups of what it says is missing.

The words of a question of several steps do not name everything that it asks for: the wife of the builder of a
bridge. Once the builder is found, his name is searched for like a question of its own, by activation with the
parameters of exploration. The best chunks that were not selected before are added to the selection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.rdf.namespaces import METADATA, RAG, RDFS
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.activate import Activation
from graphrag_rdf.steps.evidence import Line, collect, hit_of
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.ground import concepts_by_rules
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.same_facts import as_one
from graphrag_rdf.steps.selection import RANKED, best_facts, fit_chunks
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.trace.kinds import ItemKind, item, place_in_list, said
from graphrag_rdf.trace.reader import Reading
from graphrag_rdf.trace.recorder import Step

_SHARE = 0.25  # of the best chunk's score: those below it share little more than common words
_UNREAD = 10  # facts that were read from no text, that a model may choose among
_PHRASES = 3  # that are searched for at a time,
_PHRASE = 200  # and characters of one
_NOTHING = {"", "none", "nothing"}
_ID = re.compile(r"(\d+)\W*([a-z])?\W*\Z", re.IGNORECASE)

Items: TypeAlias = dict[str, tuple[Line, Edge | None]]
"""Id → what the model may choose: a line of the evidence, or a fact below it."""

Choice: TypeAlias = dict[str, tuple[float | None, str | None]]
"""Id → the model's score from 0 to 1, and its reason."""


@item
class LookUp:
    """A search for what the model said is missing from the selected chunks.

    Attributes:
        text: what was searched for; None when it was erased.
        calls: the queries that it ran.
        selections: the selected chunks that it added, by rank.
    """

    JSON: ClassVar = ("iri", "text", "selections", "queries")

    text: str | None = said(RDFS.label, words=True)
    calls: tuple[NamedNode, ...] = said(RAG.call, default=())
    index: int | None = said(RAG.index, default=None)
    selections: tuple[NamedNode, ...] = ()
    iri: NamedNode | None = None

    @property
    def queries(self) -> int:
        """How many queries it ran."""
        return len(self.calls)


def _complete_look_ups(reading: Reading, found: Sequence[LookUp]) -> None:
    for one in found:
        assert one.iri is not None  # noqa: S101 - it was read
        chunks = reading.subjects(RAG.foundByLookUp, one.iri)
        one.selections = tuple(sorted(chunks, key=lambda iri: place_in_list(iri, reading.nodes[iri])))


LOOK_UP = ItemKind(
    "look-up",
    "look_ups",
    RAG.lookUp,
    RAG.LookUp,
    LookUp,
    always=("index",),
    complete=_complete_look_ups,
)


def look_up(
    context: Context, state: State, step: Step, parameters: Parameters, phrases: Sequence[str]
) -> list[Selection]:
    """Search for phrases; record each search with the step. They share `lookup_tokens`, and what one of them
    leaves is for the next.

    Args:
        phrases: none of which was searched for before.

    Returns:
        The chunks that are added to the selection, before those that the model passed over; those of the
            first phrase first.
    """
    found: list[Selection] = []
    room = parameters["lookup_tokens"]
    for number, phrase in enumerate(phrases):
        tokens = room // (len(phrases) - number)
        chunks = _look_up(context, state, step, parameters, phrase, found, tokens)
        found += chunks
        room -= sum(_tokens(state, chunk) for chunk in chunks)
    state.chunks = sorted([*state.chunks, *found], key=lambda chunk: chunk.passed_over)
    return found


def _look_up(
    context: Context,
    state: State,
    step: Step,
    parameters: Parameters,
    phrase: str,
    beside: Sequence[Selection],
    tokens: int,
) -> list[Selection]:
    node = context.recorder.item(step, LOOK_UP, LookUp(phrase, index=len(state.looked_up)))
    state.looked_up.append(phrase)
    recorded = len(step.quads)
    asked = replace(
        state,
        question=phrase,
        concepts=[],
        also=(),
        seeds=[],
        edges=[],
        hits=[],
        passages=[],
        include=(),
        history=(),
    )
    asked.concepts = concepts_by_rules(context, asked, step)
    run = Activation(context, asked, state.exploring, step)
    run.spread()
    run.rank_passages()
    run.gather()
    ranked = asked.passages[:RANKED]
    rows = context.decide(
        step,
        "selection/looked-up",
        ranked=[(hit.chunk, rank, hit.score) for rank, hit in enumerate(ranked)],
        share=_SHARE,
    )
    good = [ranked[int(text_of(row["rank"]))] for row in rows]
    taken = {one.passage.chunk: one for one in (*state.chunks, *beside) if one.passage}
    for hit in good:
        if hit.chunk in taken:  # what is missing may be there, overlooked
            taken[hit.chunk].passed_over = False
    fresh = [hit for hit in good if hit.chunk not in taken]
    chunks = fit_chunks(context, asked, step, fresh, parameters, tokens)
    for chunk in chunks:
        chunk.look_up = node
        chunk.reasoning = f"look-up “{phrase}”: {chunk.reasoning}"
    calls = [quad.object for quad in step.quads[recorded:] if quad.predicate == RAG.call]
    step.quads += [context.recorder.quad(node, RAG.call, call) for call in calls]
    _merge(context, state, step, asked)
    return chunks


def _tokens(state: State, selection: Selection) -> int:
    assert selection.passage is not None  # noqa: S101
    text, _ = state.texts[selection.passage.chunk.value]
    offset, length = selection.window or (0, len(text))
    return count_tokens(text[offset : offset + length])


def _merge(context: Context, state: State, step: Step, asked: State) -> None:
    """Add the sentences and facts of a look-up to those that were found before."""
    known = {hit.sentence for hit in state.hits}
    state.hits = [*(hit for hit in asked.hits if hit.sentence not in known), *state.hits]
    facts = {fact for edge in state.edges for fact in (edge.triple, *edge.also)}
    found = [edge for edge in asked.edges if edge.triple not in facts]
    kept = {id(edge) for edge in as_one(partial(context.select, step), [*state.edges, *found])}
    state.edges = [edge for edge in (*found, *state.edges) if id(edge) in kept]


def choose(context: Context, state: State, parameters: Parameters, step: Step) -> list[Selection]:
    """Choose among the selected chunks, and among those that each look-up adds. What the last one adds goes
    to the answer without being asked about.
    """
    selections: list[Selection] = []
    asked: set[object] = set()
    chosen_before: list[str] = []
    lookups = parameters["lookups"] if state.exploring else 0
    while True:
        items = offer(context, state, parameters, step)
        found = {key: item for key, item in items.items() if _about(item) not in asked}
        chosen, missing = ask(
            context, state, parameters, step, found, lookups=lookups, chosen_before=chosen_before
        )
        selections += selections_of(state, parameters, found, chosen)
        useful = {found[key][0].chunk for key in chosen}
        for line, _ in found.values():
            if line.chunk is not None and line.chunk not in useful:
                state.chunks[line.chunk].passed_over = True
        if not (lookups and missing and look_up(context, state, step, parameters, missing)):
            break
        state.evidence = None  # it lacks what was added
        lookups -= 1
        if not lookups:
            break
        asked |= {_about(one) for one in found.values()}
        chosen_before += dict.fromkeys(found[key][0].text for key in chosen)
    ordered = sorted(state.chunks, key=lambda chunk: chunk.passed_over and chunk.look_up is not None)
    if ordered != state.chunks:  # what fruitless look-ups found comes last
        state.chunks, state.evidence = ordered, None
    return selections


def offer(context: Context, state: State, parameters: Parameters, step: Step) -> Items:
    """What the model chooses from: the sentences of the selected chunks, facts that were read from them, and
    facts that say more than any text. Heads of documents tell who made them and when already, so that such
    facts are offered only if the question asks for them.
    """
    edges = offered(context, state, parameters, step)
    unread = [edge for edge in edges if edge.says_more and (edge.triple[1] not in METADATA or edge.asked)]
    state.evidence = collect(context, state, step, state.chunks, (), unread[:_UNREAD])
    state.evidence.offer(edges)
    return state.evidence.numbered()


def _about(item: tuple[Line, Edge | None]) -> object:
    """What stands on the line of an item: a sentence, or a fact that was read from none."""
    line, _ = item
    return line.sentence or line.facts[0].triple


def offered(context: Context, state: State, parameters: Parameters, step: Step) -> list[Edge]:
    """The facts that a model may choose among."""
    return best_facts(context, state, parameters, step, parameters["offered_limit"], unverified=True)


def ask(
    context: Context,
    state: State,
    parameters: Parameters,
    step: Step,
    items: Items,
    *,
    ask: str = "choose",
    lookups: int = 0,
    chosen_before: Sequence[str] = (),
) -> tuple[Choice, list[str]]:
    """What the model says of the items: to choose among them, to score each, or to give reasons; and what it
    would search for, none of which was searched for before.

    Args:
        lookups: how often what is missing may still be searched for.
        chosen_before: sentences.
    """
    if not items:
        return {}, []
    assert state.evidence is not None  # noqa: S101 - the items are of it
    lines = list({line.number: line for line, _ in items.values()}.values())
    text = ask_model(
        context,
        step,
        "select further" if state.looked_up else {"choose": "select"}.get(ask, f"select {ask}"),
        prompt="select",
        question=state.question,
        history=state.conversation,
        documents=state.evidence.told(lines, items.keys()),
        ask=ask,
        lookups=lookups,
        before=chosen_before,
        searched=state.looked_up,
        facts_only=all(edge for _, edge in items.values()),
        limit=parameters["edge_limit"],
    )
    answers, bad = parse_items(text)
    chosen: Choice = {}
    missing: dict[str, str] = {}
    unknown = [f"unreadable: {each.text[:80]}" for each in bad]
    if not answers and not bad and text.strip(" \n\"'.*").lower() not in ("", "none"):
        unknown.append(f"unreadable: {text.strip()[:80]}")
    for each in answers:
        for phrase in _missing(each):
            missing.setdefault(phrase.casefold(), phrase)
        for key in _ids(each):
            if key == "none" or (not key and "missing" in each):
                continue
            if key not in items:
                unknown.append(key or str(each)[:80])
            elif key not in chosen:
                reasoning = " ".join(str(each.get("reasoning") or each.get("reason") or "").split())
                chosen[key] = _score(each.get("score")), reasoning or None
    if unknown:
        state.warn(
            "selection_ignored",
            tr("the model chose what was not offered: {names}").format(names="; ".join(unknown[:5])),
        )
    before = {phrase.casefold() for phrase in state.looked_up}
    return chosen, [phrase for key, phrase in missing.items() if key not in before][:_PHRASES]


def _missing(item: Any) -> list[str]:
    """What an answer line says to search for next."""
    given = item.get("missing") if isinstance(item, dict) else None
    phrases = (
        " ".join(str(one).split())[:_PHRASE] for one in (given if isinstance(given, list) else [given]) if one
    )
    return [phrase for phrase in phrases if phrase.casefold() not in _NOTHING]


def _ids(item: Any) -> list[str]:
    """The ids of an answer line as they were offered, however they are written: `[12]`, `S12`, `12 a`."""
    given = item.get("id", item.get("ids", "")) if isinstance(item, dict) else ""
    found = []
    for one in given if isinstance(given, list) else [given]:
        match = _ID.search(str(one))
        found.append((match[1] + (match[2] or "").lower()) if match else str(one).strip().lower())
    return found


def _score(value: Any) -> float | None:
    """A score from 0 to 1; also one that was written as text, of ten, or in percent."""
    try:
        score = float(str(value).strip().rstrip("%"))
    except ValueError:
        return None
    if not 0 <= score <= 100:
        return None
    return score if score <= 1 else score / 10 if score <= 10 and "%" not in str(value) else score / 100


def selections_of(state: State, parameters: Parameters, items: Items, chosen: Choice) -> list[Selection]:
    """What the model chose."""
    selections = []
    for key, (score, reasoning) in chosen.items():
        line, edge = items[key]
        if score == 0:  # not chosen, only listed
            continue
        if edge:
            known = edge.score if score is None else score
            selections.append(Selection(score=known, edge=edge, reasoning=reasoning))
        else:
            hit = hit_of(state, line, score or parameters["min_score"])
            known = hit.score if score is None else score
            selections.append(Selection(score=known, hit=hit, reasoning=reasoning))
    return selections
