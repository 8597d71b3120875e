"""`ask`: answer a question, with citations."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

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
    server_options,
    set_option,
)
from graphrag_rdf.cli.output import format_option, one_line, safe, say, styled
from graphrag_rdf.cli.process import FAILED, say_error
from graphrag_rdf.cli.session import open_engine, refuse, server_instead, server_of
from graphrag_rdf.errors import StoreLockedError, UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.client import Client
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.trace.messages import GraphRagResponse

    Messages: TypeAlias = Generator[GraphRagResponse, None, None]
    Explained: TypeAlias = Callable[[str], str]
    """Session → its trace as text, safe to print."""


_DEFAULT = "graph_rag"


@click.command(
    cls=Command,
    examples=[
        'graphrag-rdf ask "Who founded the company?"',
        'graphrag-rdf ask --model openai/gpt-4.1 --explain "Why did the plant close?"',
        'graphrag-rdf ask --format json "Who founded the company?" | jq .citations',
        'graphrag-rdf ask --from 2023-05 --to 2023-06 "What was decided about the harbour?"',
        'graphrag-rdf ask --session last "When did she die?"',
        "graphrag-rdf ask --resume last",
        'graphrag-rdf ask --suggest "Who founded the company?"',
        'graphrag-rdf ask ""',
        'graphrag-rdf ask --server http://127.0.0.1:7878 "Who founded the company?"',
    ],
)
@click.argument("question", required=False)
@click.option("--pipeline", default=_DEFAULT, show_default=True, help="Pipeline to run.")
@click.option("--explain", "--explainable", is_flag=True, help="Also show the trace of the answer.")
@click.option("--no-stream", is_flag=True, help="Print the answer when it is complete.")
@model_option
@embedding_option
@rerank_option
@set_option
@click.option(
    "--response-type", metavar="TEXT", help='Form of the answer, e.g. "a list of names" (needs a model).'
)
@click.option(
    "--allow-general-knowledge",
    is_flag=True,
    help="Let the model add its own knowledge. Such sentences are marked and cite nothing.",
)
@click.option(
    "--suggest",
    is_flag=True,
    help="Also suggest follow-up questions, by the model or from related facts.",
)
@click.option("--no-cache", is_flag=True, help="Ask the model again instead of returning a cached answer.")
@entity_options
@date_options
@click.option(
    "--session",
    metavar="TRACE",
    help="Continue after an earlier question: the name of its trace, or last.",
)
@click.option(
    "--resume",
    metavar="TRACE",
    help="Go on with a search that was stopped, in place of a QUESTION: the name of its trace, or last.",
)
@server_options
@format_option("text", "json", "jsonl")
def ask_command(
    question: str | None,
    explain: bool,
    no_stream: bool,
    server: str | None,
    token_file: Path | None,
    form: str,
    **options: Any,
) -> int:
    """Answer a QUESTION from the documents of the store, with citations.

    If the store has nothing relevant, the answer says so and the exit code is 0. Use - as QUESTION to read
    it from standard input. An empty QUESTION asks for an overview of the documents (pipeline overview).
    """
    if (question is None) == (options["resume"] is None):
        raise UsageError(
            tr("give either a QUESTION or --resume"), hint=tr('graphrag-rdf ask "Who founded the company?"')
        )
    if question == "-":
        question = output.read_stdin()
    if question is not None:
        from graphrag_rdf.prepare import or_overview

        question, options["pipeline"] = or_overview(question, options["pipeline"])
    with _answering(question or "", server, token_file, options) as (messages, explained):
        if form == "jsonl":
            return _stream_messages(messages)
        if form == "json":
            last = _last(messages)
            if last.answer is None:
                return _failed(last)
            output.write_json(last.answer)
            return 0
        return _show(messages, explained if explain else None, stream=not no_stream)


@contextmanager
def _answering(
    question: str, server: str | None, token_file: Path | None, options: Mapping[str, Any]
) -> Iterator[tuple[Messages, Explained]]:
    """The messages of a run, in this process or on a server, and a function that returns the trace."""
    from graphrag_rdf.client import Client

    opened: Engine | Client | None = server_of(server, token_file)
    if opened is None:
        opened = _opened(question, options)
        if isinstance(opened, Client) and options["session"]:  # of this user's server, `last` is this user's
            options = {**options, "session": opened.session_named(options["session"])}
    if isinstance(opened, Client):
        with closing(_remote(question, opened, options)) as messages:
            yield messages, opened.trace_text
        return
    with opened as engine, closing(_local(engine, question, options)) as messages:
        first = engine.settings.llm.model is None and not engine.store.ask("trace/any")
        yield messages, lambda session: _trace_text(engine, session)  # closed before the store is
        if first:
            output.note(
                tr(
                    "To let a model write answers: graphrag-rdf config set llm.model PROVIDER/MODEL, then "
                    "graphrag-rdf doctor --probe (docs/how-to/use-a-model.md)"
                )
            )


def _opened(question: str, options: Mapping[str, Any]) -> Engine | Client:
    """The store, or the server on this computer that has it open."""
    models = {"llm.model": "model", "embedding.model": "embedding_model", "rerank.model": "rerank"}
    try:
        return open_engine({key: options[name] for key, name in models.items()})
    except StoreLockedError as error:
        if error.server is None:
            raise
        hint = f"graphrag-rdf ask --server {error.server} {shlex.quote(question.strip())}"
        if options["resume"]:
            told = tr("the server at {url} has it open; this command writes: stop the server first")
            hint = told.format(url=error.server)
        named = StoreLockedError(error.message, hint, error.server)
        if any(options[name] for name in _NOT_OVER_HTTP):
            raise named from error
        return server_instead(named)


def _steps(options: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of steps among the options."""
    parameters = {
        "synthesis.response_type": options["response_type"],
        "synthesis.allow_general_knowledge": "true" if options["allow_general_knowledge"] else None,
        "synthesis.suggestions": _SUGGESTED if options["suggest"] else None,
    }
    parameters |= dates_as_settings(options["since"], options["until"], options["valid"], options["no_dates"])
    return {key: value for key, value in parameters.items() if value is not None} | key_values(
        options["settings"]
    )


