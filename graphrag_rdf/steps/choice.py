"""The model's choice among the evidence, and look-ups of what it says is missing.

The words of a question of several steps do not name everything that it asks for: the wife of the builder of a
bridge. Once the builder is found, his name is searched for like a question of its own, by activation with the
parameters of exploration. The best chunks that it finds, or other parts of those selected before, are added
to the selection, and the model is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.rdf.namespaces import METADATA, RAG, RDFS
from graphrag_rdf.steps.activate import Activation
from graphrag_rdf.steps.asking import AnswerParameters, Asked
from graphrag_rdf.steps.evidence import Line, collect, hit_of
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.ground import concepts_by_rules
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.same_facts import as_one
from graphrag_rdf.steps.selection import RANKED, best_facts, fit_chunks, tokens_of
from graphrag_rdf.steps.sources import facts_said
from graphrag_rdf.steps.state import Answering, Context, Parameters, Selection, State
from graphrag_rdf.trace.kinds import ItemKind, item, place_in_list, said
from graphrag_rdf.trace.reader import Reading
from graphrag_rdf.trace.recorder import Step

_SHARE = 0.25  # of the best chunk's score: those below it share little more than common words
_UNREAD = 10  # facts that were read from no text, that a model may choose among
_ID = re.compile(r"(\d+)\W*\Z")

Items: TypeAlias = dict[int, tuple[Line, Edge | None]]
"""Number → what the model may choose: a line of the evidence, or a fact below it."""

Choice: TypeAlias = dict[int, tuple[float | None, str | None]]
"""Number → the model's score from 0 to 1, and its reason."""


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
        room -= sum(tokens_of(state, chunk) for chunk in chunks)
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
    run = Activation(context, asked, state.exploring, step, node)
    run.spread()
    run.rank_passages()
    run.gather()
    ranked = asked.passages[:RANKED]
    least = _SHARE * max((hit.score for hit in ranked), default=0.0)
    good = [hit for hit in ranked if hit.score >= least]
    shown = [*state.chunks, *beside]
    found = {hit.chunk for hit in good}
    for one in shown:
        if one.chunk in found:  # what is missing may be there, overlooked
            one.passed_over = False
    chunks = fit_chunks(context, asked, step, good, parameters, tokens, parameters["whole_chunks"], shown)
    for chunk in chunks:
        chunk.look_up = node
        chunk.reasoning = f"look-up “{phrase}”: {chunk.reasoning}"
    calls = [quad.object for quad in step.quads[recorded:] if quad.predicate == RAG.call]
    step.quads += [context.recorder.quad(node, RAG.call, call) for call in calls]
    _merge(context, state, step, asked)
    return chunks


def _merge(context: Context, state: State, step: Step, asked: State) -> None:
    """Add the sentences and facts of a look-up to those that were found before."""
    known = {hit.sentence for hit in state.hits}
    state.hits = [*(hit for hit in asked.hits if hit.sentence not in known), *state.hits]
    facts = {fact for edge in state.edges for fact in (edge.triple, *edge.also)}
    found = [edge for edge in asked.edges if edge.triple not in facts]
    kept = {id(edge) for edge in as_one(partial(context.select, step), [*state.edges, *found])}
    state.edges = [edge for edge in (*found, *state.edges) if id(edge) in kept]


def choose(context: Context, state: State, parameters: Parameters, step: Step) -> list[Selection]:
    """Ask for the answer. What the model notes for it is chosen, with all facts that were read from no text.
    What it says is missing is searched for.

    The state keeps the answer that has begun, for the step that gives it out.
    """
    answering = state.answering or Answering(AnswerParameters.model_validate({}).model_dump())
    context = replace(context, prompts={**context.prompts, **answering.prompts})
    chosen: dict[object, Selection] = {}
    lookups = parameters["lookups"] if state.exploring else 0
    while True:
        items = offer(context, state, parameters, step, by_rules=False)
        assert state.evidence is not None  # noqa: S101 - it was offered
        for edge in state.evidence.unread:
            chosen.setdefault(edge.triple, Selection(score=edge.score, edge=edge))
        state.evidence.choose(chosen.values())
        if not items:
            break
        asked = Asked(context, state, state.evidence, answering.parameters, notes=True, lookups=lookups)
        known: Choice = {number: (None, why) for number, why in asked.reply.notes.items()}
        _warn_of_unknown(state, known.keys() - items.keys())
        noted = {number: choice for number, choice in known.items() if number in items}
        for one in selections_of(state, parameters, items, noted):
            chosen.setdefault(_about(one), one).reasoning = one.reasoning
        reply = asked.reply
        before = {phrase.casefold() for phrase in state.looked_up}
        missing = [phrase for phrase in reply.missing if phrase.casefold() not in before] if lookups else []
        if not missing and reply.answers:
            state.asked = asked
            break
        asked.finish(step, "look again" if state.looked_up else "look")
        if not missing and not lookups:
            break  # neither an answer nor anything to search for: it is asked once more, without notes
        for line, _ in items.values():
            if line.chunk is not None:
                state.chunks[line.chunk].passed_over = True
        for number in noted:
            if (rank := items[number][0].chunk) is not None:
                state.chunks[rank].passed_over = False
        lookups = lookups - 1 if missing and look_up(context, state, step, parameters, missing) else 0
    if state.answering is None and state.asked is not None:  # nobody goes on with it
        state.asked.finish(step, "look")
        state.asked = None
    selections = [*chosen.values()]
    return [*selections, *facts_said(context, state, step, selections)]


