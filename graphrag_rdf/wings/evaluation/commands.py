"""`eval`: measure retrieval, answers, pages and facts on evaluation sets, in temporary stores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import (
    Group,
    embedding_option,
    given_options,
    key_values,
    model_option,
    rerank_option,
    set_option,
)
from graphrag_rdf.cli.output import format_option
from graphrag_rdf.cli.process import FAILED, outcome, say_error, stop_requests
from graphrag_rdf.cli.progress import question_counter, reading_then_questions
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.i18n import bracketed, counted, later, listed, tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


log = logging.getLogger(__name__)

_MEASURES = ("retrieval", "answers", "pages")
_FACTS = (
    later("texts"),
    later("facts"),
    later("precision"),
    later("forbidden"),
    later("recall"),
)
_FAULTS = {
    "forbidden": later("forbidden"),
    "unlisted": later("unlisted"),
    "missed": later("missed"),
}
_SHOWN = {"bm25": "BM25"}
IN_MEMORY = {"store": ":memory:", "collection": "default"}
"""Settings of a temporary store."""


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
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


def with_corpus(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of measurements on an evaluation set's chunks."""
    hidden = click.option("--no-titles", is_flag=True, help="Leave out the titles of the chunks.")
    extraction = click.option(
        "--extraction",
        default="rules",
        show_default=True,
        metavar="LIST",
        help="Extraction: rules, recorded, llm, names (no facts), or several, comma-separated (merged).",
    )
    return extraction(hidden(asking(command)))