def _local(engine: Engine, question: str, options: Mapping[str, Any]) -> Messages:
    steps = _steps(options)
    if options["resume"] is not None:
        return engine.resume(options["resume"], settings=steps, cache=not options["no_cache"])
    return engine.ask(
        question,
        options["pipeline"],
        settings=steps,
        include=options["include"],
        exclude=options["exclude"],
        cache=not options["no_cache"],
        session=options["session"],
    )


_SUGGESTED = "3"
"""Questions to ask next, unless `synthesis.suggestions` says how many."""
_NOT_OVER_HTTP = (
    "model",
    "embedding_model",
    "rerank",
    "response_type",
    "no_cache",
    "resume",
)


def _remote(question: str, client: Client, options: Mapping[str, Any]) -> Messages:
    """Ask the server. Options that only the server may set are refused, not ignored."""
    from graphrag_rdf.client import PARAMETERS, Question

    refuse({name: options[name] for name in _NOT_OVER_HTTP})
    steps = _steps(options)
    for key in steps:
        if key not in PARAMETERS:
            raise UsageError(
                tr("{key} cannot be set over HTTP").format(key=key),
                hint=tr("these can: {known}").format(known=", ".join(PARAMETERS)),
            )
    named = {name: options[name] for name in ("pipeline", "include", "exclude", "session")}
    parameters = {PARAMETERS[key]: value for key, value in steps.items()}
    return client.ask(Question(question.strip(), parameters=parameters, **named))


def _stream_messages(messages: Iterable[GraphRagResponse]) -> int:
    failed: list[GraphRagResponse] = []

    def lines() -> Iterator[GraphRagResponse]:
        for message in messages:
            if message.error:
                failed.append(message)
            yield message

    output.write_jsonl(lines())
    return _failed(failed[0]) if failed else 0


def _last(messages: Iterable[GraphRagResponse]) -> GraphRagResponse:
    *_, last = messages
    return last


def _failed(message: GraphRagResponse) -> int:
    error = message.error or {}
    say_error(error.get("message", tr("the run ended without an answer")), error.get("hint"))
    return FAILED


