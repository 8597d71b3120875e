"""`llm`: show the prompts and raw answers of language models; `cache`: show and clear the caches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, pairs, safe, say, styled
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.trace.lines import human_size

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Row


@click.group(cls=Group, examples=["graphrag-rdf llm log --limit 3"])
def llm_command() -> None:
    """Show the calls to language models."""


@llm_command.command(
    "log", examples=["graphrag-rdf llm log --limit 3", "graphrag-rdf llm log --format jsonl | jq .completion"]
)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Number of calls.")
@click.option("--trace", metavar="TRACE", help="Only calls of this trace: its IRI or UUID, or last.")
@format_option("text", "json", "jsonl")
def log(limit: int, trace: str | None, form: str) -> None:
    """Show prompts and raw answers, of questions and of extractions, newest first.

    The texts of extractions are available as long as the cache keeps them.
    """
    with open_engine(beside=True) as engine:
        calls = _calls(engine, limit, trace)
        if not output.write(form, calls):
            for call in calls:
                _show(call)
            if not calls:
                say(tr("no model calls are recorded"))


def _calls(engine: Engine, limit: int, trace: str | None) -> list[dict[str, Any]]:
    from graphrag_rdf.trace.catalogue import find_trace

    sessions = [find_trace(engine.store, trace)] if trace else []
    asked = [
        _call(engine, row) for row in engine.store.select("trace/llm-calls", sessions=sessions, limit=limit)
    ]
    if not trace:
        asked += [_extraction(engine, row) for row in engine.store.select("ingest/llm-calls", limit=limit)]
        asked.sort(key=lambda call: str(call["time"]), reverse=True)
    return asked[:limit]


def _extraction(engine: Engine, row: Row) -> dict[str, Any]:
    """An extraction of facts, with the keys of a call of a trace."""
    prompt, answer = engine.gateway.kept_texts(row["hash"]) or (None, None)
    return {
        "call": row["call"],
        "session": None,
        "question": None,
        "step": row["document"],
        "chunk": row["chunk"],
        "purpose": "extract",
        "model": row["model"],
        "time": row["started"].isoformat(),
        "in_tokens": row["in_tokens"],
        "out_tokens": row["out_tokens"],
        "cached_in_tokens": row["cached_in_tokens"],
        "milliseconds": None,
        "cached": None,
        "prompt": prompt,
        "completion": answer,
    }


def _call(engine: Engine, row: Row) -> dict[str, Any]:
    def stored(name: str) -> str | None:
        return None if row[name] is None else engine.blobs.text(row[name].value)

    return {
        "call": row["call"],
        "session": row["session"],
        "question": row["query"],
        "step": row["step_label"],
        "purpose": row["purpose"],
        "model": row["model"],
        "time": row["started"].isoformat(),
        "in_tokens": row["in_tokens"],
        "out_tokens": row["out_tokens"],
        "cached_in_tokens": row["cached_in_tokens"],
        "milliseconds": row["milliseconds"],
        "cached": row["cached"],
        "prompt": stored("prompt"),
        "completion": stored("completion"),
    }


def _show(call: dict[str, Any]) -> None:
    tokens = "" if call["in_tokens"] is None else _tokens(call)
    took = tr("cached") if call["cached"] else f"{call['milliseconds']} ms" if call["milliseconds"] else ""
    where = call["step"] if "chunk" in call else ""
    head = [call["time"], call["purpose"], where, call["model"], tokens, took]
    say(styled(safe(" · ".join(str(part) for part in head if part)), bold=True))
    for title, key in ((tr("prompt"), "prompt"), (tr("answer"), "completion")):
        say(styled(f"{title}:", fg="cyan"))
        text = call[key]
        say(safe(text) if text is not None else tr("(not kept, or forgotten)"))
    say()


def _tokens(call: Mapping[str, Any]) -> str:
    told = (
        tr("{in_tokens} ({cached_in_tokens} from the provider's cache) + {out_tokens} tokens")
        if call["cached_in_tokens"]
        else tr("{in_tokens} + {out_tokens} tokens")
    )
    return told.format(**call)


@click.group(cls=Group, examples=["graphrag-rdf cache stats"])
def cache_command() -> None:
    """Show and clear the caches: answers to questions, raw answers of models, and vectors of texts."""


@cache_command.command("stats", examples=["graphrag-rdf cache stats --format json"])
@format_option()
def stats(form: str) -> None:
    """Show the number and size of the entries."""
    from graphrag_rdf.caches import cache_stats

    with open_engine(beside=True) as engine:
        found = cache_stats(engine)
    if output.write(form, found):
        return
    answers = found["answers"]
    given = tr("{entries:,}, reused {reused:,} times").format(**answers)
    rows = [(tr("answers to questions"), given if answers["enabled"] else tr("off (setting answers.cache)"))]
    if not found["enabled"]:
        rows.append((tr("answers of models"), tr("off (setting cache.enabled)")))
    else:
        for name, title in (("llm", tr("answers of models")), ("embeddings", tr("vectors of texts"))):
            rows.append((title, f"{found[name]['entries']:,}, {human_size(found[name]['bytes'])}"))
        rows.append(
            (
                tr("size"),
                tr("{bytes} of {max_bytes}").format(
                    bytes=human_size(found["bytes"]), max_bytes=human_size(found["max_bytes"])
                ),
            )
        )
    pairs(rows)


@cache_command.command("clear", examples=["graphrag-rdf cache clear", "graphrag-rdf cache clear --answers"])
@click.option("--answers", is_flag=True, help="Erase only answers to questions; their traces stay.")
@click.option("--llm", is_flag=True, help="Erase only raw answers of models.")
@click.option("--embeddings", is_flag=True, help="Erase only vectors of texts.")
@format_option()
def clear(answers: bool, llm: bool, embeddings: bool, form: str) -> None:
    """Erase all caches, or only the named ones; models will be called again."""
    from graphrag_rdf.caches import clear_caches

    wanted = {"answers": answers, "llm": llm, "embeddings": embeddings}
    with open_engine() as engine:
        erased = clear_caches(engine, [name for name, named in wanted.items() if named])
    if output.write(form, erased):
        return
    for name, title in _ERASED.items():
        if name in erased:
            say(tr(title).format(number=erased[name]))


_ERASED = {
    "answers": later("erased {number:,} answers to questions"),
    "llm": later("erased {number:,} answers of models"),
    "embeddings": later("erased {number:,} vectors of texts"),
}
