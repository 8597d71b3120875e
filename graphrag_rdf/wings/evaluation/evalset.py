"""Evaluation sets: passages, questions with answers and gold passages, optionally recorded triples."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_rdf.errors import UsageError, in_words, read_text, short_cause
from graphrag_rdf.i18n import tr


class Passage(BaseModel):
    """A passage; retrieval ranks these."""

    model_config = ConfigDict(frozen=True)

    title: str
    text: str


class Question(BaseModel):
    """A question.

    Attributes:
        gold: indexes of the passages needed to answer it.
        document, pages: for questions about a store: the file with the answer, and its pages.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    q: str
    answers: tuple[str, ...] = ()
    gold: tuple[int, ...] = ()
    document: str | None = None
    pages: tuple[int, ...] = ()


class EvalSet(BaseModel):
    """An evaluation set, as in its JSON file.

    Attributes:
        openie: recorded triples of a model, per passage.
        entities: recorded names of a model, per passage.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    corpus: tuple[Passage, ...]
    questions: tuple[Question, ...]
    openie: tuple[tuple[tuple[str, ...], ...], ...] | None = None
    entities: tuple[tuple[str, ...], ...] | None = None


class StoredQuestion(BaseModel):
    """A line of a file of questions about the documents of a store.

    Attributes:
        id: default: the line number.
        answer, answers: expected answers; either or neither.
        document, pages: name or path of the file with the answer, and its page numbers, from 1.
    """

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)

    id: str | None = None
    q: str
    answer: str | None = None
    answers: tuple[str, ...] = ()
    document: str | None = None
    pages: tuple[int, ...] = ()


def load_questions(path: Path) -> EvalSet:
    """Read questions about documents of a store, one JSON object per line.

    Returns:
        a set without passages.

    Raises:
        UsageError: the file is missing or empty, a line is not a question, or two questions have the same id.
    """
    questions = [
        Question(
            id=line.id or str(number),
            q=line.q,
            answers=(*([line.answer] if line.answer else ()), *line.answers),
            document=line.document,
            pages=line.pages,
        )
        for number, line in enumerate(read_lines(path, StoredQuestion), start=1)
    ]
    (id_, times), *_ = Counter(question.id for question in questions).most_common(1)
    if times > 1:
        raise UsageError(tr("{path}: two questions have the id {id}").format(path=path, id=id_))
    return EvalSet(name=path.stem, corpus=(), questions=tuple(questions))


def load_evalset(path: Path) -> EvalSet:
    """Read a set.

    Raises:
        UsageError: when the file is missing or not an evaluation set.
    """
    try:
        evalset = EvalSet.model_validate(json.loads(read_text(path)))
    except ValidationError as error:
        raise UsageError(
            tr("{path}: not an evaluation set: {error}").format(path=path, error=_first_fault(error))
        ) from error
    except ValueError as error:
        raise UsageError(
            tr("{path}: not an evaluation set: {error}").format(path=path, error=str(error).splitlines()[0])
        ) from error
    size = len(evalset.corpus)
    for question in evalset.questions:
        if any(not 0 <= index < size for index in question.gold):
            raise UsageError(
                tr("{path}: question {id} has a gold passage that is not in the corpus").format(
                    path=path, id=question.id
                )
            )
    for name in ("openie", "entities"):
        recorded = getattr(evalset, name)
        if recorded is not None and len(recorded) != size:
            raise UsageError(
                tr("{path}: {name} has {count} entries for {size} passages").format(
                    path=path, name=name, count=len(recorded), size=size
                )
            )
    return evalset


def _first_fault(error: ValidationError) -> str:
    """The place and message of the first error."""
    fault = error.errors()[0]
    return ": ".join(filter(None, [".".join(map(str, fault["loc"])), in_words(fault)]))


Item = TypeVar("Item", bound=BaseModel)


def read_lines(path: Path, kind: type[Item]) -> list[Item]:
    """The objects of a file, in order; empty lines are left out.

    Raises:
        UsageError: the file cannot be read, has no lines, or has a line that is not such an object.
    """
    items = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):  # strings may hold other line ends
        if not line.strip():
            continue
        try:
            items.append(kind.model_validate_json(line))
        except ValidationError as error:
            reason = short_cause(error).removeprefix(": Value error, ")
            raise UsageError(
                tr("{path}, line {number}: {reason}").format(path=path, number=number, reason=reason)
            ) from error
    if not items:
        raise UsageError(tr("{path} has no lines").format(path=path))
    return items
