"""`cache`: show and clear the caches."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, pairs, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.trace.lines import human_size


@click.group(cls=Group, examples=["graphrag-rdf cache stats"])
def cache_command() -> None:
    """Show and clear the caches: answers to questions, raw answers of models, and vectors of texts."""


@cache_command.command("stats", examples=["graphrag-rdf cache stats --format json"])
@format_option()
def stats(form: str) -> None:
    """Show the number and size of the entries."""
    from graphrag_rdf.caches import cache_stats

    with open_engine() as engine:
        found = cache_stats(engine)
    if output.write(form, found):
        return
    answers = found["answers"]
    given = f"{answers['entries']:,}, reused {answers['reused']:,} times"
    rows = [("answers to questions", given if answers["enabled"] else "off (setting answers.cache)")]
    if not found["enabled"]:
        rows.append(("answers of models", "off (setting cache.enabled)"))
    else:
        for name, title in (("llm", "answers of models"), ("embeddings", "vectors of texts")):
            rows.append((title, f"{found[name]['entries']:,}, {human_size(found[name]['bytes'])}"))
        rows.append(("size", f"{human_size(found['bytes'])} of {human_size(found['max_bytes'])}"))
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
    for name, title in _TITLES.items():
        if name in erased:
            say(f"erased {erased[name]:,} {title}")


_TITLES = {
    "answers": "answers to questions",
    "llm": "answers of models",
    "embeddings": "vectors of texts",
}
