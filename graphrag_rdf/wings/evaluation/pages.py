"""`eval pages`: measures whether the first chunks are on a page with the evidence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from pydantic import BaseModel, ConfigDict

from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import select_in_batches
from graphrag_rdf.wings.evaluation.baseline import Bm25
from graphrag_rdf.wings.evaluation.corpus import require_whole
from graphrag_rdf.wings.evaluation.evalset import read_lines
from graphrag_rdf.wings.evaluation.metrics import confidence95, mean

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.schedule import Progress

Place = tuple[str, int]
"""Document, number of a page from 1."""

CUT_OFFS = (1, 5, 10)
_DEPTH = 200
"""Number of ranked chunks, enough for several from the document with the answer."""


class PageQuestion(BaseModel):
    """A question, the file with the answer, and its pages with the evidence.

    Attributes:
        document: name of the file, or its path below the folder.
        pages: numbers from 1, in the order of the file.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    q: str
    document: str
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Text:
    """The text and pages of a page or chunk."""

    text: str
    places: frozenset[Place]


def load_page_questions(path: Path) -> list[PageQuestion]:
    """Read questions, one JSON object per line.

    Raises:
        UsageError: the file is missing, or a line is not such a question.
    """
    questions = read_lines(path, PageQuestion)
    for question in questions:
        if not question.pages or min(question.pages) < 1:
            raise UsageError(
                tr("{path}: question {id} has no pages; they count from 1").format(path=path, id=question.id)
            )
    return questions


def evaluate_pages(
    engine: Engine,
    folder: Path,
    questions: Sequence[PageQuestion],
    *,
    pipeline: str = "graph_rag",
    ks: Sequence[int] = CUT_OFFS,
    reading: Progress | None = None,
    progress: Callable[[int, int], None] | None = None,
    settings: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Ingest the PDFs of a folder and rank their chunks for each question.

    Args:
        engine: on an empty store, usually in memory.
        ks: numbers of first chunks (or pages, for BM25 over pages).
        reading: called for each finished chunk; `progress` with (finished questions, all).

    Returns:
        the keys of `eval pages --format json`. `found`: the share of questions with an evidence page among
        the pages of the first k chunks; `document_known`: the same among the chunks of the document that
        answers, if they are ranked.

    Raises:
        UsageError: there is no PDF, or the document of a question is not in the folder.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".pdf")
    if not files:
        raise UsageError(tr("{folder} has no PDF files").format(folder=folder))
    _require_files(folder, files, questions)
    start = time.perf_counter()
    report = engine.ingest(files, root=folder.resolve(), progress=reading)
    require_whole(report)
    if engine.settings.relations.build:
        engine.refresh("relations")
    ingest_seconds = time.perf_counter() - start
    documents, pages = _pages(engine)
    chunks = _chunks(engine)
    gold = []
    for question in questions:
        path = _named(question.document, documents)
        gold.append(frozenset((documents[path], page) for page in question.pages) if path else frozenset())
    ours: list[list[_Text]] = []
    start = time.perf_counter()
    for number, question in enumerate(questions, start=1):
        answer = engine.retrieve(question.q, k=_DEPTH, pipeline=pipeline, settings=settings)
        ours.append([chunks[str(result["chunk"])] for result in answer["results"]])
        if progress is not None:
            progress(number, len(questions))
    seconds = (time.perf_counter() - start) / max(1, len(questions))
    return {
        "name": folder.name,
        "n": len(questions),
        "documents": len(documents),
        "pages": len(pages),
        "chunks": len(chunks),
        "pipeline": pipeline,
        "embedding_model": engine.settings.embedding.model,
        "rerank_model": engine.settings.rerank.model,
        **_figures(ours, gold, ks),
        "baselines": {
            "bm25_pages": _figures(_by_words(pages, questions), gold, ks),
            "bm25_chunks": _figures(_by_words(list(chunks.values()), questions), gold, ks),
        },
        "questions": [
            {"id": question.id, "rank": _rank(ranked, wanted)}
            for question, ranked, wanted in zip(questions, ours, gold, strict=True)
        ],
        "failures": [{"path": failure.path, "reason": failure.reason} for failure in report.failures],
        "ingest_seconds": round(ingest_seconds, 3),
        "seconds_per_question": round(seconds, 4),
    }


