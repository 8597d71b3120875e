"""`cache`: what was answered before and may be answered again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, human_size, pairs, say
from graphrag_rdf.cli.session import open_engine

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


@click.group(cls=Group, examples=["graphrag-rdf cache stats"])
def cache_command() -> None:
    """The caches: answers to questions, raw answers of models, and vectors of texts."""


@cache_command.command("stats", examples=["graphrag-rdf cache stats --format json"])
@format_option()
def stats(form: str) -> None:
    """Show how much is in the caches."""
    with open_engine() as engine:
        found = _stats(engine)
    if form == "json":
        output.write_json(found)
        return
    answers = found["answers"]
    given = f"{answers['entries']:,}, given again {answers['reused']:,} times"
    rows = [("answers to questions", given if answers["enabled"] else "switched off (answers.cache)")]
    if not found["enabled"]:
        rows.append(("answers of models", "switched off (cache.enabled)"))
    else:
        for name, title in (("llm", "answers of models"), ("embeddings", "vectors of texts")):
            rows.append((title, f"{found[name]['entries']:,}, {human_size(found[name]['bytes'])}"))
        rows.append(("size", f"{human_size(found['bytes'])} of {human_size(found['max_bytes'])}"))
    pairs(rows)


def _stats(engine: Engine) -> dict[str, Any]:
    from graphrag_rdf.trace.reuse import stats as kept

    answers, cache = kept(engine.store), engine.response_cache
    found: dict[str, Any] = {
        "enabled": cache is not None,
        "answers": {
            "enabled": engine.settings.answers.cache,
            "entries": answers.entries,
            "reused": answers.reused,
        },
    }
    if cache is not None:
        both, chat, vectors = cache.stats(), cache.stats("answers"), cache.stats("embeddings")
        found |= {"entries": both.entries, "bytes": both.bytes, "max_bytes": both.max_bytes}
        found["llm"] = {"entries": chat.entries, "bytes": chat.bytes}
        found["embeddings"] = {"entries": vectors.entries, "bytes": vectors.bytes}
    return found


@cache_command.command("clear", examples=["graphrag-rdf cache clear", "graphrag-rdf cache clear --answers"])
@click.option("--answers", is_flag=True, help="Only answers to questions; their traces stay.")
@click.option("--llm", is_flag=True, help="Only raw answers of models.")
@click.option("--embeddings", is_flag=True, help="Only vectors of texts.")
@format_option()
def clear(answers: bool, llm: bool, embeddings: bool, form: str) -> None:
    """Erase what is cached, all of it unless told what; models will be asked again."""
    every = not (answers or llm or embeddings)
    with open_engine() as engine:
        erased = {
            name: act(engine)
            for name, wanted, act in (
                ("answers", answers, _clear_answers),
                ("llm", llm, _clear_llm),
                ("embeddings", embeddings, _clear_embeddings),
            )
            if wanted or every
        }
    if form == "json":
        output.write_json({"erased": sum(erased.values()), **erased})
    else:
        for name, count in erased.items():
            say(f"{count:,} {_TITLES[name]} erased")


_TITLES = {
    "answers": "answers to questions",
    "llm": "answers of models",
    "embeddings": "vectors of texts",
}


def _clear_answers(engine: Engine) -> int:
    from graphrag_rdf.trace.reuse import clear as clear_kept

    return clear_kept(engine.store, engine.librarian)


def _clear_llm(engine: Engine) -> int:
    cache = engine.response_cache
    return cache.clear("answers") if cache is not None else 0


def _clear_embeddings(engine: Engine) -> int:
    cache = engine.response_cache
    return cache.clear("embeddings") if cache is not None else 0
