"""SHACL shapes of the nodes and items of traces, made from their declarations: `ontology/trace-shapes.ttl`.

A shape has a property for each declared field and link. Datatypes, bounds and labels are of the ontology.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pyoxigraph import BlankNode, NamedNode, Store

from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS, XSD, prefixed
from graphrag_rdf.rdf.terms import local_name, text_of
from graphrag_rdf.trace.kinds import QUESTION, WARNING, ItemKind, NodeKind, always, properties, with_parts
from graphrag_rdf.trace.model import CALL

_HEAD = """\
# Made by `make ontology` from the declarations of the kinds of steps and items; change those, not this.
# shapes.ttl holds all other shapes, and describes those of this file.

@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rag: <https://w3id.org/graphrag-rdf/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix shape: <https://w3id.org/graphrag-rdf/shapes#> .
@prefix tg: <https://trustgraph.ai/ns/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
_XSD = str(XSD)
_BOUNDS = {"minInclusive": "from", "maxInclusive": "to"}


@dataclass(frozen=True, slots=True)
class _Constraint:
    """What the values of a property must be: Turtle, and words for people."""

    turtle: str
    words: str


def trace_shapes(kinds: Iterable[NodeKind], ontology: Path) -> str:
    """The shapes as Turtle.

    Args:
        kinds: the declared kinds of nodes.
        ontology: the folder of the ontology.
    """
    return _Shapes(sorted(kinds, key=lambda kind: kind.type.value), ontology).turtle()


