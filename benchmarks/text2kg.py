"""Text2KGBench: recorded answers of a model against gold triples, as they are and through guided extraction.

    python -m benchmarks.text2kg                # all ontologies, about two minutes
    python -m benchmarks.text2kg 7_space        # some

Reads the Wikidata-TekGen half of Text2KGBench (Mihindukulasooriya et al., ISWC 2023) with the recorded
answers of Vicuna-13B. The first row of an ontology is the figures that the benchmark publishes for them, the
second what its measures give here, the third those of the facts that an ingest guided by the ontology keeps
of the same answers, which a scripted server gives word by word, the fourth those of a guided ingest by rules.
After all ontologies follow F1 of those with odd and with even numbers, and what became of their gold triples.
The ontology is the benchmark's OWL file and its JSON file together: gold triples have relations that only the
former lists.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from pyoxigraph import Literal, RdfFormat, parse

from benchmarks.common import data_folder, no_data
from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.extract.numbers import read_date
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RDFS, TG, XSD
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.store.base import plain_quads
from tests.support.scripted_server import Request, ScriptedServer

Triple = tuple[str, str, str]
_ONTOLOGY = "http://example.com/ontology"
_COLUMNS = ("precision", "recall", "f1", "onto_conf", "sub_halluc", "rel_halluc", "obj_halluc")


@dataclass(frozen=True)
class Score:
    """Precision, recall, F1; the shares of triples whose relation is in the ontology, and whose subject,
    relation and object are made up.
    """

    precision: float
    recall: float
    f1: float
    conformance: float
    made_up_subjects: float
    made_up_relations: float
    made_up_objects: float


def main(arguments: Sequence[str]) -> int:
    """Print three rows for each ontology and for all."""
    data = data_folder()
    if data is None or not (data / "text2kgbench").is_dir():
        return no_data("text2kg")
    folder = data / "text2kgbench"
    published = {row.get("onto", "all"): row for row in _published(folder)}
    names = sorted(
        (path.name.removesuffix("_ontology.json") for path in (folder / "ontologies").glob("*.json")),
        key=lambda name: int(name.split("_")[0]),
    )
    print(
        "| ontology | answers | precision | recall | F1 | conformance | made up: subject, relation, object |"
    )
    print("|---|---|---|---|---|---|---|")
    as_recorded: dict[str, Score] = {}
    guided: dict[str, Score] = {}
    by_rules: dict[str, Score] = {}
    causes: dict[str, Counter[Cause]] = {}
    for name in arguments or names:
        answers = _answers(folder, name)
        as_recorded[name] = _measured(folder, name, answers)
        kept = guided_triples(folder, name, _responses(folder, name))
        guided[name] = _measured(folder, name, kept)
        causes[name] = _causes(folder, name, answers, kept)
        by_rules[name] = _measured(folder, name, guided_triples(folder, name, None))
        _show(name, published[name], as_recorded[name], guided[name], by_rules[name])
    if len(guided) > 1:
        means = (_mean(found.values()) for found in (as_recorded, guided, by_rules))
        _show("all", published["all"], *means)
        _show_halves(as_recorded, guided, causes)
    return 0


def _show(name: str, published: Mapping[str, Any], recorded: Score, guided: Score, rules: Score) -> None:
    theirs = Score(*(float(published[f"avg_{key}"]) for key in _COLUMNS))
    rows = {"published": theirs, "recorded": recorded, "guided": guided, "guided rules": rules}
    for kind, score in rows.items():
        figures = [f"{figure:.2f}" for figure in astuple(score)]
        print(f"| {name} | {kind} | {' | '.join(figures[:4])} | {' · '.join(figures[4:])} |", flush=True)


def _show_halves(
    recorded: Mapping[str, Score], guided: Mapping[str, Score], causes: Mapping[str, Counter[Cause]]
) -> None:
    odd = {name for name in guided if int(name.split("_")[0]) % 2}
    halves = {half: names for half, names in (("odd", odd), ("even", guided.keys() - odd)) if names}
    print("\n| ontologies | F1 as recorded | F1 guided |\n|---|---|---|")
    for half, names in halves.items():
        before, after = (fmean(scores[name].f1 for name in names) for scores in (recorded, guided))
        print(f"| {half} numbers | {before:.4f} | {after:.4f} |")
    print(f"\n| gold triples, guided | {' | '.join(halves)} |\n|{'---|' * (len(halves) + 1)}")
    sums = [sum((causes[name] for name in names), Counter()) for names in halves.values()]
    for cause in Cause:
        print(f"| {cause} | {' | '.join(f'{found[cause] / found.total():.1%}' for found in sums)} |")


# --- measures ---------------------------------------------------------------------------------------------


def score(gold: Sequence[Triple], answer: Sequence[Triple], relations: Iterable[str], known: str) -> Score:
    """The measures of one sentence.

    As in the benchmark, precision and recall count only triples whose relation occurs in the gold triples of
    the sentence. Blanks, underscores and case make no difference to them, nor does the form of a number or
    date: "1800.0" is "1800", "03 May 1951" is "1951-05-03", and 1 January stands for no day. An answer
    without triples conforms.
    A subject or object is made up if its stems are not in those of the sentence and the concepts (`known`).
    """
    asked = {_underscored(relation) for _, relation, _ in gold}
    wanted = {_key(triple) for triple in gold}
    found = {_key(triple) for triple in answer if _underscored(triple[1]) in asked}
    right = len(wanted & found)
    precision = right / len(found) if found else 0.0
    recall = right / len(wanted) if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    listed = {_underscored(relation) for relation in relations}
    total = len(answer) or 1
    conforming = sum(_underscored(relation) in listed for _, relation, _ in answer)
    conformance = conforming / total if answer else 1.0
    made_up = [sum(_stems(triple[end]) not in known for triple in answer) / total for end in (0, 2)]
    return Score(precision, recall, f1, conformance, made_up[0], 1 - conformance, made_up[1])


def _measured(folder: Path, name: str, answers: Mapping[str, Sequence[Triple]]) -> Score:
    ontology = json.loads((folder / "ontologies" / f"{name}_ontology.json").read_text(encoding="utf-8"))
    relations = {relation["label"].strip() for relation in ontology["relations"]}
    relations |= {
        text_of(quad.object)
        for quad in parse(path=str(_owl(folder, name)), format=RdfFormat.TURTLE)
        if quad.predicate == RDFS.label and "/relations#" in text_of(quad.subject)
    }
    concepts = " ".join(_stems(concept["label"]) for concept in ontology["concepts"])
    return _mean(
        score(
            [(t["sub"], t["rel"], t["obj"]) for t in row["triples"]],
            answers.get(row["id"], []),
            relations,
            f"{_stems(row['sent'])} {concepts}",
        )
        for row in _rows(folder / "ground_truth" / f"ont_{name}_ground_truth.jsonl")
    )


@cache
def _stem(word: str) -> str:
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    return builder.filter(tantivy.Filter.stemmer("english")).build().analyze(word)[0]


def _stems(text: str) -> str:
    """The stems of a text, run together. As in the benchmark, 1 January stands for no day."""
    words = re.findall(r"\w+", text.replace("_", " ").lower())
    return "".join(map(_stem, words)).replace("01januari", "")


def _owl(folder: Path, name: str) -> Path:
    return folder / "ontologies" / "owl" / f"ont_{name}.ttl"


def _published(folder: Path) -> list[Mapping[str, Any]]:
    rows = _rows(folder / "recorded" / "vicuna-13b" / "eval_metrics" / "ont_llm_avg_stats_v2.jsonl")
    return [row for row in rows if row["type"] != "selected_test_cases"]


def _answers(folder: Path, name: str) -> dict[str, list[Triple]]:
    recorded = folder / "recorded" / "vicuna-13b" / "llm_responses" / f"ont_{name}_llm_responses.jsonl"
    return {row["id"]: [(s, r, o) for s, r, o in row["triples"]] for row in _rows(recorded)}


def _responses(folder: Path, name: str) -> dict[str, str]:
    """The answers as the model wrote them."""
    recorded = folder / "recorded" / "vicuna-13b" / "llm_responses" / f"ont_{name}_llm_responses.jsonl"
    return {row["id"]: row["response"] for row in _rows(recorded)}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _mean(scores: Iterable[Score]) -> Score:
    return Score(*(fmean(column) for column in zip(*map(astuple, scores), strict=True)))


def _underscored(relation: str) -> str:
    return relation.replace(" ", "_")


class Cause(StrEnum):
    """What became of a gold triple in guided extraction."""

    RIGHT = "right"
    UNUSED = "the answer does not use the relation"
    REJECTED = "the answer says so, rejected"
    ALL_REJECTED = "all with the relation rejected"
    REVERSED = "reversed"
    PART = "subject or object shorter or longer"
    SUBJECT = "other subject"
    OBJECT = "other object"
    BOTH = "both differ"


def _causes(
    folder: Path, name: str, answers: Mapping[str, Sequence[Triple]], kept: Mapping[str, Sequence[Triple]]
) -> Counter[Cause]:
    """What became of the gold triples, each of a sentence counted once."""
    found: Counter[Cause] = Counter()
    for row in _rows(folder / "ground_truth" / f"ont_{name}_ground_truth.jsonl"):
        said = {_key(triple) for triple in answers.get(row["id"], ())}
        facts = {_key(triple) for triple in kept.get(row["id"], ())}
        gold = {_key((t["sub"], t["rel"], t["obj"])) for t in row["triples"]}
        found.update(_cause(triple, said, facts) for triple in gold)
    return found


def _cause(gold: tuple[str, ...], said: set[tuple[str, ...]], facts: set[tuple[str, ...]]) -> Cause:
    subject, relation, value = gold
    ends = [(s, o) for s, r, o in facts if r == relation]
    near = [(s, o) for s, o in ends if s == subject or o == value]
    if gold in facts:
        return Cause.RIGHT
    if gold in said:
        return Cause.REJECTED
    if not ends:
        return Cause.ALL_REJECTED if any(r == relation for _, r, _ in said) else Cause.UNUSED
    if (value, subject) in ends:
        return Cause.REVERSED
    if any((s in subject or subject in s) and (o in value or value in o) for s, o in near):
        return Cause.PART
    if any(o == value for _, o in near):
        return Cause.SUBJECT
    return Cause.OBJECT if near else Cause.BOTH


def _key(triple: Triple) -> tuple[str, ...]:
    subject, relation, value = (re.sub(r"[_\s]+", "", part).lower() for part in triple)
    return subject, relation, _as_value(triple[2]) or value


@cache
def _as_value(text: str) -> str | None:
    """A number or date in one form; None for other texts."""
    if found := read_date(text.strip()):
        return found[0].removesuffix("-01-01")
    number = text.strip().replace(",", "")
    return f"{float(number):.10g}" if re.fullmatch(r"[+-]?\d+(\.\d+)?", number) else None


# --- guided extraction ------------------------------------------------------------------------------------


def guided_triples(folder: Path, name: str, answers: Mapping[str, str] | None) -> dict[str, list[Triple]]:
    """Sentence → the facts that an ingest guided by the ontology keeps of the answers, as labels.

    Args:
        answers: None for extraction by rules.
    """
    sentences = {row["id"]: row["sent"] for row in _rows(folder / "test" / f"ont_{name}_test.jsonl")}
    with ScriptedServer() as server, tempfile.TemporaryDirectory() as place:
        server.answer_with(lambda request: _answer(request, answers or {}))
        given = {
            "llm.model": "openai/scripted",
            "extract.use": "rules" if answers is None else "llm",
            "llm.api_base": server.base_url,
            "llm.api_key": "sk-none",
            "documents.chunk_size": 10_000,
            "extract.ontology": [_ONTOLOGY],
        }
        documents = Path(place) / "documents"
        documents.mkdir()
        for number, text in sentences.items():
            (documents / f"{number}.txt").write_text(text, encoding="utf-8")
        with Engine.open(":memory:", config=load_settings(None, given).settings) as engine:
            load_ontologies(
                engine.store, [_owl(folder, name)], engine.settings.extract.namespace, datetime.now(UTC)
            )
            report = engine.ingest([documents])
            rejected = dict(sorted(report.rejected.items(), key=lambda item: -item[1]))
            print(f"{name}: rejected {rejected}", file=sys.stderr)
            return _facts(engine)


def _answer(request: Request, answers: Mapping[str, str]) -> str:
    """The recorded answer, by the title: several sentences occur twice, with other answers."""
    title = re.search(r"(\d+)</title>", request.prompt)
    return next((said for name, said in answers.items() if title and name.endswith(f"_{title[1]}")), "")


def _value(term: Any) -> str:
    """A value as the gold triples write it: dates are "03 May 1951", years "01 January 1951"."""
    if isinstance(term, Literal) and term.datatype == XSD.date:
        return date.fromisoformat(term.value).strftime("%d %B %Y")
    if isinstance(term, Literal) and term.datatype == XSD.gYear:
        return f"01 January {term.value}"
    return text_of(term)


def _facts(engine: Engine) -> dict[str, list[Triple]]:
    labels: dict[Any, str] = {}
    held: dict[Any, list[Any]] = {}
    chunks: dict[Any, Any] = {}
    places: dict[Any, str] = {}
    for quad in plain_quads(engine.store):
        if quad.predicate == TG.contains:
            held.setdefault(quad.subject, []).append(quad.object)
        elif quad.predicate == RDFS.label:
            labels.setdefault(quad.subject, text_of(quad.object))
        elif quad.predicate == PROV.wasDerivedFrom:
            chunks[quad.subject] = quad.object
        elif quad.predicate == DCTERMS.isPartOf:
            places[quad.subject] = text_of(quad.object)
    found: dict[str, list[Triple]] = {}
    for subgraph, triples in held.items():
        document = places.get(chunks.get(subgraph), "")
        number = document.rpartition("/")[2].removesuffix(".txt")
        for triple in triples:
            if "/relations#" in triple.predicate.value:
                value = labels.get(triple.object) or _value(triple.object)
                names = (labels.get(triple.subject, ""), labels.get(triple.predicate, ""), value)
                found.setdefault(number, []).append(names)
    return found


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
