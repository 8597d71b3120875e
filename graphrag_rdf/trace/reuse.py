"""Earlier questions and answers: what a session goes on with, and answers that are given again.

What an answer depends on (the commit of the store's content, pipeline, prompts, parameters, model, filters,
the exact question) makes its key. The key, and the answer as people script against it, are kept with the
step that answered, so a kept answer goes with its trace. Given again, it has a trace of its own, whose
answer `rag:reusesAnswer` the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.store.base import Changes, Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.citations import MARKER
from graphrag_rdf.trace.recorder import Step, TraceRecorder

LASTING = frozenset(
    {
        "no_relevant_facts",
        "not_answered",
        "selection_ignored",
        "unused_sources",
    }
)
"""Warnings with which an answer may be given again. Others say that something was missing, or that the model
may do better next time."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """What an answer depends on.

    Attributes:
        key: SHA-256 over all of it.
        commit: of the store's content, which must not change while the question is answered.
    """

    key: str
    commit: int


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer that can be given again.

    Attributes:
        step: the node that answered.
        question: the question of its trace.
        answer: as `State.final`.
    """

    step: NamedNode
    question: NamedNode
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class KeptStats:
    """How many answers are kept, and how often one was given again."""

    entries: int
    reused: int


def reuse_of(store: Store, depends: Mapping[str, Any]) -> Reuse:
    """What an answer would depend on that is given now.

    Args:
        depends: all but the store's content, as JSON takes it.
    """
    commit = store.content_commit()
    text = json.dumps({**depends, "content_commit": commit}, sort_keys=True, ensure_ascii=False)
    return Reuse(iris.digest(text), commit)


def find_answer(store: Store, blobs: BlobStore, key: str) -> KeptAnswer | None:
    """The newest answer of a trace that was completed, kept under a key and still whole."""
    for row in store.select("trace/kept-answers", key=key):
        data = blobs.text(row["data"])
        if data is not None:
            step, question = row["answer"], row["question"]
            assert isinstance(step, NamedNode)  # noqa: S101
            assert isinstance(question, NamedNode)  # noqa: S101
            return KeptAnswer(step, question, json.loads(data))
    return None


def keep_answer(
    store: Store, recorder: TraceRecorder, step: Step, reuse: Reuse, answer: Mapping[str, Any]
) -> bool:
    """Keep an answer with the step that gives it, unless it was made without a model (then it costs less to
    make it again), with something missing, or while the store changed; whether it was kept.
    """
    lasting = all(warning["type"] in LASTING for warning in answer["warnings"])
    if not recorder.calls or not lasting or store.content_commit() != reuse.commit:
        return False
    recorder.say(step, RAG.answerKey, Literal(reuse.key))
    data = recorder.keep_text(json.dumps(answer, sort_keys=True, ensure_ascii=False))
    recorder.say(step, RAG.answerData, data)
    return True


def stats(store: Store) -> KeptStats:
    """See `KeptStats`."""
    (row,) = store.select("trace/kept-answer-counts")
    entries, reused = row["entries"], row["reused"]
    return KeptStats(int(str(entries)), int(str(reused)))


def clear(store: Store, blobs: BlobStore) -> int:
    """Give no kept answer again; traces stay as they are. How many answers that were."""
    rows = store.select("trace/all-kept-answers")
    if rows:
        store.commit(Changes(updates=[("trace/drop-kept-answers", {})], content=False))
        objects = sorted({row["data"] for row in rows})
        nodes = [NamedNode(iri) for iri in objects]
        named = {row["object"].value for row in store.select("trace/shared-objects", objects=nodes)}
        for iri in objects:
            if iri not in named:
                blobs.delete(iri)
    return len(rows)


_MARKERS = re.compile(rf"\s*{MARKER.pattern}")
_LONGEST = 2000
"""Characters of an answer that a later question sees."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked before, and its answer.

    Attributes:
        asked: the question's node.
        answer: without citations, cut where it is long; empty when there was none.
    """

    asked: NamedNode
    question: str
    answer: str


def read_turns(store: Store, blobs: BlobStore, session: NamedNode, limit: int) -> tuple[Turn, ...]:
    """A session and the ones before it, the oldest first.

    Args:
        limit: how many, at most; the newest.
    """
    rows = store.select("trace/conversation", session=session, limit=limit) if limit else []
    sessions = [row["session"] for row in rows]
    texts = {
        row["session"]: row["text"] or _kept(blobs, row)
        for row in (store.select("trace/answer-texts", sessions=sessions) if sessions else ())
    }
    return tuple(
        Turn(
            row["asked"],
            row["question"],
            _MARKERS.sub("", texts.get(row["session"], ""))[:_LONGEST],
        )
        for row in reversed(rows)
    )


def _kept(blobs: BlobStore, row: Row) -> str:
    """A long text; empty when there is none, or it was forgotten."""
    stored = row["stored"]
    return (blobs.text(stored) if stored else None) or ""
