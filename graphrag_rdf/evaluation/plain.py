"""The baselines of `eval answers`: what the chunks or sentences with the highest BM25 give, and nothing else.

A model is asked once, with the pipeline's own prompt for answers, and evidence in the same form that fills
the same number of tokens. Nothing is grounded, explored or selected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.documents.tokens import count_tokens
from graphrag_rdf.evaluation.bm25 import Bm25
from graphrag_rdf.evaluation.corpus import UNTITLED
from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.prepare import language_of
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.answer import compose, read_answer
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.steps.refusals import SENTINEL, nothing_found
from graphrag_rdf.steps.state import Selection, SourceQuote, State

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.pipeline import Pipeline

Ask = Callable[[str], dict[str, Any]]
"""From a question to what `ask --format json` prints, as far as it is needed here."""

_QUOTED = 3  # sentences of the baseline without a model
_RANKED = 50  # chunks: more than ever fit
_BATCH = 500
_MARK = 4  # tokens for the number of a line, as the pipeline counts them


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    document: str
    title: str
    uri: str
    chunk: str

    @property
    def indexed(self) -> str:
        return self.text if self.title == UNTITLED else f"{self.title}\n{self.text}"

    @property
    def sentences(self) -> Iterator[_Piece]:
        for sentence in split_sentences(self.text, detect_language(self.text)):
            quote = self.text[sentence.offset : sentence.offset + sentence.length]
            yield _Piece(" ".join(quote.split()), self.document, self.title, self.uri, self.chunk)

    @property
    def source(self) -> SourceQuote:
        return SourceQuote(self.document, self.title, self.uri, self.chunk, quote=self.text)


def baseline(engine: Engine, pipeline: Pipeline) -> Ask:
    """Question → the answer of the model to the best chunks; without a model the three best sentences.

    Args:
        engine: whose documents are searched, and whose model is asked.
        pipeline: whose prompt and number of tokens are used.
    """
    chunks = _chunks(engine)
    if engine.settings.llm.model is None:
        sentences = [sentence for chunk in chunks for sentence in chunk.sentences]
        ranking = _ranking(sentences)
        return lambda question: _quoted([sentences[at] for at in ranking.rank(question, _QUOTED)])
    pieces = [
        _Piece(part.text, chunk.document, chunk.title, chunk.uri, chunk.chunk)
        for chunk in chunks
        for part in chunk_text(chunk.text, language=detect_language(chunk.text))
    ]
    ranking = _ranking(pieces)
    return lambda question: _asked(
        engine, pipeline, question, [pieces[at] for at in ranking.rank(question, _RANKED)]
    )


def _chunks(engine: Engine) -> list[_Piece]:
    """All chunks of a store."""
    iris = [row["chunk"] for row in engine.store.select("index/all-chunks")]
    found = []
    for batch in in_batches(iris, _BATCH):
        for row in engine.store.select("retrieval/chunks", chunks=batch):
            parts = (text_of(row[name]) for name in ("text", "document", "title", "location", "chunk"))
            found.append(_Piece(*parts))
    return sorted(found, key=lambda piece: (piece.document, piece.chunk))


def _ranking(pieces: Sequence[_Piece]) -> Bm25:
    language = detect_language("\n".join(piece.text for piece in pieces[:200]))
    return Bm25([piece.indexed for piece in pieces], language)


def _quoted(sentences: Sequence[_Piece]) -> dict[str, Any]:
    citations = [
        {"sentence": piece.text, "sources": [{**piece.source.as_json(), "quote": piece.text}]}
        for piece in sentences
    ]
    return {"answer": " ".join(piece.text for piece in sentences), "citations": citations}


def _asked(engine: Engine, pipeline: Pipeline, question: str, ranked: Sequence[_Piece]) -> dict[str, Any]:
    begun = time.perf_counter()
    state = State(question, language_of(engine, question))
    step = next(step for step in pipeline.definition.steps if step.name == "synthesis")
    lines = _fitting(ranked, int(step.parameters["evidence_tokens"]))
    if not lines or step.prompt is None:
        return {"answer": nothing_found(state.language), "answered": False}
    prompt = render(
        pipeline.folder,
        step.prompt,
        question=question.strip(),
        history=[],
        documents=_told(lines),
        response_type=step.parameters["response_type"],
        allow_general_knowledge=step.parameters["allow_general_knowledge"],
        unknown=SENTINEL,
    )
    state.completion = engine.gateway.chat([{"role": "user", "content": prompt}], purpose="baseline")
    read_answer(state, set(range(1, len(lines) + 1)))
    if state.answered:
        state.selections = [
            Selection(0.0, sources=(line.source,), marker=number, shown=f"{line.title}\n{line.text}")
            for number, line in enumerate(lines, start=1)
        ]
    compose(state)
    usage = {
        "llm_calls": 1,
        "in_tokens": state.completion.in_tokens,
        "out_tokens": state.completion.out_tokens,
    }
    return {**state.final, "usage": usage, "seconds": time.perf_counter() - begun}


def _fitting(ranked: Sequence[_Piece], tokens: int) -> list[_Piece]:
    """The sentences of the best chunks, one after the other, until the tokens are used up."""
    lines: list[_Piece] = []
    for sentence in (sentence for piece in ranked for sentence in piece.sentences):
        tokens -= count_tokens(sentence.text) + _MARK
        if tokens < 0 and lines:
            break
        lines.append(sentence)
    return lines


def _told(lines: Sequence[_Piece]) -> list[dict[str, Any]]:
    """Lines as the prompt takes them: numbered below the titles of their documents, none marked as chosen."""
    documents: list[dict[str, Any]] = []
    before = None
    for number, line in enumerate(lines, start=1):
        if line.document != before:
            documents.append({"head": line.title, "lines": [], "marked": False})
            before = line.document
        plain: dict[str, Any] = {"page": None, "gap": False, "chosen": False, "reasoning": None, "facts": []}
        documents[-1]["lines"].append({"number": number, "text": line.text, **plain})
    return documents
