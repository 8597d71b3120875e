"""`eval`: how well retrieval, answers and facts do on sets of one's own, in temporary stores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.options import embedding_option, key_values, model_option, rerank_option, set_option
from graphrag_rdf.cli.output import format_option
from graphrag_rdf.cli.progress import reading_then_questions
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.summary import outcome
from graphrag_rdf.errors import GraphRagError, UsageError

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

log = logging.getLogger(__name__)

_MEASURES = ("retrieval", "answers", "pages")
_SHOWN = {"bm25": "BM25"}


@click.group(cls=Group, examples=["graphrag-rdf eval retrieval musique.json"])
def eval_command() -> None:
    """Measure retrieval, answers and facts on sets of yours, in temporary stores."""


def _asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all measurements that ask questions."""
    for option in (
        format_option(),
        set_option,
        model_option,
        embedding_option,
        rerank_option,
        click.option("--pipeline", default="graph_rag", show_default=True, help="Pipeline to measure."),
    ):
        command = option(command)
    return command


def _with_corpus(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of measurements on an evaluation set's passages."""
    hidden = click.option("--no-titles", is_flag=True, help="Hide the titles of the passages.")
    extraction = click.option(
        "--extraction",
        default="rules",
        show_default=True,
        metavar="LIST",
        help="Where facts come from: rules, recorded, llm, or several with commas (merged).",
    )
    return extraction(hidden(_asking(command)))


_one_extraction = click.option(
    "--extraction",
    type=click.Choice(["rules", "llm"]),
    default="rules",
    show_default=True,
    help="Where facts come from.",
)
_set_argument = click.argument("evalset", metavar="EVALSET.json", type=click.Path(path_type=Path))


@eval_command.command(
    "retrieval", examples=["graphrag-rdf eval retrieval musique.json --extraction rules --format json"]
)
@click.option("--k", "ks", default="1,2,5,10", show_default=True, metavar="LIST", help="Cut-offs of recall.")
@_with_corpus
@_set_argument
def retrieval(evalset: Path, ks: str, form: str, **options: Any) -> None:
    """How many of the needed passages are found, beside BM25 (and dense search) in the same run."""
    from graphrag_rdf.evaluation.evalset import load_evalset
    from graphrag_rdf.evaluation.retrieval import evaluate_retrieval

    cuts = _cut_offs(ks)
    loaded = load_evalset(evalset)
    with _engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        found = evaluate_retrieval(
            engine, loaded, ks=cuts, reading=reading, progress=progress, **_on_corpus(options)
        )
    if form == "json":
        output.write_json(found)
        return
    _head(found)
    rows = [("graph", found), *found["baselines"].items()]
    columns = ["", *(f"R@{k}" for k in cuts), "MRR"]
    figures = [
        [name, *(_share(run["recall"][str(k)]) for k in cuts), _share(run["mrr"])] for name, run in rows
    ]
    output.table(columns, figures)


@eval_command.command("answers", examples=["graphrag-rdf eval answers musique.json --model openai/gpt-4.1"])
@_with_corpus
@_set_argument
def answers(evalset: Path, form: str, **options: Any) -> None:
    """How often cited evidence holds the answer, citations hold, and nothing is claimed when gold is gone.

    The baseline quotes the three sentences with the highest BM25.
    """
    from graphrag_rdf.evaluation.answers import evaluate_answers
    from graphrag_rdf.evaluation.evalset import load_evalset

    loaded = load_evalset(evalset)
    with _engine(options) as engine, reading_then_questions(engine.budget) as (_, progress):
        found = evaluate_answers(engine, loaded, progress=progress, **_on_corpus(options))
    if form == "json":
        output.write_json(found)
        return
    _head(found)
    names = ("contain_accuracy", "citation_precision", "answered", "abstention")
    runs = [("graph", found), *found["baselines"].items()]
    output.table(
        ["", *(name.replace("_", " ") for name in names)],
        [[label, *(_share(run[name]) if name in run else "" for name in names)] for label, run in runs],
    )


@eval_command.command("pages", examples=["graphrag-rdf eval pages reports/ reports/questions.jsonl"])
@click.option("--k", "ks", default="1,5,10", show_default=True, metavar="LIST", help="Numbers of chunks.")
@_one_extraction
@_asking
@click.argument("folder", metavar="PDF_FOLDER", type=click.Path(path_type=Path))
@click.argument("questions", metavar="QUESTIONS.jsonl", type=click.Path(path_type=Path))
def pages(folder: Path, questions: Path, ks: str, form: str, **options: Any) -> int:
    """How often a page that holds the evidence is among the pages of the first chunks, beside BM25.

    Each line of QUESTIONS.jsonl is an object with the keys id, q (the question), document (name of the PDF)
    and pages (those that hold the evidence, from 1).
    """
    from graphrag_rdf.evaluation.pages import evaluate_pages, load_page_questions

    cuts = _cut_offs(ks)
    asked = load_page_questions(questions)
    with _engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        found = evaluate_pages(
            engine, folder, asked, ks=cuts, reading=reading, progress=progress, **_pipeline(options)
        )
    for failure in found["failures"]:
        output.warn(f"{failure['path']} was not read: {failure['reason']}")
    if form == "json":
        output.write_json(found)
    else:
        show_pages(found)
    return outcome(None, failed=bool(found["failures"]))


def show_pages(found: dict[str, Any]) -> None:
    """The table of `eval pages`."""
    output.say(
        output.safe(
            f"{found['name']}: {found['n']:,} questions about {found['documents']:,} documents of "
            f"{found['pages']:,} pages, {_models(found)}, {found['seconds_per_question']:.3f} s a question"
        )
    )
    cuts = list(found["found"])
    rows = [("graph", found), *found["baselines"].items()]
    output.table(
        ["an evidence page among", *(f"first {k}" for k in cuts), *(f"{k} of its document" for k in cuts)],
        [
            [
                name.replace("_", " over "),
                *map(_share, (*run["found"].values(), *run["document_known"].values())),
            ]
            for name, run in rows
        ],
    )


@eval_command.command("facts", examples=["graphrag-rdf eval facts examples/facts.jsonl --faults"])
@click.option("--faults", is_flag=True, help="List the facts that are wrong, and those that are missed.")
@format_option()
@model_option
@_one_extraction
@click.argument("file", metavar="FILE.jsonl", type=click.Path(path_type=Path))
def facts(file: Path, extraction: str, model: str | None, form: str, *, faults: bool) -> None:
    """Precision and recall of facts on labelled sentences, by rules and of recorded model outputs.

    A fact is right if the labels of its sentence say that it must or may come out. Facts without a label
    are wrong.
    """
    from graphrag_rdf.evaluation.facts import evaluate_facts, load_labelled
    from graphrag_rdf.ingest.sieve import sieve_of

    texts = load_labelled(file)
    options = {"model": model, "extraction": extraction, "embedding_model": None, "rerank": None}
    with _engine(options) as engine:
        found = evaluate_facts(texts, engine.extractor(), sieve_of(engine.settings))
    if form == "json":
        output.write_json(found)
        return
    for name, run in found["runs"].items():
        output.say(output.safe(f"{name}: {run['texts']:,} texts"))
        for title, groups in (("kind", {"all": run, **run["kinds"]}), ("trait", run["traits"])):
            columns = [title, "texts", "facts", "precision", "forbidden", "recall"]
            rows = [
                [key, r["texts"], r["facts"], _share(r["precision"]), r["forbidden"], _share(r["recall"])]
                for key, r in groups.items()
            ]
            if rows:
                output.say()
                output.table(columns, rows, numbers=columns[1:])
        for fault in run["faults"] if faults else ():
            output.say(f"\n{output.one_line(fault['id'])}: {output.one_line(fault['text'])}")
            for why in ("forbidden", "unlisted", "missed"):
                for fact in fault[why]:
                    output.say(f"  {why}: {output.one_line(' | '.join(fact))}")


@eval_command.command(
    "all", examples=["graphrag-rdf eval all sets/", "graphrag-rdf eval all sets/ --only retrieval --limit 20"]
)
@click.option(
    "--only", multiple=True, type=click.Choice(_MEASURES), help="Measure only this; may be repeated."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask only N questions of each set.")
@_with_corpus
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def all_sets(folder: Path, only: tuple[str, ...], limit: int | None, form: str, **options: Any) -> int:
    """Run every set of a folder and print one table, with baselines.

    Sets are *.json in DIR or DIR/evalsets (see eval retrieval), and questions.jsonl beside PDFs in DIR or
    DIR/pdf (see eval pages). A set that cannot be measured is reported, and the others go on.
    """
    from graphrag_rdf.evaluation.all_sets import find_sets
    from graphrag_rdf.ingest.attempt import attempt

    sets, questions = find_sets(folder)
    measures = only or _MEASURES
    jobs = [(path, _measure_set) for path in sets if {"retrieval", "answers"} & set(measures)]
    jobs += [(path, _measure_pages) for path in questions if "pages" in measures]
    if not jobs:
        raise UsageError(f"{folder} holds nothing to measure {' and '.join(measures)} on")
    found: dict[str, list[dict[str, Any]]] = {"sets": [], "pages": [], "failed": []}
    exit_codes: list[int] = []
    stopped = None
    for number, (path, measure) in enumerate(jobs, start=1):
        result: dict[str, Any] | GraphRagError
        try:
            output.note(f"{path} ({number} of {len(jobs)})")
            result = attempt(partial(measure, path, measures, limit, options))
        except GraphRagError as error:
            result = error
        except KeyboardInterrupt:
            output.warn(f"interrupted: {number - 1} of {len(jobs)} sets were measured")
            stopped = "interrupted"
            break
        if isinstance(result, GraphRagError):
            output.warn(f"{path} was not measured: {result.message}")
            log.info("%s: %s", path, result.message, exc_info=result.__cause__)
            found["failed"].append({"path": str(path), "reason": result.message})
            exit_codes.append(result.exit_code)
        else:
            found["pages" if measure is _measure_pages else "sets"].append({"path": str(path), **result})
    if form == "json":
        output.write_json(found)
    else:
        _show_all(found)
    if len(exit_codes) == len(jobs):
        return exit_codes[0]
    unread = any(run["failures"] for run in found["pages"])
    return outcome(stopped, failed=bool(exit_codes) or unread)


def _measure_set(
    path: Path, measures: Collection[str], limit: int | None, options: dict[str, Any]
) -> dict[str, Any]:
    from graphrag_rdf.evaluation.all_sets import evaluate_set
    from graphrag_rdf.evaluation.evalset import load_evalset

    evalset = load_evalset(path)
    with _engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        found = evaluate_set(
            engine, evalset, measures, limit=limit, reading=reading, progress=progress, **_on_corpus(options)
        )
    return {"name": evalset.name, **found}


def _measure_pages(
    path: Path, measures: Collection[str], limit: int | None, options: dict[str, Any]
) -> dict[str, Any]:
    from graphrag_rdf.evaluation.all_sets import spread
    from graphrag_rdf.evaluation.pages import evaluate_pages, load_page_questions

    del measures
    questions = spread(load_page_questions(path), limit)
    with _engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        return evaluate_pages(
            engine, path.parent, questions, reading=reading, progress=progress, **_pipeline(options)
        )


_NOTHING: dict[str, Any] = {"recall": {}, "baselines": {}}


def _show_all(found: dict[str, list[dict[str, Any]]]) -> None:
    rows: list[dict[str, float | str | None]] = []
    for run in found["sets"]:
        ranked, answered = run.get("retrieval", _NOTHING), run.get("answers", {})
        row: dict[str, float | str | None] = {"set": run["name"]}
        row["n"] = str((run.get("retrieval") or answered)["n"])
        for k in ("1", "5"):
            row[f"R@{k}"] = ranked["recall"].get(k)
            for name, baseline in ranked["baselines"].items():
                row[f"{_SHOWN.get(name, name)} R@{k}"] = baseline["recall"][k]
        if answered:
            quotes = {"contained": answered}
            for name, baseline in answered.get("baselines", {}).items():
                quotes[f"{_SHOWN.get(name, name)} contained"] = baseline
            for column, result in quotes.items():  # a set without answers has nothing to contain
                row[column] = result["contain_accuracy"] if answered["contain_n"] else None
            row["honest"] = answered["abstention"]
        rows.append(row)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if rows:
        output.table(
            columns,
            [
                [value if isinstance(value := row.get(name), str) else _share(value) for name in columns]
                for row in rows
            ],
            numbers=columns[1:],
        )
    for run in found["pages"]:
        output.say()
        show_pages(run)


@contextmanager
def _engine(options: dict[str, Any]) -> Iterator[Engine]:
    """An engine on an empty store in memory."""
    overrides = {
        "store": ":memory:",
        "collection": "default",
        "llm.model": options["model"],
        "extract.use": "llm" if "llm" in options["extraction"].split(",") else "rules",
        "embedding.model": options["embedding_model"],
        "rerank.model": options["rerank"],
    }
    with open_engine(overrides, create=True) as engine:
        yield engine


def _pipeline(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of every measurement that asks questions."""
    return {"pipeline": options["pipeline"], "settings": key_values(options["settings"])}


def _on_corpus(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of measurements on an evaluation set's passages."""
    return {
        **_pipeline(options),
        "extraction": options["extraction"],
        "titles": not options["no_titles"],
    }


def _cut_offs(text: str) -> list[int]:
    try:
        cuts = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a list of numbers", param_hint="--k") from error
    if cuts[0] < 1:
        raise click.BadParameter("cut-offs begin at 1", param_hint="--k")
    return cuts


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _models(found: dict[str, Any]) -> str:
    reranked = f", reranked by {found['rerank_model']}" if found["rerank_model"] else ""
    return f"{found['embedding_model'] or 'no embeddings'}{reranked}"


def _head(found: dict[str, Any]) -> None:
    output.say(
        output.safe(
            f"{found['name']}: {found['n']:,} questions, extraction {found['extraction']}, {_models(found)}, "
            f"{found['seconds_per_question']:.3f} s a question"
        )
    )
