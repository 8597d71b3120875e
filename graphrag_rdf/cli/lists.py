"""The commands of lists, made from their declarations in `graphrag_rdf.lists`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, server_options
from graphrag_rdf.cli.output import colours, format_option, say, terminal_width
from graphrag_rdf.cli.session import open_engine, server_of
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import listed, tr
from graphrag_rdf.lists.declaration import Asked, Filter, Item, List, lists
from graphrag_rdf.lists.table import list_text


def command_names(group: str = "") -> list[str]:
    """The names of the commands of lists in a group, or outside of groups."""
    words = [each.command.rpartition(" ") for each in lists().values() if each.command]
    return [name for place, _, name in words if place == group]


def command_of_list(words: str) -> click.Command | None:
    """The command of a list; None if no list declares it.

    Args:
        words: the name of its group, if any, and its own.
    """
    declared = [each for each in lists().values() if each.command == words]
    return _command(declared[0]) if declared else None


def _command(listing: List) -> click.Command:
    def show(form: str, limit: int | None = None, **options: Any) -> None:
        server, token_file = options.pop("server", None), options.pop("token_file", None)
        for each in bare:
            if (text := options.pop(f"{each.name}_text")) and options[each.name]:
                raise UsageError(tr("give TEXT once"))
            options[each.name] = text or options[each.name]
        values = {name: value for name, value in options.items() if value not in (None, "", False)}
        asked = Asked(limit, 0, values)
        items, counts = _items(listing, asked, server, token_file)
        if not output.write(form, items):
            _print(listing.shown_for(asked), items, asked, counts)

    bare = [each for each in listing.filters if each.bare]
    decorators: list[Callable[[Any], Any]] = [_parameter(each) for each in listing.filters if each.about]
    decorators += [click.argument(f"{each.name}_text", metavar="[TEXT]", default="") for each in bare]
    if listing.limit is not None:
        decorators.append(
            click.option(
                "--limit",
                type=click.IntRange(1),
                default=listing.limit,
                show_default=True,
                help="Number of items.",
            )
        )
    if listing.path:
        decorators.append(server_options)
    for decorate in (format_option("text", "json", "jsonl"), *reversed(decorators)):
        show = decorate(show)
    name = listing.command.rpartition(" ")[2]
    return click.command(name, cls=Command, help=listing.about, examples=listing.examples)(show)


_TYPES = {"text": click.STRING, "flag": click.BOOL, "number": click.IntRange(0)}


def _parameter(each: Filter) -> Callable[[Any], Any]:
    """The option or argument of a filter."""
    if each.kind == "argument":
        return click.argument(each.name, metavar="[list] [TEXT]", nargs=-1, callback=_one_text)
    return click.option(
        each.option or f"--{each.name}",
        each.name,
        is_flag=each.kind == "flag",
        type=click.Choice(each.choices) if each.choices else _TYPES[each.kind],
        help=each.about,
    )


def _one_text(ctx: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> str:
    """The text of an argument that may stand after the word `list`, as in commands with subcommands."""
    del parameter
    texts = words[1:] if words[:1] == ("list",) else words
    if len(texts) > 1:
        ctx.fail(tr("give one TEXT, in quotes if it has spaces: {words}").format(words=" ".join(texts)))
    return "".join(texts)


def _items(
    listing: List, asked: Asked, server: str | None, token_file: Path | None
) -> tuple[Sequence[Item], Mapping[str, int]]:
    """The items of a store or server, and the number of all items for each value of a filter."""
    client = server_of(server, token_file)
    if client is not None:
        answer = client.items(listing.path, asked.values, asked.limit)
        counts = answer.get(listing.counted, {})
        return [_without(item, listing.former) for item in answer["items"]], counts
    with open_engine(beside=True) as engine:
        if listing.check is not None and (warning := listing.check(engine)):
            output.warn(warning)
        items = listing.shown_for(asked).items(engine, asked)
        return items, listing.count(engine) if listing.count else {}


def _without(item: Item, keys: Mapping[str, str]) -> Item:
    return {key: value for key, value in item.items() if key not in keys}


def _print(listing: List, items: Sequence[Item], asked: Asked, counts: Mapping[str, int]) -> None:
    if items:
        text = list_text(listing, items, asked, width=terminal_width(), colour=colours())
        say(text, newline=False)
    else:
        say(listing.empty(asked))
    if items and counts:
        total = tr("{number} {outcome}")
        totals = [total.format(number=number, outcome=listing.words(code)) for code, number in counts.items()]
        say(tr("\nall: {totals}").format(totals=listed(totals)))
    for note in listing.notes(items, asked) if listing.notes else ():
        output.note(note)
