"""From marks to grades: which passages of which questions people found helpful, and which wrong."""

from __future__ import annotations

from graphrag_rdf.evaluation.evalset import EvalSet
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.store.base import Store
from graphrag_rdf.tuning.placing import Grades


def graded_by_marks(store: Store, pipeline: str) -> dict[str, Grades]:
    """Question → chunk → 1 (helpful) or -1 (wrong), of all marks of traces of a pipeline.

    The majority counts. What was said of a fact or sentence counts for the passages that it stands in, and
    wins over what was said of an answer that cites them.
    """
    votes: dict[str, dict[str, tuple[bool, int]]] = {}
    for row in store.select("trace/marked-passages", pipeline=pipeline):
        chunks = votes.setdefault(text_of(row["question"]), {})
        direct, count = bool(to_python(row["direct"])), int(str(to_python(row["votes"])))
        known = chunks.get(text_of(row["chunk"]))
        if known is None or (direct and not known[0]):
            chunks[text_of(row["chunk"])] = direct, count
    graded = {
        question: {chunk: 1 if count > 0 else -1 for chunk, (_, count) in chunks.items() if count}
        for question, chunks in votes.items()
    }
    return {question: grades for question, grades in graded.items() if grades}


def graded_by_set(evalset: EvalSet, index_of: dict[str, int]) -> dict[str, Grades]:
    """Question → chunk → 1, of the gold passages of an evaluation set.

    Args:
        index_of: chunk → index of its passage.
    """
    chunk_of = {index: chunk for chunk, index in index_of.items()}
    return {
        question.q: {chunk_of[index]: 1 for index in question.gold if index in chunk_of}
        for question in evalset.questions
        if any(index in chunk_of for index in question.gold)
    }
