"""Going on with a search that explores, from its trace: what it has is taken over, the rest is asked.

The new trace is whole: it repeats the steps that have an answer, with what they cite, and each says which
step of the earlier trace it was taken from. Follow-up questions that were open, or failed, are queued.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.follow_ups import (
    FAILED,
    FOLLOW_UP,
    FOLLOW_UP_ANSWER,
    REPORTS,
    Action,
    FollowUp,
    Result,
    exploration,
    queue,
    record_follow_up,
    record_marked,
    record_score,
    words_of,
)
from graphrag_rdf.steps.selection import adopt
from graphrag_rdf.steps.state import Context, Selection, SentenceHit, State
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.kinds import NodeKind
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import Selected, Trace, TraceStep
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.recorder import Step


def take_over(context: Context, state: State, name: str, primer: NodeKind) -> Iterator[GraphRagResponse]:
    """Repeat the answered steps of an earlier trace in this one, and queue its other follow-up questions.

    Args:
        name: see `find_trace`; it asked the same question.
        primer: the kind of step that the search begins with.

    Raises:
        UsageError: when there is no such trace, it is of another question, or has nothing to go on with.
    """
    trace = _earlier(context, state, name, primer)
    begin = context.recorder.last
    follow_ups: dict[NamedNode, tuple[FollowUp, NamedNode]] = {}
    answered: set[NamedNode] = set()
    for earlier in trace.steps:
        of = earlier.values.get("of")
        if earlier.kind == primer.name:
            context.recorder.last = begin
            step = context.recorder.step(primer)
            context.recorder.say(step, RAG.resumes, NamedNode(trace.iri))
            _repeat_primer(context, state, step, earlier)
        elif (
            earlier.kind == FOLLOW_UP_ANSWER.name and earlier.values["status"] != FAILED and of in follow_ups
        ):
            follow_up, proposed_by = follow_ups[of]
            answered.add(of)
            context.recorder.last = (proposed_by,)
            step = context.recorder.step(FOLLOW_UP_ANSWER)
            _repeat_answer(context, state, step, earlier, follow_up)
        else:
            continue
        context.recorder.say(step, RAG.takenFrom, NamedNode(earlier.iri))
        follow_ups |= _repeat_proposals(context, step, earlier)
        yield context.recorder.finish(step)
    for old, (follow_up, proposed_by) in follow_ups.items():
        if old in answered:
            exploration(state).asked.setdefault(words_of(follow_up.question or ""), follow_up.question or "")
        elif follow_up.dropped is None:
            queue(state, follow_up, proposed_by)
    thought = tr("{count} answer(s) taken over, {open} follow-up question(s) open").format(
        count=len(answered), open=len(exploration(state).open)
    )
    yield context.recorder.text_chunk(thought, "thought")


def _earlier(context: Context, state: State, name: str, primer: NodeKind) -> Trace:
    trace = read_trace(context.store, find_trace(context.store, name), context.blobs)
    again = tr("begin a search with: {command}").format(command='graphrag-rdf ask --pipeline drift "…"')
    if trace.source_forgotten:
        raise UsageError(tr("words of the trace {iri} were forgotten").format(iri=trace.iri), hint=again)
    if trace.question != state.question:
        raise UsageError(
            tr("the trace {iri} is of another question: {question}").format(
                iri=trace.iri, question=trace.question
            ),
            hint=again,
        )
    if not any(step.kind == primer.name for step in trace.steps):
        raise UsageError(tr("the trace {iri} has no search to go on with").format(iri=trace.iri), hint=again)
    if context.store.content_commit() > (trace.commit or 0):
        state.warn(
            "resumed_outdated", tr("documents changed since: what was answered before rests on the old ones")
        )
    return trace


def _repeat_primer(context: Context, state: State, step: Step, earlier: TraceStep) -> None:
    text = _repeat_text(state, earlier)
    score = earlier.values["score"]
    for report in earlier.items["reports"]:
        report.iri = None
        context.recorder.item(step, next(kind for kind in step.kind.items if kind.key == "reports"), report)
    for source in earlier.values["read"]:
        context.recorder.say(step, RAG.readSource, source)
    context.recorder.text(step, text)
    record_score(context, step, score, earlier.values["reason"] or "")
    record_marked(context, step, [selection for selection in state.selections if selection.marker])
    exploration(state).results.append(Result(state.question, text, score or 0.0, step.iri, REPORTS))


def _repeat_answer(
    context: Context, state: State, step: Step, earlier: TraceStep, follow_up: FollowUp
) -> None:
    values = earlier.values
    assert follow_up.iri is not None  # noqa: S101 - it is recorded
    action = Action(
        values["question"] or "", follow_up.promise, follow_up.depth, follow_up.iri, step.derived_from[0]
    )
    text, why = _repeat_text(state, earlier), values["reason"] or ""
    record_follow_up(context, state, step, action, values["status"], text, values["score"], why)


def _repeat_text(state: State, earlier: TraceStep) -> str:
    """The text of an earlier step; what it cites can be cited in this run."""
    return adopt(state, earlier.answer or "", [_selection(selected) for selected in earlier.selections])


def _selection(selected: Selected) -> Selection:
    """A selection of a trace as one of a run."""
    selection = Selection(
        score=selected.score or 0.0,
        marker=selected.marker,
        reasoning=selected.reasoning,
        sources=selected.sources,
        taken_from=selected.iri,
    )
    if selected.fact is not None:
        fact = selected.fact
        triple = (fact.s, fact.p, fact.o)
        selection.edge = Edge(triple, fact.s_label, fact.p_label, fact.o_label, 0, "out", fact.s)
        selection.edge.also, selection.edge.also_facts = selected.also, selected.also_facts
        selection.shown = selection.edge.text
    elif selected.sentence is not None:
        selection.hit = SentenceHit(selected.sentence)
    return selection


def _repeat_proposals(
    context: Context, step: Step, earlier: TraceStep
) -> dict[NamedNode, tuple[FollowUp, NamedNode]]:
    """The follow-up questions of an earlier step → the same in this run, and the step that proposes them."""
    repeated = {
        follow_up.iri: FollowUp(follow_up.question, follow_up.promise, follow_up.depth, follow_up.dropped)
        for follow_up in earlier.items["follow_ups"]
    }
    context.recorder.items(step, FOLLOW_UP, repeated.values())
    return {node_of(old): (follow_up, step.iri) for old, follow_up in repeated.items()}
