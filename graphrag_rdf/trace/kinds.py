"""Kinds of nodes of a trace, declared as data: what a step and its items say, in which terms.

A step kind declares its node (`NodeKind`) with the properties of the step and the kinds of items that hang
under it (`ItemKind`). Recording, reading, JSON, rendering and erasure follow the declarations. A class of
items is a dataclass: `said` gives a field its predicate, and all other fields are only used while the run
lasts. The same objects are worked on by the steps, written by the recorder and read back.

This module knows no step: modules of steps `register` what they declare. Nodes of kinds that nobody declared
are shown generically.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    TypeAlias,
    TypeVar,
    dataclass_transform,
    get_args,
    get_type_hints,
)

from pyoxigraph import Literal, NamedNode, Triple

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import Term, datetime_, double, integer, to_python

if TYPE_CHECKING:
    from graphrag_rdf.trace.lines import Lines
    from graphrag_rdf.trace.model import TraceStep
    from graphrag_rdf.trace.reader import Reading

Node: TypeAlias = Mapping[NamedNode, Sequence[Term]]
"""What a trace says of one thing: predicate → values."""

Statement: TypeAlias = tuple[NamedNode, NamedNode, NamedNode | Literal]
"""Subject, predicate and object of a fact."""

_T = TypeVar("_T")
_PROPERTY = "property"


@dataclass(frozen=True, slots=True)
class Property:
    """How a field of an item is written.

    Attributes:
        predicate: of the item's node; several values if the field holds a tuple of them.
        words: whether its values hold words of documents or questions, which `forget` erases.
        fact: whether the value is a fact, or a tuple of facts, written as triple terms.
    """

    predicate: NamedNode
    words: bool = False
    fact: bool = False


def said(predicate: NamedNode, *, words: bool = False, fact: bool = False, **options: Any) -> Any:
    """A field of an item that is written to the trace; `options` are those of `dataclasses.field`."""
    return field(metadata={_PROPERTY: Property(predicate, words, fact)}, **options)


@dataclass_transform(field_specifiers=(field, said))
def item(cls: type[_T]) -> type[_T]:
    """A class of items: a dataclass with slots whose fields may be `said`."""
    return dataclass(slots=True)(cls)


@dataclass(frozen=True, slots=True)
class ItemKind:
    """A kind of thing that hangs under a step, or under another item.

    Attributes:
        name: the part of its IRIs that names the kind.
        key: the JSON key of the list; kinds of one step may share it.
        link: from the step, or item, to this.
        type: its class; None where the item itself says which (`type`).
        make: the dataclass of its objects.
        parts: the kinds under it, by the field that holds a list of them.
        always: fields that every item of this kind has, though its class allows None.
        complete: sets what the trace does not hold (labels, words of sentences, sources) of all items of a
            trace whose kinds share it.
        compared: what a difference between two traces calls an item; without it items are not compared.
        centre: whether the drawing of an answer begins at its `entity`.
        of_terms: whether the link leads to triple terms, of which `make` makes an item, or None.
        computed: makes the items of a step that wrote none, from its hits and the store.
        ranked_by: of chunks: templates that give them in their order. `trace verify` runs them again.
    """

    name: str
    key: str
    link: NamedNode
    type: NamedNode | None
    make: Callable[..., Any]
    parts: Mapping[str, ItemKind] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    complete: Callable[[Reading, Sequence[Any]], None] | None = None
    compared: Callable[[Any], str] | None = None
    centre: bool = False
    of_terms: bool = False
    computed: Callable[[Reading, NamedNode], Sequence[Any]] | None = None
    ranked_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepField:
    """A property of a step.

    Attributes:
        key: in JSON.
        predicate: of the step's node.
        words: whether `forget` erases it.
        read: makes one value of all that the node has; by default the first.
        stored: the predicate of the blob that holds the value where it is too long for the graph.
        always: whether each step has it.
        compared: whether a difference between two traces names it.
    """

    key: str
    predicate: NamedNode
    words: bool = False
    read: Callable[[Sequence[Any]], Any] | None = None
    stored: NamedNode | None = None
    always: bool = False
    compared: bool = False


@dataclass(frozen=True, slots=True)
class NodeKind:
    """A kind of node of a trace: the question, a step, an error.

    Attributes:
        name: as in IRIs, messages and JSON (`exploration`).
        type: the class by which readers know it.
        about: what it does, in one line.
        types: further classes of its nodes.
        fields, items: what is written of it; the JSON of a step has their keys.
        words: properties of its nodes that are no field and hold words, which `forget` erases.
        quotes: modes in which its answer is made of quotes.
        answered_by: purposes of the calls whose prompt holds nothing but selections as evidence.
        text: writes its part of `trace show`; without it all values and items are listed.
        page: the template of its part of a page, likewise.
    """

    name: str
    type: NamedNode
    about: str
    types: tuple[NamedNode, ...] = ()
    fields: tuple[StepField, ...] = ()
    items: tuple[ItemKind, ...] = ()
    words: tuple[NamedNode, ...] = ()
    quotes: tuple[str, ...] = ()
    answered_by: tuple[str, ...] = ()
    text: Callable[[Lines, TraceStep, bool], None] | None = None
    page: Path | None = None

    @property
    def label(self) -> str:
        """Of its nodes, for people."""
        return self.name.replace("-", " ").capitalize()


_registered: dict[NamedNode, NodeKind] = {}


def register(*kinds: NodeKind) -> None:
    """Declare kinds of nodes to all readers; modules of steps do so when they are imported.

    Raises:
        ValueError: if another kind has its class, by which readers know it.
    """
    for kind in kinds:
        if _registered.setdefault(kind.type, kind) is not kind:
            raise ValueError(
                f"the kinds {_registered[kind.type].name} and {kind.name} have the class {kind.type}"
            )


def node_kinds() -> Mapping[NamedNode, NodeKind]:
    """The declared kinds, by the class of their nodes."""
    return _registered


def erased_words() -> tuple[list[NamedNode], list[NamedNode]]:
    """The predicates whose values `forget` erases: of steps, and of items at any depth."""
    kinds = _registered.values()
    of_steps = {declared.predicate for kind in kinds for declared in kind.fields if declared.words}
    of_steps |= {predicate for kind in kinds for predicate in kind.words}
    of_items = {
        property_.predicate
        for kind in kinds
        for item in with_parts((*kind.items, WARNING))
        for property_ in properties(item.make).values()
        if property_.words
    }
    return sorted(of_steps, key=str), sorted(of_items, key=str)


def item_links() -> list[NamedNode]:
    """The predicates from steps to items, and from items to those under them."""
    kinds = _registered.values()
    links = {item.link for kind in kinds for item in with_parts((*kind.items, WARNING))}
    return sorted(links, key=str)


def with_parts(items: Iterable[ItemKind]) -> Iterator[ItemKind]:
    """Kinds of items with nodes of their own, each followed by the kinds of its parts."""
    for item in items:
        if not item.of_terms:
            yield item
            yield from with_parts(item.parts.values())


@cache
def properties(make: Any) -> Mapping[str, Property]:
    """The fields of a class of items that are written, by name."""
    return {field.name: field.metadata[_PROPERTY] for field in fields(make) if _PROPERTY in field.metadata}


def triples(item: Any, rdf_type: NamedNode | None) -> Iterator[tuple[NamedNode, Term]]:
    """What is written of an item; fields that are None are left out."""
    yield RDF.type, rdf_type or item.type
    for name, property_ in properties(item.__class__).items():
        value = getattr(item, name)
        if property_.fact:
            several = not value or isinstance(value[0], tuple)
            for fact in value or () if several else (value,):
                yield property_.predicate, Triple(*fact)
        else:
            for part in value if isinstance(value, tuple) else (value,):
                if part is not None:
                    yield property_.predicate, term(part)


def term(value: Any) -> Term:
    """A value of a field as a term."""
    if isinstance(value, bool | str):
        return Literal(value)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return double(value)
    return datetime_(value) if isinstance(value, datetime) else value


def value_of(value_term: Term) -> Any:
    """A term as a value of a field: the reverse of `term`; a fact is a tuple of its terms."""
    if isinstance(value_term, Triple):
        return value_term.subject, value_term.predicate, value_term.object
    return value_term if isinstance(value_term, NamedNode) else to_python(value_term)


def read_item(make: Any, node: Node) -> Any:
    """An item from what is said of its node; what is not there is None, or the field's default.

    Numbers that others wrote as text, as TrustGraph does, are numbers too.
    """
    values: dict[str, Any] = {}
    declared, numbers = properties(make), _numbers(make)
    for attribute in fields(make):
        if attribute.name in declared:
            terms = node.get(declared[attribute.name].predicate, ())
            if attribute.default == ():
                values[attribute.name] = tuple(sorted((value_of(term) for term in terms), key=str))
            elif terms and attribute.name in numbers:
                values[attribute.name] = as_number(terms[0], numbers[attribute.name])
            elif terms:
                values[attribute.name] = value_of(terms[0])
            elif _required(attribute):
                values[attribute.name] = None
        elif _required(attribute):
            values[attribute.name] = None
    return make(**values)


def as_number(value_term: Term, kind: type[float] | type[int]) -> Any:
    """A term as a number; None if it is none."""
    try:
        return kind(value_of(value_term))
    except (TypeError, ValueError):
        return None


@cache
def _numbers(make: Any) -> Mapping[str, type[float] | type[int]]:
    """The fields of a class of items that hold a number, by name."""
    hints = {name: (hint, *get_args(hint)) for name, hint in get_type_hints(make).items()}
    return {
        name: float if float in kinds else int
        for name, kinds in hints.items()
        if {float, int} & set(kinds) and bool not in kinds
    }


def always(kind: ItemKind, name: str) -> bool:
    """Whether each item of a kind has a value of a field; `forget` may erase words."""
    make: Any = kind.make
    required = any(field.name == name and _required(field) for field in fields(make))
    optional = type(None) in get_args(get_type_hints(make)[name])
    return (name in kind.always or (required and not optional)) and not properties(make)[name].words


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


_NUMBER = re.compile(r"\d+$")


def place_in_list(iri: NamedNode, node: Node) -> tuple[int, int, str]:
    """The order of items in their list: by rank, else index, else the number at the end of their IRI."""
    number = _NUMBER.search(iri.value)
    last = int(number[0]) if number else 0
    positions = node.get(RAG.rank) or node.get(RAG.index)
    place = as_number(positions[0], int) if positions else None
    return last if place is None else place, last, iri.value


# --- the nodes that every run has ---------------------------------------------------------------------


@item
class Warned:
    """What the reader of an answer ought to know."""

    JSON: ClassVar = ("type", "detail")

    type: str = said(RAG.warningType)
    detail: str = said(RAG.detail, words=True, default="")
    iri: NamedNode | None = None


WARNING = ItemKind(
    "warning",
    "warnings",
    RAG.warning,
    RAG.Warning,
    Warned,
    compared=lambda warned: f"{warned.type}: {warned.detail}",
)


def _question_text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    page.prose(step.values["query"] or tr(ERASED_QUESTION), "    ")


def _error_text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    stage = step.values["stage"] or tr("Error")
    page.paragraph(step.values["reason"] or tr("unknown"), "    ", f"{stage}: ")


ERASED_QUESTION = later("(a question that was erased)")
QUESTION = NodeKind(
    "question",
    TG.Question,
    "What was asked.",
    fields=(StepField("query", TG.query, always=True),),  # erased as the session's own
    text=_question_text,
)
ERROR = NodeKind(
    "error",
    TG.Error,
    "Why a run ended without an answer.",
    fields=(StepField("reason", RAG.reason, words=True), StepField("stage", RAG.stage)),
    text=_error_text,
    page=Path(__file__).with_name("error.html.j2"),
)
register(QUESTION, ERROR)
