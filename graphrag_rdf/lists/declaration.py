"""What a list declares, and the runner that reads any list."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from graphrag_rdf import lists as package
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.lists.values import SHOWN, plain
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.wing import wings

if TYPE_CHECKING:
    from pyoxigraph import Triple

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Store

Item: TypeAlias = Mapping[str, Any]
"""A thing of a list: its JSON on the command line, over HTTP and in tools."""

_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        key: of an item's JSON.
        heading: in lower case, marked by `later`; without one the value is only in JSON.
        kind: how values are shown, a key of `values.SHOWN`.
        value: makes a value for people from an item; a list of texts is one line each.
        link: the page that the value leads to: of the `document`, `entity`, `trace` or `thing` with the
            item's `iri`, or of the `fact` or other `term` that `key` has.
        note: small print after the value, on the page.
        sort: value of the filter `sort` that orders by this column.
        table, page: whether the value is in the table and on the page.
        below: where it is on lines below the row.
        with_filter: in the table only with this filter.
    """

    key: str
    heading: str = ""
    kind: str = "text"
    value: Callable[[Item], Any] | None = None
    link: Literal["", "document", "entity", "trace", "thing", "fact", "term"] = ""
    note: Callable[[Item], str] | None = None
    sort: str = ""
    table: bool = True
    page: bool = True
    below: Literal["", "table", "both"] = ""
    with_filter: str = ""

    def lines(self, item: Item) -> list[str]:
        """The value of an item, for people; nothing for an absent one."""
        value = self.value(item) if self.value else item[self.key]
        parts = value if isinstance(value, list) else [value]
        return [SHOWN[self.kind](part) for part in parts if part is not None]

    def text(self, item: Item) -> str:
        """The value of an item on one line."""
        return " ".join(self.lines(item))