def evidence_chunks(engine: Engine, places: Mapping[str, tuple[str, Sequence[int]]]) -> dict[str, set[str]]:
    """The chunks of a store that touch the pages which answer a question.

    Args:
        places: question → name of its document, or path, and numbers of pages; all pages if there are none.

    Raises:
        UsageError: the store does not hold such a document, or several, or not these pages.
    """
    rows = engine.store.select("documents/texts")
    documents = {row["path"]: row["document"].value for row in rows}
    named = {}
    for question, (name, pages) in places.items():
        path = _named(name, documents)
        if path is None:
            raise UsageError(
                tr("question {question} is about {name}, which the store does not hold").format(
                    question=question, name=name
                )
            )
        named[question] = documents[path], pages
    chunks_of: dict[str, set[str]] = {question: set() for question in places}
    for chunk, document, page in _chunk_places(engine, _all_chunks(engine)):
        for question, (wanted, pages) in named.items():
            if document == wanted and (not pages or page in pages):
                chunks_of[question].add(chunk)
    for question, (name, pages) in places.items():
        if pages and not chunks_of[question]:
            raise UsageError(
                tr("question {question}: no text of {name} is on page {names}").format(
                    question=question, name=name, names=", ".join(map(str, pages))
                ),
                hint=tr("leave out pages if the document has none"),
            )
    return chunks_of


def _require_files(folder: Path, files: Sequence[Path], questions: Sequence[PageQuestion]) -> None:
    paths = {normalize("NFC", path.relative_to(folder).as_posix()): "" for path in files}
    for question in questions:
        if _named(question.document, paths) is None:
            raise UsageError(
                tr("question {id} is about {document}, which is not in {folder}").format(
                    id=question.id, document=question.document, folder=folder
                ),
                hint=tr("name files by their path below the folder"),
            )


def _named(document: str, paths: Mapping[str, object]) -> str | None:
    """The path that a question means: the path itself, or the only one with that file name."""
    document = normalize("NFC", document)
    if document in paths:
        return document
    alike = [path for path in paths if path.rsplit("/", 1)[-1] == document]
    return alike[0] if len(alike) == 1 else None


def _pages(engine: Engine) -> tuple[dict[str, str], list[_Text]]:
    """Path below the folder → document; and all pages."""
    documents: dict[str, str] = {}
    pages = []
    for row in engine.store.select("documents/texts"):
        document = row["document"].value
        documents[row["path"].partition("/")[2]] = document
        text = engine.blobs.text(row["text"]) or ""
        for page in engine.store.select("provenance/document-pages", document=row["document"]):
            own = text[page["offset"] : page["offset"] + page["length"]]
            pages.append(_Text(own, frozenset({(document, page["number"])})))
    return documents, pages


def _chunks(engine: Engine) -> dict[str, _Text]:
    """Chunk → its text and the pages that it touches."""
    iris = _all_chunks(engine)
    places: dict[str, set[Place]] = {}
    for chunk, document, page in _chunk_places(engine, iris):
        if page is not None:
            places.setdefault(chunk, set()).add((document, page))
    rows = engine.store.select("retrieval/chunks", chunks=iris)
    texts = {row["chunk"].value: row["text"] for row in rows}
    return {chunk: _Text(texts[chunk], frozenset(places.get(chunk, ()))) for chunk in sorted(texts)}


def _chunk_places(engine: Engine, chunks: Sequence[Term]) -> Iterator[tuple[str, str, int | None]]:
    """(chunk, document, page) of each page that a chunk touches; None in documents without pages."""
    for row in select_in_batches(engine.store, "provenance/chunk-places", "chunks", chunks):
        page = row["page_number"]
        yield row["chunk"], row["document"], page


def _all_chunks(engine: Engine) -> list[Term]:
    return [row["chunk"] for row in engine.store.select("index/all-chunks")]


def _by_words(texts: Sequence[_Text], questions: Sequence[PageQuestion]) -> list[list[_Text]]:
    language = detect_language("\n".join(text.text for text in texts))
    bm25 = Bm25([text.text for text in texts], language)
    return [[texts[place] for place in bm25.rank(question.q, len(texts))] for question in questions]


def _figures(
    ranked: Sequence[Sequence[_Text]], gold: Sequence[frozenset[Place]], ks: Sequence[int]
) -> dict[str, Any]:
    in_document = [
        [text for text in texts if _documents(text.places) & _documents(wanted)]
        for texts, wanted in zip(ranked, gold, strict=True)
    ]
    hits = {k: [_hit(texts[:k], wanted) for texts, wanted in zip(ranked, gold, strict=True)] for k in ks}
    return {
        "found": {str(k): round(mean(values), 4) for k, values in hits.items()},
        "document_known": {
            str(k): round(
                mean([_hit(texts[:k], wanted) for texts, wanted in zip(in_document, gold, strict=True)]), 4
            )
            for k in ks
        },
        "ci95": {str(k): [round(end, 4) for end in confidence95(values)] for k, values in hits.items()},
    }


def _documents(places: frozenset[Place]) -> set[str]:
    return {document for document, _ in places}


def _hit(texts: Sequence[_Text], wanted: frozenset[Place]) -> float:
    return float(any(text.places & wanted for text in texts))


def _rank(texts: Sequence[_Text], wanted: frozenset[Place]) -> int | None:
    """The rank of the first chunk on an evidence page; None where it is not among the ranked ones."""
    return next((rank for rank, text in enumerate(texts, start=1) if text.places & wanted), None)
