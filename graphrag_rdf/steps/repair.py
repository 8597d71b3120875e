"""Repair: the model sees once which sentences of its answer are uncited or unsupported, and corrects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_rdf.llm.model import Completion
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.answer import cite, claims_of, in_one_form
from graphrag_rdf.steps.checking import check_answer, uncited
from graphrag_rdf.steps.models import stream_model
from graphrag_rdf.steps.state import Context, Selection, State
from graphrag_rdf.trace.recorder import Step

_UNSUPPORTED = frozenset({"unsupported_name", "unsupported_numeric"})


def repair(
    context: Context,
    state: State,
    step: Step,
    by_marker: Mapping[int, Sequence[Selection]],
    prompt: Mapping[str, Any],
) -> None:
    """Put a corrected answer in the place of the model's first one, if it has fewer problems. The first one
    stays in the trace, as a superseded draft.

    Args:
        by_marker: what the numbers in the prompt stand for.
        prompt: the values of the first prompt.
    """
    draft, first = state.answer, state.completion
    problems = _problems(state, by_marker, draft)
    if not problems or first is None or context.gateway is None:
        return
    found: list[Completion] = []
    values = {**prompt, "draft": draft, "problems": problems}
    for _ in stream_model(context, step, "repair", found.append, prompt="repair", **values):
        pass
    second = found[0]
    text, refused = in_one_form(second.text, state.language, by_marker.keys())
    better = (
        bool(text)
        and not refused
        and not second.truncated
        and len(_problems(state, by_marker, text)) < len(problems)
    )
    context.gateway.discard(first if better else second)  # asked again, the model may do better
    if better:
        state.answer, state.completion = text, second
        context.recorder.say(step, RAG.supersededDraft, context.recorder.keep_text(draft))


def _problems(state: State, by_marker: Mapping[int, Sequence[Selection]], answer: str) -> list[str]:
    """What the model is told of an answer, a line for each uncited or unsupported sentence."""
    sentences = cite(answer, state.language, by_marker)
    claims = claims_of(state, sentences)
    problems = [f"no sentence has the number {n}: {each.text}" for each in sentences for n in each.invalid]
    problems += [f"cites nothing: {claim.words}" for claim in uncited(state.question, claims, state.language)]
    checked = check_answer(state.question, claims, state.language)
    return problems + [detail for kind, detail in checked if kind in _UNSUPPORTED]
