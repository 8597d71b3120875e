"""`cache`: answers of models that are kept on disk."""

from __future__ import annotations

from dataclasses import asdict

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, human_size, pairs, say
from graphrag_rdf.cli.session import open_engine


@click.group(cls=Group, examples=["graphrag-rdf cache stats"])
def cache_command() -> None:
    """The cache of model answers."""


@cache_command.command("stats", examples=["graphrag-rdf cache stats --format json"])
@format_option()
def stats(form: str) -> None:
    """Show how much is in the cache."""
    with open_engine() as engine:
        cache = engine.response_cache
        found = {"enabled": cache is not None, **(asdict(cache.stats()) if cache is not None else {})}
    # hits and misses are counted by a process, and this one asks nothing
    found = {key: value for key, value in found.items() if key not in ("hits", "misses")}
    if form == "json":
        output.write_json(found)
    elif not found["enabled"]:
        say("the cache is switched off (cache.enabled)")
    else:
        pairs(
            [
                ("entries", f"{found['entries']:,}"),
                ("size", f"{human_size(found['bytes'])} of {human_size(found['max_bytes'])}"),
            ]
        )


@cache_command.command("clear", examples=["graphrag-rdf cache clear"])
@format_option()
def clear(form: str) -> None:
    """Erase every answer; models will be asked again."""
    with open_engine() as engine:
        cache = engine.response_cache
        erased = cache.clear() if cache is not None else 0
    if form == "json":
        output.write_json({"erased": erased})
    else:
        say(f"{erased:,} answers erased")
