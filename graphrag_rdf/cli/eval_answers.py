"""`eval answers`: score the answers to the questions of a set, or to questions about a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, given_options
from graphrag_rdf.cli.eval_options import IN_MEMORY, on_corpus, overrides, say_head, share, with_corpus
from graphrag_rdf.cli.failures import FAILED, say_error
from graphrag_rdf.cli.progress import reading_then_questions
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.signals import stop_requests
from graphrag_rdf.cli.summary import outcome

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_RUNS = ("graph", "bm25", "graph-without-gold", "bm25-without-gold")
_QUOTED = ("contain_accuracy", "citation_precision", "answered", "abstention")
_ROWS = (
    ("questions", "questions"),
    ("exact match", "exact_match"),
    ("token F1", "f1"),
    ("answer contains an expected answer", "contained"),
    ("cited sentences contain an expected answer", "contain_accuracy"),
    ("valid citations", "citations_hold"),
    ("names and numbers found in the cited text", "citation_precision"),
    ("wrongly declined", "declined"),
    ("rightly declined (without the gold chunks)", "abstention"),
    ("calls per question", "calls"),
    ("input tokens per question", "in_tokens"),
    ("output tokens per question", "out_tokens"),
    ("total tokens", "tokens"),
    ("seconds per question", "seconds_per_question"),
)
_NUMBERS = frozenset({"questions", "in_tokens", "out_tokens", "tokens"})


@click.command(
    "answers",
    cls=Command,
    examples=[
        "graphrag-rdf eval answers musique.json --model openai/gpt-4.1 --limit 20 --out musique.jsonl",
        "graphrag-rdf eval answers questions.jsonl --store graphrag-store --model openai/gpt-4.1",
    ],
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.jsonl",
    help="Write a row for each answer; an interrupted run continues from this file.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask a random sample of N questions.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the sample.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop before the model uses more than N tokens.",
)
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
    from graphrag_rdf.evaluation.answers import Options, evaluate_answers
    from graphrag_rdf.evaluation.evalset import load_evalset, load_questions

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
        model = engine.settings.llm.model
        if model is not None and out is None:
            output.note("without --out, an interrupted run starts again from the beginning")
        found = evaluate_answers(engine, asked, chosen, reading=reading, progress=progress, stop=stop)
    if not output.write(form, found):
        (_show_quoted if found["model"] is None else _show)(found)
    return _say_how_it_ended(found, out)


def _engine(options: dict[str, Any], max_tokens: int | None, *, own: bool) -> Engine:
    """An engine on a store in memory, on `--store`, or on the store of the settings.

    Args:
        own: whether the store has the documents already.
    """
    settings = overrides(options)
    if max_tokens is not None:
        settings["llm.budget_tokens"] = max_tokens
    if own:
        return open_engine(settings)
    return open_engine(settings if given_options().get("store") else {**settings, **IN_MEMORY}, create=True)


def _show_quoted(found: Mapping[str, Any]) -> None:
    say_head(found)
    runs = [(found["pipeline"], found), *found["baselines"].items()]
    output.table(
        ["", *(name.replace("_", " ") for name in _QUOTED)],
        [[label, *(share(run[name]) for name in _QUOTED)] for label, run in runs],
    )


def _show(found: Mapping[str, Any]) -> None:
    """Print the table of a model's answers: a row for each figure, a column for each run."""
    say_head(found)
    output.say(output.safe(f"model {found['model']}, asked for {found['response_type']}"))
    columns = {found["pipeline"]: found}
    columns |= {f"{name.upper()} chunks": run for name, run in found["baselines"].items()}
    rows = []
    for label, key in _ROWS:
        cells = [_cell(run, key) for run in columns.values()]
        if any(cells):
            rows.append([label, *cells])
    rows += [
        [f"answers with {kind}", *(f"{run['warnings'].get(kind, 0):,}" for run in columns.values())]
        for kind in sorted({kind for run in columns.values() for kind in run["warnings"]})
    ]
    output.table(["", *columns], rows, numbers=list(columns))
    if not found["gold"]:
        output.say("Figures that need gold chunks are left out: none are known.")


def _cell(run: Mapping[str, Any], key: str) -> str:
    if key == "declined":
        return share(None if run["answered"] is None else 1 - run["answered"])
    value = run[key]
    return f"{value:,.0f}" if key in _NUMBERS and value is not None else share(value)


def _say_how_it_ended(found: Mapping[str, Any], out: Path | None) -> int:
    for failure in found["failed"]:
        output.warn(f"question {failure['id']} ({failure['run']}): {failure['reason']}")
    missing, stopped = found["rows_missing"], found["stopped"]
    if missing:
        why = {"interrupted": "interrupted", "budget": "the budget is used up", "model": "the model failed"}
        hint = "run the same command again to continue" if out else None
        lacking = f"{missing:,} of {missing + found['rows']:,} answers are missing"
        say_error(f"{lacking}: {why[stopped]}" if stopped else lacking, hint)
    return FAILED if stopped == "model" else outcome(stopped, failed=bool(missing))
