"""The baselines of `eval answers`: what the chunks or sentences with the highest BM25 give, and nothing else.

A model is asked once, with the pipeline's own prompt for answers, and evidence in the same form that fills
the same number of tokens. Nothing is grounded, explored or selected.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.prepare import language_of
from graphrag_rdf.steps.answer import compose, read_answer
from graphrag_rdf.steps.asking import prompt_values
from graphrag_rdf.steps.checking import nothing_found
from graphrag_rdf.steps.evidence import Evidence, Line
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.steps.state import Selection, State
from graphrag_rdf.store.base import select_in_batches
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.wings.evaluation.corpus import UNTITLED

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.pipeline import Pipeline

Ask = Callable[[str], dict[str, Any]]
"""From a question to what `ask --format json` prints, as far as it is needed here."""

_QUOTED = 3  # sentences of the baseline without a model
_RANKED = 50  # chunks: more than ever fit


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
    def source(self) -> Source:
        return Source(self.document, self.title, self.uri, self.chunk, quote=self.text)


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
    pieces = [
        _Piece(row["text"], row["document"], row["title"], row["location"], row["chunk"].value)
        for row in select_in_batches(engine.store, "retrieval/chunks", "chunks", iris)
    ]
    return sorted(pieces, key=lambda piece: (piece.document, piece.chunk))


def _ranking(pieces: Sequence[_Piece]) -> Bm25:
    language = detect_language("\n".join(piece.text for piece in pieces[:200]))
    return Bm25([piece.indexed for piece in pieces], language)


def _quoted(sentences: Sequence[_Piece]) -> dict[str, Any]:
    citations = [{"sentence": piece.text, "sources": [piece.source.cited()]} for piece in sentences]
    return {"answer": " ".join(piece.text for piece in sentences), "citations": citations}


def _asked(engine: Engine, pipeline: Pipeline, question: str, ranked: Sequence[_Piece]) -> dict[str, Any]:
    state = State(question.strip(), language_of(engine, question))
    step = pipeline.step("synthesis")
    evidence = _evidence(ranked)
    values = step.values() if step is not None else {}
    tokens = int(values.get("evidence_tokens", 0))
    lines = evidence.fitting(tokens, tokens, ())
    if not lines or step is None:
        return {"answer": nothing_found(state.language, state.question), "answered": False}
    prompt = render(
        pipeline.prompt_folders,
        {**step.kind.prompts, **step.prompts}["answer"],
        **prompt_values(state, evidence.told(lines), values),
    )
    state.completion = engine.gateway.chat([{"role": "user", "content": prompt}], purpose="baseline")
    read_answer(state, {line.number for line in lines})
    if state.answered:
        state.selections = [
            Selection(sources=(source,), marker=line.number, shown=f"{source.title}\n{line.text}")
            for line in lines
            if (source := line.source) is not None
        ]
    compose(state)
    usage = {
        "llm_calls": 1,
        "in_tokens": state.completion.in_tokens,
        "out_tokens": state.completion.out_tokens,
    }
    return {**state.final, "usage": usage}


def _evidence(ranked: Sequence[_Piece]) -> Evidence:
    """The sentences of chunks, below the titles of their documents; nothing is chosen."""
    lines: list[Line] = []
    for rank, piece in enumerate(ranked):
        for sentence in piece.sentences:
            source = sentence.source
            lines.append(Line(len(lines) + 1, sentence.text, sentence.document, source=source, chunk=rank))
    return Evidence(lines, {piece.document: piece.title for piece in ranked})


class Bm25:
    """BM25 (Robertson et al., 1994; idf as in Lucene, never negative) over texts.

    Args:
        texts: ranked by their position here; each is one field. A title belongs in front of its text.
        language: BCP 47 tag by which texts and questions are stemmed and lose stop words.
        k1, b: saturation of a term's count, and normalisation by length.
    """

    def __init__(
        self, texts: Sequence[str], language: str | None, *, k1: float = 1.5, b: float = 0.75
    ) -> None:
        self._language = language
        counts = [Counter(analyse(text, language)) for text in texts]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / max(1, len(texts)) or 1.0
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, count in enumerate(counts):
            norm = k1 * (1 - b + b * lengths[place] / mean)
            for term, times in count.items():
                postings[term].append((place, times * (k1 + 1) / (times + norm)))
        self._postings = dict(postings)
        self._texts = len(texts)

    def rank(self, question: str, k: int) -> list[int]:
        """The positions of the k best texts that share a term with a question, best first, ties in order."""
        scores: dict[int, float] = defaultdict(float)
        for term, times in Counter(analyse(question, self._language)).items():
            postings = self._postings.get(term, ())
            idf = math.log(1 + (self._texts - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, weight in postings:
                scores[place] += times * idf * weight
        return sorted(scores, key=lambda place: (-scores[place], place))[:k]
