"""Options, the engine in memory and the formatting of figures, for the commands of `eval`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.options import embedding_option, key_values, model_option, rerank_option, set_option
from graphrag_rdf.cli.output import format_option
from graphrag_rdf.cli.session import open_engine

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

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
        help="Extraction of the facts: rules, recorded, llm, or several, comma-separated (merged).",
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


@contextmanager
def empty_engine(options: dict[str, Any]) -> Iterator[Engine]:
    """An engine on an empty store in memory."""
    with open_engine({**overrides(options), **IN_MEMORY}, create=True) as engine:
        yield engine


def overrides(options: dict[str, Any]) -> dict[str, Any]:
    """The settings that the options of a measurement give."""
    return {
        "llm.model": options["model"],
        "extract.use": "llm" if "llm" in options["extraction"].split(",") else "rules",
        "embedding.model": options["embedding_model"],
        "rerank.model": options["rerank"],
    }


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


def cut_offs(text: str) -> list[int]:
    """The numbers of `--k`. Raises BadParameter for other texts."""
    try:
        cuts = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a comma-separated list of numbers", param_hint="--k"
        ) from error
    if cuts[0] < 1:
        raise click.BadParameter("cut-offs start at 1", param_hint="--k")
    return cuts


def share(value: float | None) -> str:
    """A share or a mean in a table; empty for None."""
    return "" if value is None else f"{value:.3f}"


def models_of(found: Mapping[str, Any]) -> str:
    """The models of the retrieval, for people."""
    embedding = found["embedding_model"] or "no embeddings"
    return f"{embedding}, reranked by {found['rerank_model']}" if found["rerank_model"] else embedding


def say_head(found: Mapping[str, Any]) -> None:
    """Print what was measured, in a line above a table."""
    asked, of, seconds = found["n"], found.get("of", found["n"]), found["seconds_per_question"]
    told = [
        f"{asked:,} questions" if asked == of else f"{asked:,} of {of:,} questions",
        f"extraction {found['extraction']}" if found["extraction"] else "documents of the store",
        models_of(found),
    ]
    if seconds is not None:
        told.append(f"{seconds:.3f} s per question")
    output.say(output.safe(f"{found['name']}: {', '.join(told)}"))