def _about(selection: Selection) -> object:
    return selection.edge.triple if selection.edge else selection.hit and selection.hit.sentence


def _warn_of_unknown(state: State, unknown: Collection[object]) -> None:
    if unknown:
        state.warn(
            "selection_ignored",
            tr("the model chose what was not offered: {names}").format(
                names="; ".join(map(str, [*unknown][:5]))
            ),
        )


def offer(
    context: Context, state: State, parameters: Parameters, step: Step, *, by_rules: bool = True
) -> Items:
    """What the model chooses from: the sentences of the selected chunks, facts that were read from them, and
    facts that say more than any text. Heads of documents tell who made them and when already, so that such
    facts are offered only if the question asks for them.

    Args:
        by_rules: also facts that rules read, which repeat the words of their sentences.
    """
    edges = offered(state, parameters)
    unread = [edge for edge in edges if edge.says_more and (edge.triple[1] not in METADATA or edge.asked)]
    state.evidence = collect(context, state, step, state.chunks, (), unread[:_UNREAD])
    if edges and not by_rules:
        facts = [(number, *edge.triple) for number, edge in enumerate(edges)]
        rows = context.select(step, "selection/read-by-model", facts=facts)
        edges = [edges[number] for number in sorted(row["number"] for row in rows)]
    state.evidence.offer(edges)
    return state.evidence.numbered()


def offered(state: State, parameters: Parameters) -> list[Edge]:
    """The facts that a model may choose among."""
    return best_facts(state, parameters, parameters["offered_limit"], unverified=True)


def ask(
    context: Context, state: State, parameters: Parameters, step: Step, items: Items, *, ask: str = "choose"
) -> Choice:
    """What the model says of the items: to choose among them, to score each, or to give reasons."""
    if not items:
        return {}
    assert state.evidence is not None  # noqa: S101 - the items are of it
    lines = list({line.number: line for line, _ in items.values()}.values())
    text = ask_model(
        context,
        step,
        "select" if ask == "choose" else f"select {ask}",
        prompt="select",
        question=state.question,
        history=state.conversation,
        documents=state.evidence.told(lines, items.keys()),
        ask=ask,
        facts_only=all(edge for _, edge in items.values()),
        limit=parameters["edge_limit"],
    )
    answers, bad = parse_items(text)
    chosen: Choice = {}
    unknown = [f"unreadable: {each.text[:80]}" for each in bad]
    if not answers and not bad and text.strip(" \n\"'.*").lower() not in ("", "none"):
        unknown.append(f"unreadable: {text.strip()[:80]}")
    for each in answers:
        for key in _ids(each):
            if isinstance(key, int) and key in items:
                reasoning = " ".join(str(each.get("reasoning") or each.get("reason") or "").split())
                chosen.setdefault(key, (_score(each.get("score")), reasoning or None))
            elif key != "none":
                unknown.append(str(key or each)[:80])
    _warn_of_unknown(state, unknown)
    return chosen


def _ids(item: Any) -> list[int | str]:
    """The numbers of an answer line as they were offered, however they are written: `[12]`, `S12`."""
    given = item.get("id", item.get("ids", "")) if isinstance(item, dict) else ""
    found: list[int | str] = []
    for one in given if isinstance(given, list) else [given]:
        match = _ID.search(str(one))
        found.append(int(match[1]) if match else str(one).strip().lower())
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