class _Shapes:
    def __init__(self, kinds: Sequence[NodeKind], ontology: Path) -> None:
        self._kinds = kinds
        self._items: dict[NamedNode, list[ItemKind]] = defaultdict(list)
        for kind in kinds:
            for item_kind in with_parts((*kind.items, WARNING, CALL)):
                if item_kind not in self._items[item_kind.type or item_kind.link]:
                    self._items[item_kind.type or item_kind.link].append(item_kind)
        self._terms = Store()
        for name in ("trustgraph.ttl", "graphrag-rdf.ttl", "prov-o.ttl"):
            self._terms.load(path=str(ontology / name))

    def turtle(self) -> str:
        steps = " , ".join(_short(kind.type) for kind in self._kinds if kind is not QUESTION)
        nodes = (self._node(kind) for kind in self._kinds)
        items = (self._item(iri) for iri in sorted(self._items, key=str))
        return "\n".join([_HEAD, f"shape:Step sh:targetClass {steps} .\n", *nodes, *items])

    def _node(self, kind: NodeKind) -> str:
        label = self._label(kind.type)
        shapes = [
            self._property(label, field.predicate, int(field.always), 1 if field.read is None else None)
            for field in kind.fields
        ]
        shapes += [self._property(label, predicate) for predicate in kind.words]
        links = dict.fromkeys(item_kind.link for item_kind in kind.items)
        shapes += [self._property(label, link) for link in links]
        return _shape(kind.type, label, "targetClass", shapes)

    def _item(self, iri: NamedNode) -> str:
        """The shape of the items of a class, or of those that a link leads to if each has its own class."""
        kinds = self._items[iri]
        label = self._label(iri)
        makes = list(dict.fromkeys(item_kind.make for item_kind in kinds))
        predicates = {
            property_.predicate
            for make in makes
            for property_ in properties(make).values()
            if not property_.fact
        }
        shapes = [
            self._property(
                label, predicate, *self._cardinality(predicate, kinds), self._choices(predicate, makes)
            )
            for predicate in sorted(predicates, key=str)
        ]
        parts = {part.link for item_kind in kinds for part in item_kind.parts.values()}
        shapes += [self._property(label, link) for link in sorted(parts, key=str)]
        links = sorted({_short(item_kind.link) for item_kind in kinds})
        if len(links) == 1:
            text = f"{_with_article(label)} belongs to a step or item, by {links[0]}"
            shapes.insert(0, f'sh:path [ sh:inversePath {links[0]} ] ; sh:minCount 1 ; sh:message "{text}"')
        return _shape(iri, label, "targetClass" if kinds[0].type else "targetObjectsOf", shapes)

    def _cardinality(self, predicate: NamedNode, kinds: Iterable[ItemKind]) -> tuple[int, int | None]:
        """The least and greatest number of values that all kinds of a class allow."""
        least, most = 1, 1  # type: int, int | None
        for kind in kinds:
            names = [
                name for name, property_ in properties(kind.make).items() if property_.predicate == predicate
            ]
            if not any(always(kind, name) for name in names):
                least = 0
            if any(get_origin(get_type_hints(kind.make)[name]) is tuple for name in names):
                most = None
        return least, most

    def _choices(self, predicate: NamedNode, makes: Iterable[Any]) -> tuple[str, ...]:
        """The texts among which the values are, if the field is a `Literal`."""
        for make in makes:
            for name, property_ in properties(make).items():
                hint = get_type_hints(make)[name]
                if property_.predicate == predicate and get_origin(hint) is Literal:
                    return get_args(hint)
        return ()

    def _property(
        self,
        label: str,
        predicate: NamedNode,
        least: int = 0,
        most: int | None = None,
        choices: Sequence[str] = (),
    ) -> str:
        if choices:
            listed = " ".join(f'"{choice}"' for choice in choices)
            value = _Constraint(f"sh:in ( {listed} )", f"one of {', '.join(choices)}")
        else:
            value = self._value(predicate)
        counts = (f"sh:minCount {least} ; " if least else "") + (f"sh:maxCount {most} ; " if most else "")
        how_many = {(1, 1): "one ", (0, 1): "at most one ", (1, None): "at least one "}.get((least, most), "")
        words = f"{_with_article(label)} has {how_many}{_short(predicate)}, {value.words}"
        return f'sh:path {_short(predicate)} ; {value.turtle} ; {counts}sh:message "{words}"'

    def _value(self, predicate: NamedNode) -> _Constraint:
        """What the range of a property says; integers of traces count or number something."""
        range_ = self._one(predicate, RDFS.range)
        bounds: Mapping[str, str] = {}
        if isinstance(range_, BlankNode) and (base := self._one(range_, OWL.onDatatype)) is not None:
            bounds, range_ = dict(self._facets(range_)), base
        if not isinstance(range_, NamedNode) or not range_.value.startswith(_XSD):
            return self._thing(predicate, range_)
        if range_ == XSD.integer:
            bounds = {"minInclusive": "0", **bounds}
        name, ordered = local_name(range_.value), sorted(bounds.items(), reverse=True)
        limits = "".join(f' ; sh:{facet} "{value}"^^xsd:{name}' for facet, value in ordered)
        words = "".join(f" {_BOUNDS[facet]} {value}" for facet, value in ordered)
        return _Constraint(f"sh:datatype xsd:{name}{limits}", f"{_with_article(name)}{words}")

    def _thing(self, predicate: NamedNode, range_: object) -> _Constraint:
        """A resource, whose class is checked if items of a trace have it; or a literal."""
        if self._one(predicate, RDF.type) != OWL.ObjectProperty:
            return _Constraint("sh:nodeKind sh:Literal", "a literal")
        if isinstance(range_, NamedNode) and range_ in self._items:
            return _Constraint(f"sh:class {_short(range_)}", _with_article(self._label(range_)))
        return _Constraint("sh:nodeKind sh:IRI", "an IRI")

    def _facets(self, datatype: BlankNode) -> Iterator[tuple[str, str]]:
        node = self._one(datatype, OWL.withRestrictions)
        while isinstance(node, BlankNode):
            facet = self._one(node, RDF.first)
            for quad in self._terms.quads_for_pattern(facet, None, None):  # type: ignore[arg-type]
                yield local_name(quad.predicate.value), text_of(quad.object)
            node = self._one(node, RDF.rest)

    def _label(self, term: NamedNode) -> str:
        label = self._one(term, RDFS.label)
        return text_of(label) if label is not None else local_name(term.value)  # type: ignore[arg-type]

    def _one(self, subject: object, predicate: NamedNode) -> object:
        quads = self._terms.quads_for_pattern(subject, predicate, None)  # type: ignore[arg-type]
        return next((quad.object for quad in quads), None)


def _shape(iri: NamedNode, label: str, target: str, shapes: Sequence[str]) -> str:
    name = local_name(iri.value)
    name = name if target == "targetClass" else f"{name[0].upper()}{name[1:]}"
    lines = [
        f"shape:{name} a sh:NodeShape ;",
        f'  rdfs:label "{label}"@en ;',
        f"  sh:{target} {_short(iri)}" + (" ;" if shapes else " ."),
    ]
    if shapes:
        lines += ["  sh:property", " ,\n".join(f"    [ {property_} ]" for property_ in shapes) + " ."]
    return "\n".join([*lines, ""])


def _short(term: NamedNode) -> str:
    name = prefixed(term)
    assert name is not None  # noqa: S101 - declared terms are of our vocabularies
    return name


def _with_article(words: str) -> str:
    return f"{'an' if words[0].lower() in 'aeio' else 'a'} {words}"
