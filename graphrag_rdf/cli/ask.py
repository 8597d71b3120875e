"""`ask`: a question, and its answer with citations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.failures import FAILED, say_error
from graphrag_rdf.cli.options import embedding_option, entity_options, key_values, model_option, set_option
from graphrag_rdf.cli.output import format_option, one_line, safe, say, styled
from graphrag_rdf.cli.session import open_engine

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.trace.messages import GraphRagResponse


@click.command(
    cls=Command,
    examples=[
        'graphrag-rdf ask "Who founded the company?"',
        'graphrag-rdf ask --model openai/gpt-4.1 --explain "Why did the plant close?"',
        'graphrag-rdf ask --format json "Who founded the company?" | jq .citations',
    ],
)
@click.argument("question")
@click.option("--pipeline", default="graph_rag", show_default=True, help="How to answer.")
@click.option("--explain", "--explainable", is_flag=True, help="Also show how the answer came about.")
@click.option("--no-stream", is_flag=True, help="Print the answer when it is whole.")
@model_option
@embedding_option
@set_option
@click.option("--response-type", metavar="TEXT", help='E.g. "a list of names" (needs a model).')
@click.option(
    "--allow-general-knowledge",
    is_flag=True,
    help="Let the model add what it knows; such sentences are marked and cite nothing.",
)
@click.option("--no-cache", is_flag=True, help="Ask the model anew, whatever was answered before.")
@entity_options
@format_option("text", "json", "jsonl")
def ask_command(
    question: str,
    pipeline: str,
    explain: bool,
    no_stream: bool,
    model: str | None,
    embedding_model: str | None,
    settings: tuple[str, ...],
    response_type: str | None,
    allow_general_knowledge: bool,
    no_cache: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    form: str,
) -> int:
    """Answer a QUESTION from the documents of the store, with citations.

    Nothing relevant found is an answer too: it says so, and the exit code is 0. QUESTION may be - to read
    it from standard input.
    """
    if question == "-":
        question = output.read_stdin()
    steps = key_values(settings)
    if response_type is not None:
        steps["synthesis.response_type"] = response_type
    if allow_general_knowledge:
        steps["synthesis.allow_general_knowledge"] = "true"
    with open_engine({"llm.model": model, "embedding.model": embedding_model}) as engine:
        messages = engine.ask(
            question, pipeline, settings=steps, include=include, exclude=exclude, cache=not no_cache
        )
        try:
            if form == "jsonl":
                return _stream_messages(messages)
            if form == "json":
                last = _last(messages)
                if last.answer is None:
                    return _failed(last)
                output.write_json(last.answer)
                return 0
            return _show(engine, messages, stream=not no_stream, explain=explain)
        finally:
            messages.close()  # a reader that leaves closes the trace before the store


def _stream_messages(messages: Iterable[GraphRagResponse]) -> int:
    failed: list[GraphRagResponse] = []

    def lines() -> Iterator[dict[str, Any]]:
        for message in messages:
            if message.error:
                failed.append(message)
            yield message.as_json()

    output.write_jsonl(lines())
    return _failed(failed[0]) if failed else 0


def _last(messages: Iterable[GraphRagResponse]) -> GraphRagResponse:
    *_, last = messages
    return last


def _failed(message: GraphRagResponse) -> int:
    error = message.error or {}
    say_error(error.get("message", "the run ended without an answer"), error.get("hint"))
    return FAILED


def _show(engine: Engine, messages: Iterable[GraphRagResponse], *, stream: bool, explain: bool) -> int:
    """For people: the answer as it comes, its sources, its warnings, and how it came about."""
    streamed = False
    session = None
    last = None
    for message in messages:
        last = message
        if message.kind == "session":
            session = message.explain_id
        if message.kind == "answer" and stream:
            streamed = True
            say(safe(message.response), newline=False)
            sys.stdout.flush()
    if streamed:
        say()
    assert last is not None  # noqa: S101 - a run has at least its last message
    if last.answer is None:
        if explain and session:
            _explain(engine, session)
        return _failed(last)
    if not streamed:
        say(safe(last.answer["answer"]))
    _sources(last.answer)
    if last.answer["cached"]:
        output.note(f"answered before ({last.answer['original']}); --no-cache asks anew")
    for warning in last.answer["warnings"]:
        output.warn(f"{warning['detail']} ({warning['type']})")
    if explain and session:
        _explain(engine, session)
    return 0


def _sources(answer: Mapping[str, Any]) -> None:
    """`[n] → document, page, quote` for every marker."""
    shown: dict[str, dict[str, None]] = {}
    for citation in answer["citations"]:
        lines = shown.setdefault(citation["marker"], {})
        for source in citation["sources"]:
            lines[_source(source, citation.get("edge"))] = None
    if not shown:
        return
    say()
    say(styled("Sources", bold=True))
    for marker in sorted(shown, key=lambda m: int(m.strip("[]"))):
        label = f"{marker} "
        for number, line in enumerate(shown[marker]):
            say(output.wrapped(line, indent=" " * len(label), first=" " * len(label) if number else label))


def _source(source: Mapping[str, Any], edge: Mapping[str, str] | None) -> str:
    if source["chunk"] is None and edge:
        fact = one_line(f"{edge['s_label']} {edge['p_label']} {edge['o_label']}")
        return f"{one_line(source['title'])}: {fact} (a fact, not a quotation)"
    page = f", page {source['page_number']}" if source.get("page_number") else ""
    quote = one_line(source.get("quote") or "")
    said = f": “{quote}”" if quote else ""
    doubt = (
        ""
        if not quote or source.get("verified", True)
        else " (this quote was not found in the document's text)"
    )
    return f"{one_line(source['title'])}{page}{said}{doubt}"


def _explain(engine: Engine, session: str) -> None:
    from graphrag_rdf.cli.trace import trace_text

    say()
    say(trace_text(engine, session))