def _show(messages: Iterable[GraphRagResponse], explained: Explained | None, *, stream: bool) -> int:
    """Print the answer as it arrives, its sources, its warnings, and its trace if wanted."""
    from graphrag_rdf.trace.messages import DOUBT, doubts

    streamed = False
    session = None
    last = None
    for message in messages:
        last = message
        if message.kind == "session" and message.run is None:
            session = message.explain_id
        if message.kind == "answer" and stream:
            streamed = True
            say(safe(message.response), newline=False)
            sys.stdout.flush()
        elif message.message_type == "chunk" and message.kind in _ON_THE_WAY and stream:
            output.note(_ON_THE_WAY[message.kind].format(text=_shortened(one_line(message.response))))
    if streamed:
        say()
    assert last is not None  # noqa: S101 - a run has at least its last message
    if last.answer is None:
        _explain(explained, session)
        return _failed(last)
    if not streamed:
        say(safe(last.answer["answer"]))
    for doubt in doubts(last.answer):
        say(output.wrapped(one_line(doubt), indent="", first=""))
    if last.answer["passages"]:
        _passages(last.answer)
    else:
        _sources(last.answer)
    _query(last.answer)
    _suggestions(last.answer)
    if last.answer["cached"]:
        output.note(
            tr("cached answer of {original}; --no-cache asks again").format(original=last.answer["original"])
        )
    for warning in last.answer["warnings"]:
        if warning["type"] != DOUBT:
            output.warn_of(warning)
    if not any(warning["type"] == "trace_not_stored" for warning in last.answer["warnings"]):
        _explain(explained, session)
    return 0


_ON_THE_WAY = {
    "thought": "Thought: {text}",
    "action": "Action: {text}",
    "observation": "Observation: {text}",
}
"""What agents say before the answer, by the kind of the message."""
_LONGEST_NOTE = 300


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_NOTE else text[:_LONGEST_NOTE] + "…"


def _sources(answer: Mapping[str, Any]) -> None:
    """Print document, page and quote for every marker."""
    from graphrag_rdf.trace.messages import SOURCES_SHOWN, source_in_words, sources_by_marker

    shown = sources_by_marker(answer)
    if not shown:
        return
    say()
    say(styled(tr("Sources"), bold=True))
    for marker in sorted(shown, key=lambda m: int(m.strip("[S]"))):
        label = f"{marker} "
        lines = [one_line(source_in_words(source, edge)) for edge, source in shown[marker][:SOURCES_SHOWN]]
        if more := len(shown[marker]) - len(lines):
            lines.append(tr("… and {count:,} more").format(count=more))
        for number, line in enumerate(lines):
            say(output.wrapped(line, indent=" " * len(label), first=" " * len(label) if number else label))


def _query(answer: Mapping[str, Any]) -> None:
    """Print which template answered, and with which values."""
    result = answer.get("result") or {}
    if result.get("template"):
        values = (f"{name.replace('_', ' ')}: {', '.join(given)}" for name, given in result["values"].items())
        say()
        say(
            output.wrapped(
                one_line(f"{result['template']} ({'; '.join(values)})"), indent="  ", first=tr("Query ")
            )
        )


def _passages(answer: Mapping[str, Any]) -> None:
    """Print the first passage with its sentence marked, and of each further one that sentence."""
    from graphrag_rdf.trace.messages import marked_text, passage_pieces, passage_place

    first, *others = answer["passages"]
    markers = dict.fromkeys(one["marker"] for one in answer["citations"])
    say()
    say(styled(tr("Best passage") if answer["answered"] else tr("Closest passages"), bold=True))
    say(output.wrapped(one_line(" ".join([*markers, passage_place(first)])), indent="  ", first=""))
    for line in filter(str.strip, marked_text(first).splitlines()):
        say(output.wrapped(one_line(line), indent="  "))
    if others and answer["answered"]:
        say()
        say(styled(tr("Further passages"), bold=True))
    for one in others:
        told = tr("{name}: “{quote}”{doubt}").format(
            name=passage_place(one), quote=passage_pieces(one)[1], doubt=""
        )
        say(output.wrapped(one_line(told), indent="  ", first="- "))


def _suggestions(answer: Mapping[str, Any]) -> None:
    """Print follow-up questions, and who suggested them."""
    found = answer["suggestions"]
    if found:
        say()
        by_graph = found[0]["by"] == "graph"
        say(styled(tr("Follow-up questions"), bold=True) + (tr(" (from related facts)") if by_graph else ""))
        for suggestion in found:
            say(output.wrapped(one_line(suggestion["question"]), indent="  ", first="- "))


def _explain(explained: Explained | None, session: str | None) -> None:
    if explained is not None and session is not None:
        text = explained(session)
        say()
        say(text.rstrip("\n"))


def _trace_text(engine: Engine, session: str) -> str:
    from graphrag_rdf.cli.trace import trace_text

    return trace_text(engine, session)
