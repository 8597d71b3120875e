"""Retrieval and answers on two question sets, by each extraction, with and without vectors and titles.

    python -m benchmarks.evaluation [--questions 25] [--sets hotpot] [--extraction rules recorded]

The baselines, BM25 and dense search over the same passages, are of the same run. Vectors come from a local
model, if the environment names its folder. Each combination has a process of its own. `located` is the share
of recorded facts whose quote stands in the passage at exactly the offsets that the store gives.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import MINILM_VARIABLE, cpu_seconds, data_folder, no_data, peak_mb, table, worker

SETS = {"hotpot": "hotpot_train100.json", "musique": "musique_train100.json"}
EXTRACTIONS = ("rules", "recorded", "rules,recorded")
_LOCATED = """
PREFIX rag: <https://w3id.org/graphrag-rdf/ns#>
PREFIX tg: <https://trustgraph.ai/ns/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
SELECT ?fact ?quote ?offset ?length ?content WHERE {
  GRAPH <urn:graph:source> {
    ?subgraph rag:extractor "recorded/1" ; tg:contains ?fact ; prov:wasDerivedFrom ?chunk .
    ?evidence rdf:reifies ?fact ; prov:wasDerivedFrom ?subgraph ; tg:sourceText ?quote ;
      tg:sourceCharOffset ?offset ; tg:sourceCharLength ?length .
    ?chunk tg:content ?content .
  }
}
"""
_FACTS = """
PREFIX rag: <https://w3id.org/graphrag-rdf/ns#>
PREFIX tg: <https://trustgraph.ai/ns/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT (COUNT(*) AS ?facts) WHERE {
  GRAPH <urn:graph:source> { ?subgraph rag:extractor "recorded/1" ; tg:contains ?fact }
  FILTER(PREDICATE(?fact) != rdfs:label)
}
"""


def main() -> int:
    """Measure and print, or be the worker of one combination."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.evaluation", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--questions", type=int, help="only so many of each set")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--extraction", nargs="+", default=list(EXTRACTIONS))
    parser.add_argument("--titles", choices=("yes", "no", "both"), default="both")
    parser.add_argument("--vectors", choices=("yes", "no", "both"), default="both")
    parser.add_argument("--answers", choices=("yes", "no"), default="yes")
    parser.add_argument("--worker", metavar="JSON", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        print(json.dumps(_evaluate(**json.loads(asked.worker))))
        return 0
    data = data_folder()
    if data is None:
        return no_data("evaluation")
    found = []
    for combination in _combinations(asked, data):
        found.append(worker("benchmarks.evaluation", "--worker", json.dumps(combination)))
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    print("\n## Retrieval\n")
    table(_RETRIEVAL, [_retrieval_row(run) for run in found])
    if asked.answers == "yes":
        print("\n## Answers without a model\n")
        table(_ANSWERS, [_answers_row(run) for run in found])
    return 0


def _combinations(asked: argparse.Namespace, data: Path) -> Iterator[dict[str, Any]]:
    model = os.environ.get(MINILM_VARIABLE)
    both: dict[str, tuple[bool, ...]] = {"yes": (True,), "no": (False,), "both": (False, True)}
    if model is None and asked.vectors != "no":
        print(f"evaluation: without vectors, no local model is named with {MINILM_VARIABLE}")
    for name in asked.sets:
        path = data / "evalsets" / SETS[name]
        has_recorded = "openie" in json.loads(path.read_text("utf-8"))
        for extraction in asked.extraction:
            if "recorded" in extraction and not has_recorded:
                continue
            for vectors in both[asked.vectors] if model else (False,):
                for titles in reversed(both[asked.titles]):
                    yield {
                        "path": str(path),
                        "extraction": extraction,
                        "model": f"local:{model}" if vectors else None,
                        "titles": titles,
                        "questions": asked.questions,
                        "answers": asked.answers == "yes",
                    }


# --- one combination --------------------------------------------------------------------------------


def _evaluate(
    path: str, extraction: str, model: str | None, titles: bool, questions: int | None, answers: bool
) -> dict[str, Any]:
    from graphrag_rdf.config import EmbeddingSection, Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.evaluation.answers import evaluate_answers
    from graphrag_rdf.evaluation.evalset import load_evalset
    from graphrag_rdf.evaluation.retrieval import evaluate_retrieval

    evalset = load_evalset(Path(path))
    if questions is not None:
        evalset = evalset.model_copy(update={"questions": evalset.questions[:questions]})
    settings = Settings(embedding=EmbeddingSection(model=model))
    with Engine.open(":memory:", config=settings) as engine:
        retrieval = evaluate_retrieval(engine, evalset, extraction=extraction, titles=titles)
        located = _located(engine) if "recorded" in extraction else None
        answered = (
            evaluate_answers(engine, evalset, extraction=extraction, titles=titles) if answers else None
        )
    return {
        "retrieval": retrieval,
        "answers": answered,
        "located": located,
        "cpu": cpu_seconds(),
        "peak_mb": peak_mb(),
    }


def _located(engine: Any) -> float:
    """The share of recorded facts with evidence that stands where it is said to stand."""
    facts = int(engine.store.query(_FACTS).rows[0]["facts"].value)
    verified = set()
    for row in engine.store.query(_LOCATED).rows:
        offset, length = int(row["offset"].value), int(row["length"].value)
        if row["content"].value[offset : offset + length] == row["quote"].value:
            verified.add((str(row["fact"]), row["content"].value))
    return round(len(verified) / facts, 4)


# --- tables -----------------------------------------------------------------------------------------

_SETTING = ("set", "extraction", "vectors", "titles")
_RETRIEVAL = (
    *_SETTING,
    "R@2",
    "R@5",
    "R@10",
    "all@5",
    "MRR",
    "BM25 R@5",
    "dense R@5",
    "× BM25",
    "ms/question",
)
_ANSWERS = (
    *_SETTING,
    *(
        "answer in cited evidence",
        "95 %",
        "citation precision",
        "answered",
        "abstention",
        "located",
        "ms/question",
    ),
)


def _setting(run: dict[str, Any]) -> tuple[str, ...]:
    found = run["retrieval"]
    vectors = "yes" if found["embedding_model"] else "no"
    return found["name"], found["extraction"], vectors, "yes" if found["titles"] else "no"


def _retrieval_row(run: dict[str, Any]) -> tuple[str, ...]:
    found, baselines = run["retrieval"], run["retrieval"]["baselines"]
    ours, bm25 = found["recall"]["5"], baselines["bm25"]["recall"]["5"]
    return (
        *_setting(run),
        *(f"{found['recall'][k]:.3f}" for k in ("2", "5", "10")),
        f"{found['perfect']['5']:.2f}",
        f"{found['mrr']:.3f}",
        f"{bm25:.3f}",
        f"{baselines['dense']['recall']['5']:.3f}" if "dense" in baselines else "",
        f"{ours / bm25:.2f}",
        f"{found['seconds_per_question'] * 1000:.0f}",
    )


def _answers_row(run: dict[str, Any]) -> tuple[str, ...]:
    found = run["answers"]
    return (
        *_setting(run),
        f"{found['contain_accuracy']:.3f} of {found['contain_n']}",
        f"{found['ci95'][0]:.2f}-{found['ci95'][1]:.2f}",
        f"{found['citation_precision']:.3f}",
        f"{found['answered']:.2f}",
        f"{found['abstention']:.2f}",
        "" if run["located"] is None else f"{run['located']:.3f}",
        f"{found['seconds_per_question'] * 1000:.0f}",
    )


if __name__ == "__main__":
    sys.exit(main())
