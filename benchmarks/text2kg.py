"""Text2KGBench: recorded answers of a model against gold triples, with the measures of that benchmark.

    python -m benchmarks.text2kg

Reads the Wikidata-TekGen half of Text2KGBench (Mihindukulasooriya et al., ISWC 2023). Prints what the
recorded answers of Vicuna-13B reach as they are, beside the figures that the benchmark publishes for them.
Checks of ours have no part in it. Hallucination of subjects and objects is not measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.common import data_folder, no_data

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Score:
    """Precision, recall, F1, and the share of triples whose relation is in the ontology."""

    precision: float
    recall: float
    f1: float
    conformance: float


def main() -> int:
    """Print a row for each ontology and one for all."""
    data = data_folder()
    if data is None or not (data / "text2kgbench").is_dir():
        return no_data("text2kg")
    folder = data / "text2kgbench"
    published = {row.get("onto", "all"): row for row in _published(folder)}
    print("| ontology | precision | recall | F1 | conformance | published |\n|---|---|---|---|---|---|")
    scores: dict[str, Score] = {}
    for path in sorted((folder / "ontologies").glob("*.json"), key=lambda path: int(path.name.split("_")[0])):
        name = path.name.removesuffix("_ontology.json")
        scores[name] = _mean(_sentences(folder, name, path))
    scores["all"] = _mean(scores.values())
    for name, score in scores.items():
        figures = (score.precision, score.recall, score.f1, score.conformance)
        row = published[name]
        theirs = (row[f"avg_{key}"] for key in ("precision", "recall", "f1", "onto_conf"))
        print(f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} | {' · '.join(theirs)} |")
    return 0


def score(gold: Sequence[Triple], answer: Sequence[Triple], relations: Iterable[str]) -> Score:
    """The measures of one sentence.

    As in the benchmark, precision and recall count only triples whose relation occurs in the gold triples of
    the sentence. Blanks, underscores and case make no difference to them. An answer without triples conforms.
    """
    asked = {_underscored(relation) for _, relation, _ in gold}
    wanted = {_key(triple) for triple in gold}
    found = {_key(triple) for triple in answer if _underscored(triple[1]) in asked}
    right = len(wanted & found)
    precision = right / len(found) if found else 0.0
    recall = right / len(wanted) if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    known = {_underscored(relation) for relation in relations}
    conforming = sum(_underscored(relation) in known for _, relation, _ in answer)
    return Score(precision, recall, f1, conforming / len(answer) if answer else 1.0)


def _sentences(folder: Path, name: str, ontology: Path) -> list[Score]:
    relations = [
        relation["label"] for relation in json.loads(ontology.read_text(encoding="utf-8"))["relations"]
    ]
    recorded = folder / "recorded" / "vicuna-13b" / "llm_responses" / f"ont_{name}_llm_responses.jsonl"
    answers = {row["id"]: [(s, r, o) for s, r, o in row["triples"]] for row in _rows(recorded)}
    return [
        score([(t["sub"], t["rel"], t["obj"]) for t in row["triples"]], answers.get(row["id"], []), relations)
        for row in _rows(folder / "ground_truth" / f"ont_{name}_ground_truth.jsonl")
    ]


def _published(folder: Path) -> list[Mapping[str, Any]]:
    rows = _rows(folder / "recorded" / "vicuna-13b" / "eval_metrics" / "ont_llm_avg_stats_v2.jsonl")
    return [row for row in rows if row["type"] != "selected_test_cases"]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _mean(scores: Iterable[Score]) -> Score:
    rows = [(score.precision, score.recall, score.f1, score.conformance) for score in scores]
    return Score(*(fmean(column) for column in zip(*rows, strict=True)))


def _underscored(relation: str) -> str:
    return relation.replace(" ", "_")


def _key(triple: Triple) -> tuple[str, ...]:
    return tuple(re.sub(r"[_\s]+", "", part).lower() for part in triple)


if __name__ == "__main__":
    raise SystemExit(main())
