"""`retrieve`: rank chunks and facts for a question, without answering it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import (
    Command,
    date_options,
    dates_as_settings,
    embedding_option,
    entity_options,
    key_values,
    model_option,
    rerank_option,
    set_option,
)
from graphrag_rdf.cli.output import format_option, one_line, say, styled
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError, read_text
from graphrag_rdf.i18n import counted, tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_PATHS = 3
"""Number of paths shown for a chunk; `--format json` has all."""


@click.command(
    cls=Command,
    examples=[
        'graphrag-rdf retrieve --top 5 "Who founded the company?"',
        'graphrag-rdf retrieve --from 2023-05 --to 2023-06 "What was decided about the harbour?"',
        'graphrag-rdf retrieve --rerank local:models/reranker "Who founded the company?"',
        "graphrag-rdf retrieve --questions questions.jsonl --format jsonl > ranked.jsonl",
    ],
)
@click.argument("question", required=False)
@click.option(
    "--questions",
    type=click.Path(path_type=Path),
    metavar="FILE.jsonl",
    help='File with a question on each line: {"id": "1", "q": "…"}.',
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    metavar="K",
    help="Number of chunks and facts.",
)
@click.option("--preview", is_flag=True, help="Show the parts of each score, and the paths to the chunk.")
@click.option("--trace", is_flag=True, help="Store a trace.")
@click.option("--pipeline", default="graph_rag", show_default=True, help="Pipeline to run.")
@model_option
@embedding_option
@rerank_option
@set_option
@entity_options
@date_options
@format_option("text", "json", "jsonl")
def retrieve_command(
    question: str | None,
    questions: Path | None,
    top: int,
    preview: bool,
    trace: bool,
    pipeline: str,
    model: str | None,
    embedding_model: str | None,
    rerank: str | None,
    settings: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    since: str | None,
    until: str | None,
    valid: str | None,
    no_dates: bool,
    form: str,
) -> None:
    """Rank chunks and facts for a QUESTION without answering it. Only --trace stores a trace."""
    if (question is None) == (questions is None):
        raise UsageError(tr("give either a question or --questions FILE.jsonl"))
    asked: list[tuple[str | None, str]] = (
        [(None, question)] if question is not None else _questions(questions)
    )
    options: dict[str, Any] = {
        "k": top,
        "pipeline": pipeline,
        "settings": dates_as_settings(since, until, valid, no_dates) | key_values(settings),
        "include": include,
        "exclude": exclude,
        "preview": preview,
        "stored": trace,
    }
    models = {"llm.model": model, "embedding.model": embedding_model, "rerank.model": rerank}
    with open_engine(models, beside=not trace) as engine:
        found = _retrieve(engine, asked, options)
        if form == "jsonl":
            output.write_jsonl(found)
        elif form == "json":
            output.write_json(next(found) if question is not None else list(found))
        else:
            for result in found:
                _show(result, preview=preview)


def _retrieve(
    engine: Engine, asked: list[tuple[str | None, str]], options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for identifier, question in asked:
        yield {"id": identifier, **engine.retrieve(question, **options)}


def _questions(path: Path | None) -> list[tuple[str | None, str]]:
    """(id, question) of each line.

    Raises:
        UsageError: when the file is missing, or a line is not a question.
    """
    assert path is not None  # noqa: S101 - the caller checked
    text = output.read_stdin() if str(path) == "-" else read_text(path)
    found: list[tuple[str | None, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            found.append((str(item["id"]), str(item["q"])))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                tr("{path}, line {number}: not a question").format(path=path, number=number),
                hint=tr('each line must be an object like {"id": "1", "q": "Who …?"}'),
            ) from error
    return found


def _show(result: dict[str, Any], *, preview: bool) -> None:
    say(styled(one_line(result["question"]), bold=True))
    for item in result["results"]:
        say(f"{item['rank']:3}. {item['score']:.3f}  {one_line(item['name'])}")
        say(output.wrapped(_shortened(item["text"]), indent="     "))
        if preview:
            parts = " + ".join(
                f"{_number(item['weights'][name])} × {name} {_number(value)}"
                for name, value in item["signals"].items()
                if value
            )
            told = (
                tr("score: X/(1 + X), X = {sum} = {parts}").format(sum=_number(item["sum"]), parts=parts)
                if "sum" in item
                else tr("score: {parts}").format(parts=parts)
            )
            say(output.wrapped(told, indent="       ", first="     "))
            if "rank_before" in item:
                before = f"{item['rank_before']}. {_number(item['score_before'])}"
                given = tr("nothing") if item["rerank_score"] is None else _number(item["rerank_score"])
                say(tr("     before: {before}; the reranker gave {given}").format(before=before, given=given))
            for relation in item["relations"][:_PATHS]:
                origin = one_line(relation["origin_label"] or relation["origin"])
                near = one_line(relation["near_label"] or relation["near"] or "")
                way = (
                    tr("{origin}, by {near} named near it").format(origin=origin, near=near)
                    if near
                    else origin
                )
                told = tr("relation: {share} {signal} of {way}").format(
                    share=_number(relation["share"]), signal=relation["signal"], way=way
                )
                say(output.wrapped(told, indent="       ", first="     "))
            for path in item["paths"][:_PATHS]:
                say(
                    output.wrapped(
                        tr("path: {path}").format(path=_told(path)), indent="       ", first="     "
                    )
                )
    if result["edges"]:
        say(styled(tr("Facts"), bold=True))
    for edge in result["edges"]:
        fact = f"{edge['s_label']} — {edge['p_label']} — {edge['o_label']}"
        say(output.wrapped(fact, indent="            ", first=f"     {edge['score']:.3f}  "))
    for warning in result.get("warnings", ()):
        output.warn_of(warning)
    say()


def _told(path: dict[str, Any]) -> str:
    """A path in words: its share of the score, its entity, and in how many chunks this is."""
    way = (
        counted("topic of this chunk only", "topic of {count} chunks", path["number"])
        if path["topic"]
        else counted("mentioned in this chunk only", "mentioned in {count} chunks", path["number"])
    )
    return tr("{share} from {entity}, {way} (activation {activation})").format(
        share=_number(path["share"]),
        entity=one_line(path["entity_label"] or path["entity"]),
        way=way,
        activation=_number(path["activation"]),
    )


def _shortened(text: str, length: int = 240) -> str:
    flat = one_line(text)
    return flat if len(flat) <= length else flat[: length - 1].rstrip() + "…"


def _number(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
