"""`eval`: measure retrieval, answers, pages and facts on evaluation sets, in temporary stores."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.eval_answers import answers
from graphrag_rdf.cli.eval_options import (
    asking,
    comparing,
    cut_offs,
    empty_engine,
    models_of,
    on_corpus,
    pipeline_of,
    say_head,
    share,
    with_corpus,
)
from graphrag_rdf.cli.options import model_option
from graphrag_rdf.cli.output import format_option
from graphrag_rdf.cli.progress import reading_then_questions
from graphrag_rdf.cli.summary import outcome
from graphrag_rdf.errors import GraphRagError, UsageError

log = logging.getLogger(__name__)

_MEASURES = ("retrieval", "answers", "pages")
_SHOWN = {"bm25": "BM25"}


@click.group(cls=Group, examples=["graphrag-rdf eval retrieval musique.json"])
def eval_command() -> None:
    """Measure retrieval, answers, pages and facts on your own sets, in temporary stores."""


eval_command.add_command(answers)
_one_extraction = click.option(
    "--extraction",
    type=click.Choice(["rules", "llm"]),
    default="rules",
    show_default=True,
    help="Extraction of the facts.",
)
_set_argument = click.argument("evalset", metavar="EVALSET.json", type=click.Path(path_type=Path))


@eval_command.command(
    "retrieval", examples=["graphrag-rdf eval retrieval musique.json --extraction rules --format json"]
)
@click.option("--k", "ks", default="1,2,5,10", show_default=True, metavar="LIST", help="Cut-offs of recall.")
@comparing
@with_corpus
@_set_argument
def retrieval(evalset: Path, ks: str, form: str, **options: Any) -> None:
    """Measure how many of the gold chunks are found, compared with BM25 (and dense search)."""
    from graphrag_rdf.evaluation.evalset import load_evalset
    from graphrag_rdf.evaluation.retrieval import evaluate_retrieval

    cuts = cut_offs(ks)
    loaded = load_evalset(evalset)
    with empty_engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        found = evaluate_retrieval(
            engine,
            loaded,
            compare=options["compare"],
            ks=cuts,
            reading=reading,
            progress=progress,
            **on_corpus(options),
        )
    if output.write(form, found):
        return
    say_head(found)
    rows = [(found["pipeline"], found), *found["baselines"].items()]
    columns = ["", *(f"R@{k}" for k in cuts), "MRR"]
    figures = [[name, *(share(run["recall"][str(k)]) for k in cuts), share(run["mrr"])] for name, run in rows]
    output.table(columns, figures)


@eval_command.command("pages", examples=["graphrag-rdf eval pages reports/ reports/questions.jsonl"])
@click.option("--k", "ks", default="1,5,10", show_default=True, metavar="LIST", help="Numbers of chunks.")
@_one_extraction
@asking
@click.argument("folder", metavar="PDF_FOLDER", type=click.Path(path_type=Path))
@click.argument("questions", metavar="QUESTIONS.jsonl", type=click.Path(path_type=Path))
def pages(folder: Path, questions: Path, ks: str, form: str, **options: Any) -> int:
    """Measure how often the first chunks cover a page with the evidence, compared with BM25.

    Each line of QUESTIONS.jsonl is an object with the keys id, q (the question), document (name of the PDF)
    and pages (the pages with the evidence, from 1).
    """
    from graphrag_rdf.evaluation.pages import evaluate_pages, load_page_questions

    cuts = cut_offs(ks)
    asked = load_page_questions(questions)
    with empty_engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        found = evaluate_pages(
            engine, folder, asked, ks=cuts, reading=reading, progress=progress, **pipeline_of(options)
        )
    for failure in found["failures"]:
        output.warn(f"cannot read {failure['path']}: {failure['reason']}")
    if not output.write(form, found):
        show_pages(found)
    return outcome(None, failed=bool(found["failures"]))


def show_pages(found: dict[str, Any]) -> None:
    """Print the table of `eval pages`."""
    output.say(
        output.safe(
            f"{found['name']}: {found['n']:,} questions about {found['documents']:,} documents of "
            f"{found['pages']:,} pages, {models_of(found)}, {found['seconds_per_question']:.3f} s a question"
        )
    )
    cuts = list(found["found"])
    rows = [(found["pipeline"], found), *found["baselines"].items()]
    output.table(
        ["an evidence page among", *(f"first {k}" for k in cuts), *(f"{k} of its document" for k in cuts)],
        [
            [
                name.replace("_", " over "),
                *map(share, (*run["found"].values(), *run["document_known"].values())),
            ]
            for name, run in rows
        ],
    )


@eval_command.command("facts", examples=["graphrag-rdf eval facts examples/facts.jsonl --faults"])
@click.option("--faults", is_flag=True, help="List the wrong and the missed facts.")
@format_option()
@model_option
@_one_extraction
@click.argument("file", metavar="FILE.jsonl", type=click.Path(path_type=Path))
def facts(file: Path, extraction: str, model: str | None, form: str, *, faults: bool) -> None:
    """Measure precision and recall of facts on labelled sentences, by rules and of recorded model outputs.

    A fact is right if the labels of its sentence require or allow it. Facts without a label are wrong.
    """
    from graphrag_rdf.evaluation.facts import evaluate_facts, load_labelled
    from graphrag_rdf.ingest.facts import candidate_filter

    texts = load_labelled(file)
    options = {"model": model, "extraction": extraction, "embedding_model": None, "rerank": None}
    with empty_engine(options) as engine:
        found = evaluate_facts(texts, engine.extractor(), candidate_filter(engine.settings))
    if output.write(form, found):
        return
    for name, run in found["runs"].items():
        output.say(output.safe(f"{name}: {run['texts']:,} texts"))
        for title, groups in (("kind", {"all": run, **run["kinds"]}), ("trait", run["traits"])):
            columns = [title, "texts", "facts", "precision", "forbidden", "recall"]
            rows = [
                [key, r["texts"], r["facts"], share(r["precision"]), r["forbidden"], share(r["recall"])]
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
    "--only", multiple=True, type=click.Choice(_MEASURES), help="Run only this measurement; may be repeated."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask only N questions of each set.")
@comparing
@with_corpus
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def all_sets(folder: Path, only: tuple[str, ...], limit: int | None, form: str, **options: Any) -> int:
    """Run every set of a folder and print one table, with baselines.

    Sets are *.json in DIR or DIR/evalsets (see eval retrieval), and questions.jsonl beside PDFs in DIR or
    DIR/pdf (see eval pages). A set that fails is reported, and the others are measured.
    """
    from graphrag_rdf.evaluation.all_sets import find_sets
    from graphrag_rdf.ingest.schedule import attempt

    sets, questions = find_sets(folder)
    measures = only or _MEASURES
    jobs = [(path, _measure_set) for path in sets if {"retrieval", "answers"} & set(measures)]
    jobs += [(path, _measure_pages) for path in questions if "pages" in measures]
    if not jobs:
        raise UsageError(f"{folder} has no sets for: {', '.join(measures)}")
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
            output.warn(f"cannot measure {path}: {result.message}")
            log.info("%s: %s", path, result.message, exc_info=result.__cause__)
            found["failed"].append({"path": str(path), "reason": result.message})
            exit_codes.append(result.exit_code)
        else:
            found["pages" if measure is _measure_pages else "sets"].append({"path": str(path), **result})
            if measure is _measure_set and number < len(jobs):  # print it before the other sets are done
                output.note("; ".join(f"{name} {value}" for name, value in _row(result).items() if value))
    if not output.write(form, found):
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
    with empty_engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        found = evaluate_set(
            engine,
            evalset,
            measures,
            limit=limit,
            compare=options["compare"],
            reading=reading,
            progress=progress,
            **on_corpus(options),
        )
    return {"name": evalset.name, **found}


def _measure_pages(
    path: Path, measures: Collection[str], limit: int | None, options: dict[str, Any]
) -> dict[str, Any]:
    from graphrag_rdf.evaluation.all_sets import spread
    from graphrag_rdf.evaluation.pages import evaluate_pages, load_page_questions

    del measures
    questions = spread(load_page_questions(path), limit)
    with empty_engine(options) as engine, reading_then_questions(engine.budget) as (reading, progress):
        return evaluate_pages(
            engine, path.parent, questions, reading=reading, progress=progress, **pipeline_of(options)
        )


_NOTHING: dict[str, Any] = {"recall": {}, "baselines": {}}


def _show_all(found: dict[str, list[dict[str, Any]]]) -> None:
    rows = [_row(run) for run in found["sets"]]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if rows:
        output.table(columns, [[row.get(name) for name in columns] for row in rows], numbers=columns[1:])
    for run in found["pages"]:
        output.say()
        show_pages(run)


def _row(run: dict[str, Any]) -> dict[str, str]:
    """The row of a set, by the names of its columns."""
    ranked, answered = run.get("retrieval", _NOTHING), run.get("answers", {})
    row = {"set": run["name"], "n": str((run.get("retrieval") or answered)["n"])}
    for k in ("1", "5"):
        row[f"R@{k}"] = share(ranked["recall"].get(k))
        for name, baseline in ranked["baselines"].items():
            row[f"{_SHOWN.get(name, name)} R@{k}"] = share(baseline["recall"][k])
    if answered:
        row["contained"] = share(answered["contain_accuracy"])
        for name, baseline in answered["baselines"].items():
            row[f"{_SHOWN.get(name, name)} contained"] = share(baseline["contain_accuracy"])
        row["honest"] = share(answered["abstention"])
    return row
