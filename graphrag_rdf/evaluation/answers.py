"""`eval answers`: whether the cited evidence holds the gold answer, whether citations say what they are cited
for, and whether the program says that it does not know when the documents do not say.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.evaluation.bm25 import Bm25
from graphrag_rdf.evaluation.corpus import ingest_corpus, passage_iri
from graphrag_rdf.evaluation.evalset import EvalSet
from graphrag_rdf.evaluation.metrics import confidence95, mean
from graphrag_rdf.ingest.forget import forget_documents

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_MARKER = re.compile(r"\[\d+\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'’-]+")
_QUOTED = 3  # sentences of the baseline
_YES_NO = frozenset({"yes", "no"})


def evaluate_answers(
    engine: Engine,
    evalset: EvalSet,
    *,
    extraction: str = "rules",
    pipeline: str = "graph_rag",
    titles: bool = True,
    progress: Callable[[int, int], None] | None = None,
    settings: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Take in the set's corpus and answer its questions, with the gold passages and then without.

    Questions whose answer is yes or no are left out of `contain_accuracy`: no evidence holds that word.

    Args:
        engine: on an empty store, usually in memory; it is changed.

    Returns:
        the keys of `eval answers --format json`. `contain_accuracy`: share of questions whose cited evidence
        contains a gold answer; `citation_precision`: share of numbers and names of cited sentences that
        stand in what they cite; `answered`: share not declined; `abstention`: share declined when all
        gold passages are gone. `baselines.bm25` quotes the three sentences with the highest BM25 (title and
        sentence), and never declines.
    """
    ingest_corpus(engine, evalset, extraction, titles=titles)
    start = time.perf_counter()
    contains: list[float] = []
    precision: list[float] = []
    answered: list[float] = []
    quoted: list[float] = []
    baseline = _baseline(evalset, titles=titles)
    total = len(evalset.questions)
    for number, question in enumerate(evalset.questions, start=1):
        answer = _ask(engine, question.q, pipeline, settings)
        declined = _declined(answer)
        answered.append(float(not declined))
        gold = [fold(text) for text in question.answers]
        if gold and not set(gold) <= _YES_NO:
            contains.append(_contained(gold, _evidence(answer)))
            quoted.append(_contained(gold, baseline(question.q)))
        precision += _supported(answer)
        if progress is not None:
            progress(number, total * 2)
    seconds = (time.perf_counter() - start) / max(1, total)
    abstained = _abstention(engine, evalset, pipeline, settings, progress)
    return {
        "name": evalset.name,
        "n": total,
        "extraction": extraction,
        "embedding_model": engine.settings.embedding.model,
        "rerank_model": engine.settings.rerank.model,
        "model": engine.settings.llm.model,
        "titles": titles,
        "contain_accuracy": round(mean(contains), 4),
        "contain_n": len(contains),
        "ci95": [round(end, 4) for end in confidence95(contains)],
        "citation_precision": round(mean(precision), 4),
        "answered": round(mean(answered), 4),
        "abstention": round(mean(abstained), 4),
        "baselines": {
            "bm25": {
                "contain_accuracy": round(mean(quoted), 4),
                "ci95": [round(end, 4) for end in confidence95(quoted)],
                "answered": 1.0,
                "abstention": 0.0,
            }
        },
        "seconds_per_question": round(seconds, 4),
    }


def _contained(gold: Sequence[str], quotes: Sequence[str]) -> float:
    evidence = fold(" ".join(quotes))
    return float(any(text in evidence for text in gold))


def _baseline(evalset: EvalSet, *, titles: bool) -> Callable[[str], list[str]]:
    """Question → the three sentences of the corpus with the highest BM25."""
    language = detect_language("\n".join(passage.text for passage in evalset.corpus[:50]))
    quotes: list[str] = []
    texts: list[str] = []
    for passage in evalset.corpus:
        for sentence in split_sentences(passage.text, language):
            quotes.append(passage.text[sentence.offset : sentence.offset + sentence.length])
            texts.append(f"{passage.title}\n{quotes[-1]}" if titles else quotes[-1])
    ranking = Bm25(texts, language)
    return lambda question: [quotes[place] for place in ranking.rank(question, _QUOTED)]


def _abstention(
    engine: Engine,
    evalset: EvalSet,
    pipeline: str,
    settings: Mapping[str, str] | None,
    progress: Callable[[int, int], None] | None,
) -> list[float]:
    """Forget all gold passages, then ask again: nothing that answers is left."""
    gold = sorted({index for question in evalset.questions for index in question.gold})
    forget_documents(engine, [passage_iri(evalset, index) for index in gold])
    out = []
    total = len(evalset.questions)
    for number, question in enumerate(evalset.questions, start=1):
        out.append(float(_declined(_ask(engine, question.q, pipeline, settings))))
        if progress is not None:
            progress(total + number, total * 2)
    return out


def fold(text: str) -> str:
    """Text without differences of case, width, accents and punctuation, for containment."""
    flat = unicodedata.normalize("NFKD", text).casefold()
    flat = "".join(c if c.isalnum() else " " for c in flat if unicodedata.category(c) != "Mn")
    return " ".join(flat.split())


def _ask(engine: Engine, question: str, pipeline: str, settings: Mapping[str, str] | None) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for message in engine.ask(question, pipeline, settings=settings, stored=False):
        if message.answer is not None:
            answer = message.answer
    return answer


def _declined(answer: Mapping[str, Any]) -> bool:
    return not answer.get("answered", True)


def _evidence(answer: Mapping[str, Any]) -> list[str]:
    return [
        source["quote"] or "" for citation in answer.get("citations", ()) for source in citation["sources"]
    ]


def _supported(answer: Mapping[str, Any]) -> list[float]:
    """For each number and name of each cited sentence: 1.0 if it stands in what the sentence cites."""
    by_sentence: dict[str, list[str]] = {}
    for citation in answer.get("citations", ()):
        cited = by_sentence.setdefault(citation["sentence"], [])
        cited += [f"{source['quote'] or ''} {source['title']}" for source in citation["sources"]]
        if edge := citation.get("edge"):
            cited.append(f"{edge['s_label']} {edge['p_label']} {edge['o_label']}")
    out: list[float] = []
    for sentence, cited in by_sentence.items():
        text = _MARKER.sub("", sentence)
        evidence = fold(" ".join(cited))
        items = sorted({*_NUMBER.findall(text), *_NAME.findall(text)})
        out += [float(fold(item) in evidence) for item in items]
    return out
