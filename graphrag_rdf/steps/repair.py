"""Repair: the model sees once which sentences of its answer are uncited or unsupported, and corrects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_rdf.llm.model import Completion
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.answer import sentences_of
from graphrag_rdf.steps.checking import Claim, check_answer, refuses, uncited
from graphrag_rdf.steps.citations import cited_numbers, with_markers
from graphrag_rdf.steps.evidence import Evidence, Line
from graphrag_rdf.steps.models import stream_model
from graphrag_rdf.steps.refusals import is_sentinel, without_sentinel
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.recorder import Step

_UNSUPPORTED = frozenset({"unsupported_name", "unsupported_numeric"})


def repair(
    context: Context,
    state: State,
    step: Step,
    evidence: Evidence,
    lines: Sequence[Line],
    prompt: Mapping[str, Any],
) -> None:
    """Put a corrected answer in the place of the model's first one, if it has fewer problems. The first one
    stays in the trace, as a superseded draft.

    Args:
        lines: of the evidence, as the prompt shows them.
        prompt: the values of the first prompt.
    """
    draft, first = state.answer, state.completion
    problems = _problems(state, evidence, lines, draft)
    if not problems or first is None or context.gateway is None:
        return
    found: list[Completion] = []
    values = {**prompt, "draft": draft, "problems": problems}
    for _ in stream_model(context, step, "repair", found.append, template=context.repair_prompt, **values):
        pass
    second = found[0]
    known = {line.number for line in lines}
    text = without_sentinel(with_markers(second.text.strip(), known)).strip()
    better = (
        bool(text)
        and not second.truncated
        and not is_sentinel(text)
        and not refuses(sentences_of(text, state.language), known)
        and len(_problems(state, evidence, lines, text)) < len(problems)
    )
    context.gateway.discard(first if better else second)  # asked again, the model may do better
    if better:
        state.answer, state.completion = text, second
        context.recorder.say(step, RAG.supersededDraft, context.recorder.keep_text(draft))


def _problems(state: State, evidence: Evidence, lines: Sequence[Line], answer: str) -> list[str]:
    """What the model is told of an answer, a line for each uncited or unsupported sentence."""
    shown = {line.number: line for line in lines}
    claims, problems = [], []
    for sentence in sentences_of(answer, state.language):
        numbers = cited_numbers(sentence)
        cited = [shown[number] for number in numbers if number in shown]
        problems += [f"no sentence has the number {n}: {sentence}" for n in numbers if n not in shown]
        texts = [f"{evidence.heads.get(line.document, '')}\n{line.text}" for line in cited]
        beside = evidence.text_of({line.document for line in cited})
        claims.append(Claim(sentence, tuple(texts), beside))
    problems += [f"cites nothing: {claim.words}" for claim in uncited(state.question, claims, state.language)]
    checked = check_answer(state.question, claims, state.language)
    return problems + [detail for kind, detail in checked if kind in _UNSUPPORTED]