@dataclass(frozen=True, slots=True)
class Filter:
    """A way to choose items: an option of the command, a parameter of the URL, an argument of the tool.

    Attributes:
        about: help of the option; without it the command has none.
        kind: a `flag` has no value, an `argument` no name on the command line.
        label: on the page; without one the page keeps what the URL has.
        parameter: of the template, if its name differs.
        option: its name, if it is not `--NAME`.
        bare: whether the command takes it as an argument, too.
        instead: name of the list that a flag shows instead.
    """

    name: str
    about: str = ""
    kind: Literal["text", "flag", "number", "argument"] = "text"
    label: str = ""
    parameter: str = ""
    choices: tuple[str, ...] = ()
    option: str = ""
    bare: bool = False
    instead: str = ""

    def read(self, text: str) -> Any:
        """A value from its text in a URL or a call of a tool.

        Raises:
            UsageError: it is none.
        """
        choices = ("true", "false") if self.kind == "flag" else self.choices
        if choices and text not in choices:
            message = tr("{name} is one of {values}")
            raise UsageError(message.format(name=self.name, values=", ".join(choices)))
        if self.kind == "number" and not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            raise UsageError(tr("{name} is a whole number").format(name=self.name))
        return text == "true" if self.kind == "flag" else int(text) if self.kind == "number" else text


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a list.

    Attributes:
        limit: items, at most; None for all.
        values: filter → its value; filters that were not used are absent.
    """

    limit: int | None
    offset: int = 0
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class List:
    """A list.

    Attributes:
        title: heading of the page.
        about: help of the command.
        command: words of the command, without the program's name; empty for none.
        path: address of the page; empty for none.
        template: its query; the page links it.
        keys: key of an item → column of the template, if they differ.
        complete: adds to items what needs further queries.
        read: reads things that have JSON, if a template alone cannot; `read_all` ignores the limit.
        limit: default of `--limit`; None for a command that lists all.
        page: items of a page, by default; None for all.
        parent: key with the `iri` of the item below which an item is indented.
        counted: key over HTTP of what `count` gives; without the final s, the filter.
        count: value of that filter → number of items.
        words: what to call such a value, for people.
        none, no_match: shown if there are no items, at all or that fit the filters.
        intro: text above the list on the page.
        links: of the page: (name, address).
        notes: printed on stderr after the table.
        check: before the command reads a store: raises UsageError, or returns a warning.
        rdf: items as triples; by default types and names of what `iri` names.
        former: former key → key, which HTTP gives too.
    """

    name: str
    title: str
    about: str
    columns: tuple[Column, ...]
    filters: tuple[Filter, ...] = ()
    command: str = ""
    path: str = ""
    examples: tuple[str, ...] = ()
    template: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    complete: Callable[[Engine, list[dict[str, Any]]], None] | None = None
    read: Callable[[Engine, Asked], Iterable[Any]] | None = None
    read_all: Callable[[Engine, Asked], Sequence[Any]] | None = None
    limit: int | None = 100
    page: int | None = 50
    parent: str = ""
    counted: str = ""
    count: Callable[[Engine], Mapping[str, int]] | None = None
    words: Callable[[str], str] = tr
    none: str = later("nothing to list")
    no_match: str = ""
    intro: str = ""
    links: tuple[tuple[str, str], ...] = ()
    notes: Callable[[Sequence[Item], Asked], Iterable[str]] | None = None
    check: Callable[[Engine], str | None] | None = None
    rdf: Callable[[Store, Sequence[Item]], list[Triple]] | None = None
    former: Mapping[str, str] = field(default_factory=dict)

    def shown_for(self, asked: Asked) -> List:
        """The list itself, or the one that a filter shows instead."""
        names = [each.instead for each in self.filters if each.instead and asked.values.get(each.name)]
        return lists()[names[0]] if names else self

    def values(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """The values of filters, from a URL or a call of a tool.

        Args:
            texts: filter → text; empty for an unused one.

        Raises:
            UsageError: there is no such filter, or it takes other values.
        """
        filters = {each.name: each for each in self.filters}
        if unknown := texts.keys() - filters.keys():
            message = tr("{list} has no filter {name}; it has: {filters}")
            raise UsageError(message.format(list=self.name, name=min(unknown), filters=", ".join(filters)))
        values = {name: filters[name].read(text) for name, text in texts.items() if text}
        return {name: value for name, value in values.items() if value is not False}

    def empty(self, asked: Asked) -> str:
        """What is shown if there are no items."""
        return tr(self.no_match if self.no_match and asked.values else self.none)

    def parameters(self, engine: Engine, asked: Asked) -> dict[str, Any]:
        """The parameters of the template."""
        named = {each.parameter or each.name: asked.values.get(each.name) for each in self.filters}
        named |= {"limit": asked.limit, "offset": asked.offset}
        parameters: dict[str, Any] = {}
        for name, parameter in engine.store.templates[self.template].params.items():
            value = named.get(name)
            if parameter.type.endswith("[]"):
                parameters[name] = [] if value is None else [value]
            elif value is not None or not parameter.optional:
                parameters[name] = "" if value is None else value
        return parameters

    def items(self, engine: Engine, asked: Asked) -> list[Item]:
        """The items.

        Raises:
            UsageError: a filter has a value that does not fit.
        """
        if self.read_all is not None:
            end = None if asked.limit is None else asked.offset + asked.limit
            return [*to_json(self.read_all(engine, asked)[asked.offset : end])]
        if self.read is not None:
            return [*to_json([*self.read(engine, asked)])]
        rows = engine.store.select(self.template, **self.parameters(engine, asked))
        items = [self.item(row) for row in rows]
        if self.complete is not None and items:
            self.complete(engine, items)
        return [*items]

    def item(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """An item from a row of the template."""
        keys = (column.key for column in self.columns)
        return {key: plain(row.get(self.keys.get(key, key))) for key in keys}

    def depths(self, items: Sequence[Item]) -> list[int]:
        """How far each item is indented."""
        depths: dict[str, int] = {}
        for item in items if self.parent else ():
            depths[item["iri"]] = depths.get(item[self.parent] or "", -1) + 1
        return [*depths.values()] or [0] * len(items)


_LISTS: dict[str, List] = {}


def register(listing: List) -> List:
    """Declare a list."""
    _LISTS[listing.name] = listing
    return listing


def lists() -> Mapping[str, List]:
    """All lists by name: those of this package and of wings, and those that a program registered."""
    _import_all()
    return _LISTS


@cache
def _import_all() -> None:
    ours = (module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
    for name in (*ours, *(module for wing in wings() for module in wing.lists)):
        importlib.import_module(name)
