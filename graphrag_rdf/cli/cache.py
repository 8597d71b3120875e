"""`cache`: what was answered before and may be answered again."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, pairs, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.trace.lines import human_size


@click.group(cls=Group, examples=["graphrag-rdf cache stats"])
def cache_command() -> None:
    """The caches: answers to questions, raw answers of models, and vectors of texts."""


@cache_command.command("stats", examples=["graphrag-rdf cache stats --format json"])
@format_option()
def stats(form: str) -> None:
    """Show how much is in the caches."""
    from graphrag_rdf.caches import cache_stats

    with open_engine() as engine:
        found = cache_stats(engine)
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


@cache_command.command("clear", examples=["graphrag-rdf cache clear", "graphrag-rdf cache clear --answers"])
@click.option("--answers", is_flag=True, help="Only answers to questions; their traces stay.")
@click.option("--llm", is_flag=True, help="Only raw answers of models.")
@click.option("--embeddings", is_flag=True, help="Only vectors of texts.")
@format_option()
def clear(answers: bool, llm: bool, embeddings: bool, form: str) -> None:
    """Erase what is cached, all of it unless told what; models will be asked again."""
    from graphrag_rdf.caches import clear_caches

    wanted = {"answers": answers, "llm": llm, "embeddings": embeddings}
    with open_engine() as engine:
        erased = clear_caches(engine, [name for name, named in wanted.items() if named])
    if form == "json":
        output.write_json(erased)
        return
    for name, title in _TITLES.items():
        if name in erased:
            say(f"{erased[name]:,} {title} erased")


_TITLES = {
    "answers": "answers to questions",
    "llm": "answers of models",
    "embeddings": "vectors of texts",
}
