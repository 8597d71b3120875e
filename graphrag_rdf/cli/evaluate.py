"""`eval`: how well retrieval and answers do on an evaluation set, in a store of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.options import embedding_option, key_values, model_option, rerank_option, set_option
from graphrag_rdf.cli.output import format_option, pairs
from graphrag_rdf.cli.progress import question_counter
from graphrag_rdf.cli.session import open_engine

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.evaluation.evalset import EvalSet


@click.group(cls=Group, examples=["graphrag-rdf eval retrieval musique.json"])
def eval_command() -> None:
    """Measure retrieval and answers on an evaluation set, in a temporary store."""


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both measurements take."""
    for option in (
        format_option(),
        set_option,
        model_option,
        embedding_option,
        rerank_option,
        click.option("--no-titles", is_flag=True, help="Hide the titles of the passages."),
        click.option("--pipeline", default="graph_rag", show_default=True, help="What is measured."),
        click.option(
            "--extraction",
            default="rules",
            show_default=True,
            metavar="LIST",
            help="Where facts come from: rules, recorded, llm, or several with commas (merged).",
        ),
        click.argument("evalset", metavar="EVALSET.json", type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


@eval_command.command(
    "retrieval", examples=["graphrag-rdf eval retrieval musique.json --extraction rules --format json"]
)
@click.option("--k", "ks", default="1,2,5,10", show_default=True, metavar="LIST", help="Cut-offs of recall.")
@_options
def retrieval(evalset: Path, ks: str, form: str, **options: Any) -> None:
    """How many of the needed passages are found, beside BM25 (and dense search) in the same run."""
    from graphrag_rdf.evaluation.retrieval import evaluate_retrieval

    cuts = _cut_offs(ks)
    with _on(evalset, options) as (engine, loaded, common):
        found = evaluate_retrieval(engine, loaded, ks=cuts, **common)
    if form == "json":
        output.write_json(found)
        return
    _head(found)
    rows = [("graph", found), *found["baselines"].items()]
    columns = ["", *(f"R@{k}" for k in cuts), "MRR"]
    figures = [
        [name, *(f"{run['recall'][str(k)]:.3f}" for k in cuts), f"{run['mrr']:.3f}"] for name, run in rows
    ]
    output.table(columns, figures)


@eval_command.command("answers", examples=["graphrag-rdf eval answers musique.json --model openai/gpt-4.1"])
@_options
def answers(evalset: Path, form: str, **options: Any) -> None:
    """Whether cited evidence holds the answer, citations hold, and what is not known is owned up to."""
    from graphrag_rdf.evaluation.answers import evaluate_answers

    with _on(evalset, options) as (engine, loaded, common):
        found = evaluate_answers(engine, loaded, **common)
    if form == "json":
        output.write_json(found)
        return
    _head(found)
    names = ("contain_accuracy", "citation_precision", "answered", "abstention")
    pairs([(name.replace("_", " "), f"{found[name]:.3f}") for name in names])


@contextmanager
def _on(path: Path, options: dict[str, Any]) -> Iterator[tuple[Engine, EvalSet, dict[str, Any]]]:
    """An engine on an empty store in memory, the set, and the arguments of its evaluation."""
    from graphrag_rdf.evaluation.evalset import load_evalset

    loaded = load_evalset(path)
    overrides = {
        "store": ":memory:",
        "collection": "default",
        "llm.model": options["model"],
        "embedding.model": options["embedding_model"],
        "rerank.model": options["rerank"],
    }
    with open_engine(overrides, create=True) as engine, question_counter() as progress:
        yield (
            engine,
            loaded,
            {
                "extraction": options["extraction"],
                "pipeline": options["pipeline"],
                "titles": not options["no_titles"],
                "settings": key_values(options["settings"]),
                "progress": progress,
            },
        )


def _cut_offs(text: str) -> list[int]:
    try:
        cuts = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a list of numbers", param_hint="--k") from error
    if cuts[0] < 1:
        raise click.BadParameter("cut-offs begin at 1", param_hint="--k")
    return cuts


def _head(found: dict[str, Any]) -> None:
    embedding = found["embedding_model"] or "no embeddings"
    output.say(
        output.safe(
            f"{found['name']}: {found['n']:,} questions, extraction {found['extraction']}, {embedding}, "
            f"{'reranked by ' + found['rerank_model'] + ', ' if found['rerank_model'] else ''}"
            f"{found['seconds_per_question']:.3f} s a question"
        )
    )