def comparing(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option of measurements of several pipelines."""
    return click.option(
        "--compare",
        callback=lambda _context, _option, text: text.split(",") if text else [],
        metavar="LIST",
        help="Further pipelines to measure in the same table, with commas, e.g. hybrid_rag,hops_rag.",
    )(command)


def continued(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of measurements that an interrupted run continues."""
    for option in (
        click.option(
            "--max-tokens",
            type=click.IntRange(min=1),
            metavar="N",
            help="Stop before the model uses more than N tokens.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the sample."),
        click.option(
            "--limit", type=click.IntRange(min=1), metavar="N", help="Ask a random sample of N questions."
        ),
        click.option(
            "--out",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE.jsonl",
            help="Write a row for each answer; an interrupted run continues from this file.",
        ),
    ):
        command = option(command)
    return command


@contextmanager
def measuring(options: dict[str, Any]) -> Iterator[tuple[Engine, dict[str, Any]]]:
    """An engine on an empty store in memory, and the arguments that show the progress of a measurement."""
    with (
        open_engine({**overrides(options), **IN_MEMORY}, create=True) as engine,
        reading_then_questions(engine.budget) as (reading, progress),
    ):
        yield engine, {"reading": reading, "progress": progress}


def overrides(options: dict[str, Any]) -> dict[str, Any]:
    """The settings that the options of a measurement give."""
    return {
        "llm.model": options["model"],
        "extract.use": "llm" if "llm" in options["extraction"].split(",") else "rules",
        "embedding.model": options["embedding_model"],
        "rerank.model": options["rerank"],
    }


def budget_of(max_tokens: int | None) -> dict[str, Any]:
    """The setting of `--max-tokens`, if it is given."""
    return {} if max_tokens is None else {"llm.budget_tokens": max_tokens}


def pipeline_of(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of every measurement that asks questions."""
    return {"pipeline": options["pipeline"], "settings": key_values(options["settings"])}


def on_corpus(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of measurements on an evaluation set's chunks."""
    return {
        **pipeline_of(options),
        "extraction": options["extraction"],
        "titles": not options["no_titles"],
    }


def cut_offs(default: str, about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--k`, numbers in order; the parameter is `ks`."""

    def numbers(context: click.Context, option: click.Parameter, text: str) -> list[int]:
        del context, option
        try:
            cuts = sorted({int(part) for part in text.split(",")})
        except ValueError as error:
            raise click.BadParameter(
                tr("{text!r} is not a comma-separated list of numbers").format(text=text)
            ) from error
        if cuts[0] < 1:
            raise click.BadParameter(tr("cut-offs start at 1"))
        return cuts

    return click.option(
        "--k", "ks", default=default, show_default=True, metavar="LIST", callback=numbers, help=about
    )


def share(value: float | None) -> str:
    """A share or a mean in a table; empty for None."""
    return "" if value is None else f"{value:.3f}"


def models_of(found: Mapping[str, Any]) -> str:
    """The models of the retrieval, for people."""
    embedding = found["embedding_model"] or tr("no embeddings")
    if not found["rerank_model"]:
        return str(embedding)
    told = tr("{embedding}, reranked by {reranker}")
    return told.format(embedding=embedding, reranker=found["rerank_model"])


def say_head(found: Mapping[str, Any]) -> None:
    """Print what was measured, in a line above a table."""
    asked, of, seconds = found["n"], found.get("of", found["n"]), found["seconds_per_question"]
    told = [
        tr("{asked:,} of {of:,} questions").format(asked=asked, of=of)
        if asked != of
        else counted("{count:,} question", "{count:,} questions", asked),
        tr("extraction {way}").format(way=found["extraction"])
        if found["extraction"]
        else tr("documents of the store"),
        models_of(found),
    ]
    if seconds is not None:
        told.append(tr("{seconds:.3f} s per question").format(seconds=seconds))
    output.say(output.safe(tr("{name}: {told}").format(name=found["name"], told=listed(told))))


@click.group(cls=Group, examples=["graphrag-rdf eval retrieval musique.json"])
def eval_command() -> None:
    """Measure retrieval, answers, pages and facts on your own sets, in temporary stores."""


_one_extraction = click.option(
    "--extraction",
    type=click.Choice(["rules", "llm"]),
    default="rules",
    show_default=True,
    help="Extraction of the facts.",
)
_set_argument = click.argument("evalset", metavar="EVALSET.json", type=click.Path(path_type=Path))


_ABLATION = {"names": later("names only"), "names_and_facts": later("names and facts")}


@eval_command.command(
    "retrieval", examples=["graphrag-rdf eval retrieval musique.json --extraction rules --format json"]
)
@cut_offs("1,2,5,10", "Cut-offs of recall.")
@comparing
@with_corpus
@_set_argument
def retrieval(evalset: Path, ks: list[int], form: str, **options: Any) -> None:
    """Measure how many of the gold chunks are found, compared with BM25 (and dense search).

    A second run without facts, on names only, shows what the facts gain.
    """
    from graphrag_rdf.wings.evaluation.evalset import load_evalset
    from graphrag_rdf.wings.evaluation.retrieval import FIGURES, evaluate_retrieval

    loaded = load_evalset(evalset)
    with measuring(options) as (engine, shown):
        found = evaluate_retrieval(
            engine, loaded, compare=options["compare"], ks=ks, **shown, **on_corpus(options)
        )
    if options["extraction"] != "names":
        names_only = {**options, "extraction": "names"}
        with measuring(names_only) as (engine, shown):
            names = evaluate_retrieval(engine, loaded, ks=ks, **shown, **on_corpus(names_only))
        runs = {"names": names, "names_and_facts": found}
        found["ablation"] = {name: {key: run[key] for key in FIGURES} for name, run in runs.items()}
    if output.write(form, found):
        return
    say_head(found)
    ablation = {tr(_ABLATION[name]): run for name, run in found.get("ablation", {}).items()}
    for rows in ({found["pipeline"]: found, **found["baselines"]}, ablation):
        figures = [
            [name, *(share(run["recall"][str(k)]) for k in ks), share(run["mrr"])]
            for name, run in rows.items()
        ]
        if figures:
            output.table(["", *(f"R@{k}" for k in ks), "MRR"], figures)


@eval_command.command("pages", examples=["graphrag-rdf eval pages reports/ reports/questions.jsonl"])
@cut_offs("1,5,10", "Numbers of chunks.")
@_one_extraction
@asking
@click.argument("folder", metavar="PDF_FOLDER", type=click.Path(path_type=Path))
@click.argument("questions", metavar="QUESTIONS.jsonl", type=click.Path(path_type=Path))
def pages(folder: Path, questions: Path, ks: list[int], form: str, **options: Any) -> int:
    """Measure how often the first chunks cover a page with the evidence, compared with BM25.

    Each line of QUESTIONS.jsonl is an object with the keys id, q (the question), document (name of the PDF)
    and pages (the pages with the evidence, from 1).
    """
    from graphrag_rdf.wings.evaluation.pages import evaluate_pages, load_page_questions

    asked = load_page_questions(questions)
    with measuring(options) as (engine, shown):
        found = evaluate_pages(engine, folder, asked, ks=ks, **shown, **pipeline_of(options))
    for failure in found["failures"]:
        output.warn(tr("cannot read {path}: {cause}").format(path=failure["path"], cause=failure["reason"]))
    if not output.write(form, found):
        show_pages(found)
    return outcome(None, failed=bool(found["failures"]))


def show_pages(found: dict[str, Any]) -> None:
    """Print the table of `eval pages`."""
    told = tr(
        "{name}: {n:,} questions about {documents:,} documents of "
        "{pages:,} pages, {models}, {seconds_per_question:.3f} s a question"
    )
    output.say(output.safe(told.format(**found, models=models_of(found))))
    cuts = list(found["found"])
    rows = [(found["pipeline"], found), *found["baselines"].items()]
    firsts = [tr("first {number}").format(number=k) for k in cuts]
    known = [tr("{number} of its document").format(number=k) for k in cuts]
    output.table(
        [tr("an evidence page among"), *firsts, *known],
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
    from graphrag_rdf.ingest.facts import CandidateFilter
    from graphrag_rdf.wings.evaluation.facts import evaluate_facts, load_labelled

    texts = load_labelled(file)
    options = {"model": model, "extraction": extraction, "embedding_model": None, "rerank": None}
    with measuring(options) as (engine, _):
        found = evaluate_facts(
            texts, engine.extractor(), CandidateFilter(engine.settings.extract.entity_min_length)
        )
    if output.write(form, found):
        return
    if found["unread"]:
        output.say(tr("{unread:,} sentences that no rule reads").format(unread=found["unread"]))
    for name, run in found["runs"].items():
        output.say(output.safe(tr("{name}: {texts:,} texts").format(name=name, texts=run["texts"])))
        for title, groups in ((tr("kind"), {tr("all"): run, **run["kinds"]}), (tr("trait"), run["traits"])):
            columns = [title, *map(tr, _FACTS)]
            rows = [
                [key, r["texts"], r["facts"], share(r["precision"]), r["forbidden"], share(r["recall"])]
                for key, r in groups.items()
            ]
            if rows:
                output.say()
                output.table(columns, rows, numbers=columns[1:])
        for fault in run["faults"] if faults else ():
            output.say(f"\n{output.one_line(fault['id'])}: {output.one_line(fault['text'])}")
            for why, title in _FAULTS.items():
                for fact in fault[why]:
                    output.say(f"  {tr(title)}: {output.one_line(' | '.join(fact))}")


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
    from graphrag_rdf.ingest.schedule import attempt
    from graphrag_rdf.wings.evaluation.all_sets import find_sets

    sets, questions = find_sets(folder)
    measures = only or _MEASURES
    jobs = [(path, _measure_set) for path in sets if {"retrieval", "answers"} & set(measures)]
    jobs += [(path, _measure_pages) for path in questions if "pages" in measures]
    if not jobs:
        raise UsageError(
            tr("{folder} has no sets for: {measures}").format(folder=folder, measures=", ".join(measures))
        )
    found: dict[str, list[dict[str, Any]]] = {"sets": [], "pages": [], "failed": []}
    exit_codes: list[int] = []
    stopped = None
    for number, (path, measure) in enumerate(jobs, start=1):
        result: dict[str, Any] | GraphRagError
        try:
            output.note(tr("{path} ({number} of {count})").format(path=path, number=number, count=len(jobs)))
            result = attempt(partial(measure, path, measures, limit, options))
        except GraphRagError as error:
            result = error
        except KeyboardInterrupt:
            output.warn(
                tr("interrupted: {done} of {count} sets were measured").format(
                    done=number - 1, count=len(jobs)
                )
            )
            stopped = "interrupted"
            break
        if isinstance(result, GraphRagError):
            output.warn(tr("cannot measure {path}: {message}").format(path=path, message=result.message))
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
    from graphrag_rdf.wings.evaluation.all_sets import evaluate_set
    from graphrag_rdf.wings.evaluation.evalset import load_evalset

    evalset = load_evalset(path)
    with measuring(options) as (engine, shown):
        found = evaluate_set(
            engine, evalset, measures, limit=limit, compare=options["compare"], **shown, **on_corpus(options)
        )
    return {"name": evalset.name, **found}


def _measure_pages(
    path: Path, measures: Collection[str], limit: int | None, options: dict[str, Any]
) -> dict[str, Any]:
    from graphrag_rdf.wings.evaluation.all_sets import spread
    from graphrag_rdf.wings.evaluation.pages import evaluate_pages, load_page_questions

    del measures
    questions = spread(load_page_questions(path), limit)
    with measuring(options) as (engine, shown):
        return evaluate_pages(engine, path.parent, questions, **shown, **pipeline_of(options))


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
    row = {tr("set"): run["name"], "n": str((run.get("retrieval") or answered)["n"])}
    for k in ("1", "5"):
        row[f"R@{k}"] = share(ranked["recall"].get(k))
        for name, baseline in ranked["baselines"].items():
            row[f"{_SHOWN.get(name, name)} R@{k}"] = share(baseline["recall"][k])
    if answered:
        row[tr("contained")] = share(answered["contain_accuracy"])
        for name, baseline in answered["baselines"].items():
            row[tr("{baseline} contained").format(baseline=_SHOWN.get(name, name))] = share(
                baseline["contain_accuracy"]
            )
        row[tr("honest")] = share(answered["abstention"])
    return row


_RUNS = ("graph", "bm25", "graph-without-gold", "bm25-without-gold")
_QUOTED = {
    "contain_accuracy": later("contain accuracy"),
    "citation_precision": later("citation precision"),
    "answered": later("answered"),
    "abstention": later("abstention"),
    "sure_contained": later("right if sure"),
    "uncertain_contained": later("right if uncertain"),
}
_ROWS = (
    (later("questions"), "questions"),
    (later("exact match"), "exact_match"),
    (later("token F1"), "f1"),
    (later("answer contains an expected answer"), "contained"),
    (later("cited sentences contain an expected answer"), "contain_accuracy"),
    (later("valid citations"), "citations_hold"),
    (later("names and numbers found in the cited text"), "citation_precision"),
    (later("wrongly declined"), "declined"),
    (later("rightly declined (without the gold chunks)"), "abstention"),
    (later("calls per question"), "calls"),
    (later("input tokens per question"), "in_tokens"),
    (later("output tokens per question"), "out_tokens"),
    (later("total tokens"), "tokens"),
    (later("seconds per question"), "seconds_per_question"),
)
_NUMBERS = frozenset({"questions", "in_tokens", "out_tokens", "tokens"})


@eval_command.command(
    "answers",
    examples=[
        "graphrag-rdf eval answers musique.json --model openai/gpt-4.1 --limit 20 --out musique.jsonl",
        "graphrag-rdf eval answers questions.jsonl --store graphrag-store --model openai/gpt-4.1",
    ],
)
@continued
@click.option("--only", multiple=True, type=click.Choice(_RUNS), help="Run only this one; may be repeated.")
@with_corpus
@click.argument("evalset", metavar="SET.json|QUESTIONS.jsonl", type=click.Path(path_type=Path))
def answers(evalset: Path, out: Path | None, max_tokens: int | None, form: str, **options: Any) -> int:
    """Ask the questions of a set, and score the answers.

    With a model, the baseline is the same model with the best chunks of BM25. Without one, the baseline
    quotes three sentences. Both answer again after the gold chunks are removed.

    The chunks of SET.json are ingested into a temporary store, or into --store, where each question leaves
    a trace. QUESTIONS.jsonl has lines with q and answer, about the documents of the store.
    """
    from graphrag_rdf.wings.evaluation.answers import Options, evaluate_answers
    from graphrag_rdf.wings.evaluation.evalset import load_evalset, load_questions

    asked = load_questions(evalset) if evalset.suffix == ".jsonl" else load_evalset(evalset)
    chosen = Options(
        **on_corpus(options),
        runs=options["only"] or None,
        limit=options["limit"],
        seed=options["seed"],
        keep=out,
    )
    with (
        _engine(options, max_tokens, own=not asked.corpus) as engine,
        stop_requests() as stop,
        reading_then_questions(engine.budget) as (reading, progress),
    ):
        _say_if_unkept(engine, out)
        found = evaluate_answers(engine, asked, chosen, reading=reading, progress=progress, stop=stop)
    if not output.write(form, found):
        (_show_quoted if found["model"] is None else _show_answers)(found)
    return _say_how_it_ended(found, out)


@eval_command.command(
    "sparql",
    examples=[
        "graphrag-rdf eval sparql examples/sparql-questions.jsonl",
        "graphrag-rdf eval sparql questions.jsonl --model openai/gpt-4.1 --limit 20 --out results.jsonl",
    ],
)
@continued
@click.option("--pipeline", default="sparql", show_default=True, help="Pipeline to measure.")
@format_option()
@set_option
@model_option
@click.argument("file", metavar="FILE.jsonl|FILE.json", type=click.Path(path_type=Path))
def sparql(file: Path, out: Path | None, max_tokens: int | None, form: str, **options: Any) -> int:
    """Ask questions as SPARQL, and compare the rows of each answer with the right ones.

    Each line of FILE is an object with q (the question), gold (a query) or rows (lists of values), and
    optionally id, kind and ordered. The documents are those of the store; each question leaves a trace.
    """
    from graphrag_rdf.wings.evaluation.sparql import SparqlOptions, evaluate_sparql, load_sparql_questions

    asked = load_sparql_questions(file)
    chosen = SparqlOptions(
        options["pipeline"], key_values(options["settings"]), options["limit"], options["seed"], out
    )
    settings = {"llm.model": options["model"], **budget_of(max_tokens)}
    with (
        open_engine(settings) as engine,
        stop_requests() as stop,
        question_counter(engine.budget) as progress,
    ):
        _say_if_unkept(engine, out)
        found = evaluate_sparql(engine, asked, chosen, progress=progress, stop=stop)
    if not output.write(form, found):
        _show_sparql(found)
    return _say_how_it_ended(found, out)


def _show_sparql(found: Mapping[str, Any]) -> None:
    """Print the wrong answers, and a table with a row for each kind."""
    for row in found["questions"]:
        if not row["right"]:
            query = row["template"] or (tr("a query of the model") if row["query"] else tr("no query"))
            told = tr("wrong {id}: {question} ({query}: {found} row(s), expected {expected})")
            output.say(output.one_line(told.format(**{**row, "query": query})))
    if found["questions"] and found["right"] < found["rows"]:
        output.say()
    columns = [
        "",
        tr("questions"),
        tr("right"),
        tr("accuracy"),
        tr("with rows"),
        tr("calls"),
        tr("seconds"),
    ]
    output.table(
        columns,
        [
            [
                name,
                str(run["rows"]),
                str(run["right"]),
                *(share(run[key]) for key in ("accuracy", "answered", "calls", "seconds_per_question")),
            ]
            for name, run in ((tr("all"), found), *found["kinds"].items())
        ],
        numbers=columns[1:],
    )


def _engine(options: dict[str, Any], max_tokens: int | None, *, own: bool) -> Engine:
    """An engine on a store in memory, on `--store`, or on the store of the settings.

    Args:
        own: whether the store has the documents already.
    """
    settings = {**overrides(options), **budget_of(max_tokens)}
    if own:
        return open_engine(settings)
    return open_engine(settings if given_options().get("store") else {**settings, **IN_MEMORY}, create=True)


def _show_quoted(found: Mapping[str, Any]) -> None:
    say_head(found)
    runs = [(found["pipeline"], found), *found["baselines"].items()]
    output.table(
        ["", *map(tr, _QUOTED.values())],
        [[label, *(share(run[name]) for name in _QUOTED)] for label, run in runs],
    )


def _show_answers(found: Mapping[str, Any]) -> None:
    """Print the table of a model's answers: a row for each figure, a column for each run."""
    say_head(found)
    output.say(
        output.safe(
            tr("model {model}, asked for {response_type}").format(
                model=found["model"], response_type=found["response_type"]
            )
        )
    )
    columns = {found["pipeline"]: found}
    columns |= {
        tr("{baseline} chunks").format(baseline=name.upper()): run for name, run in found["baselines"].items()
    }
    rows = []
    for label, key in _ROWS:
        cells = [_cell(run, key) for run in columns.values()]
        if any(cells):
            rows.append([tr(label), *cells])
    rows += [
        [
            tr("answers with {warning}").format(warning=kind),
            *(f"{run['warnings'].get(kind, 0):,}" for run in columns.values()),
        ]
        for kind in sorted({kind for run in columns.values() for kind in run["warnings"]})
    ]
    output.table(["", *columns], rows, numbers=list(columns))
    if not found["gold"]:
        output.say(tr("Figures that need gold chunks are left out: none are known."))


def _cell(run: Mapping[str, Any], key: str) -> str:
    if key == "declined":
        return share(None if run["answered"] is None else 1 - run["answered"])
    value = run[key]
    return f"{value:,.0f}" if key in _NUMBERS and value is not None else share(value)


def _say_if_unkept(engine: Engine, out: Path | None) -> None:
    if engine.settings.llm.model is not None and out is None:
        output.note(tr("without --out, an interrupted run starts again from the beginning"))


def _say_how_it_ended(found: Mapping[str, Any], out: Path | None) -> int:
    for failure in found["failed"]:
        run = bracketed(failure["run"]) if "run" in failure else ""
        output.warn(
            tr("question {id}{run}: {reason}").format(id=failure["id"], run=run, reason=failure["reason"])
        )
    missing, stopped = found["rows_missing"], found["stopped"]
    if missing:
        why = {
            "interrupted": tr("interrupted"),
            "budget": tr("the budget is used up"),
            "model": tr("the model failed"),
        }
        hint = tr("run the same command again to continue") if out else None
        lacking = tr("{missing:,} of {all:,} answers are missing").format(
            missing=missing, all=missing + found["rows"]
        )
        say_error(f"{lacking}: {why[stopped]}" if stopped else lacking, hint)
    return FAILED if stopped == "model" else outcome(stopped, failed=bool(missing))
