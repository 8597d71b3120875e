"""Names and IRIs: minting, the labels as they stand, and the election of labels.

Every name that a text uses for a thing is contained as its `rdfs:label` in the subgraph of the text; the graph of
facts asserts the most frequent one as label and the others as `skos:altLabel`. While a run goes on,
whoever comes first is the label; the election at its end makes the result independent of order.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.extract.normalise import slug
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RDFS, SKOS
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Changes, Row, Store

_BATCH = 500


class Minter:
    """IRIs from names.

    Args:
        namespace: the base of entities, relations and types.
    """

    def __init__(self, namespace: str = iris.DEFAULT_NAMESPACE) -> None:
        self._namespace = namespace
        self._slugs: dict[str, str] = {}

    def _slug(self, name: str) -> str:
        found = self._slugs.get(name)
        if found is None:
            found = self._slugs[name] = slug(name)
        return found

    def entity(self, name: str) -> NamedNode:
        """The IRI of an entity. Raises ValueError for a name with nothing in it."""
        return iris.entity(self._slug(name), self._namespace)

    def relation(self, name: str) -> NamedNode:
        """The IRI of a relation. Raises ValueError for a name with nothing in it."""
        return iris.relation(self._slug(name), self._namespace)

    def type(self, name: str) -> NamedNode:
        """The IRI of a type. Raises ValueError for a name with nothing in it."""
        return iris.type_(self._slug(name), self._namespace)


class KnownNames:
    """The names in the graph of facts, looked up in batches and remembered for a run."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, dict[str, bool]] = {}
        self.contested: set[NamedNode] = set()

    def load(self, things: Iterable[NamedNode]) -> None:
        """Look up what is not known yet, in one query."""
        unknown = [thing for thing in things if thing.value not in self._names]
        for thing in unknown:
            self._names[thing.value] = {}
        if unknown:
            for row in self._store.select("labels/known", things=unknown):
                is_label = row["property"] == RDFS.label
                self._names[_iri(row["thing"])][_text(row["name"])] = is_label

    def is_new(self, thing: NamedNode) -> bool:
        """Whether the thing has no name yet."""
        return not self._names[thing.value]

    def add(self, thing: NamedNode, name: str, *, alias: bool = False) -> NamedNode | None:
        """Note a name; the property to assert it with, None if it stands already."""
        names = self._names[thing.value]
        labelled = any(names.values())
        if name in names:
            if not alias and not names[name]:
                self.contested.add(thing)
            return None
        if not alias and labelled:
            self.contested.add(thing)
        names[name] = not alias and not labelled
        return RDFS.label if names[name] else SKOS.altLabel


def elect(store: Store, things: Iterable[NamedNode]) -> Changes:
    """Make the most frequent name of each thing its label, and drop names that nothing contains.

    Returns:
        what to commit; empty when every label is right already.
    """
    changes = Changes()
    for batch in _batches(sorted(set(things), key=str)):
        for row in store.select("labels/elect", things=batch):
            thing, new = _node(row["thing"]), _literal(row["new"])
            if "old" in row:
                old = _literal(row["old"])
                changes.remove.append(_name(thing, RDFS.label, old))
                changes.add.append(_name(thing, SKOS.altLabel, old))
            changes.remove.append(_name(thing, SKOS.altLabel, new))
            changes.add.append(_name(thing, RDFS.label, new))
    return changes


def drop_unsupported(store: Store, things: Iterable[NamedNode]) -> Changes:
    """Take out names that no subgraph contains any more."""
    changes = Changes()
    for batch in _batches(sorted(set(things), key=str)):
        for row in store.select("labels/unsupported", things=batch):
            changes.remove.append(_name(_node(row["thing"]), _node(row["property"]), _literal(row["name"])))
    return changes


def ambiguous(store: Store) -> list[NamedNode]:
    """Everything with more than one name."""
    return [_node(row["thing"]) for row in store.select("labels/ambiguous")]


def _batches(things: list[NamedNode]) -> Iterable[list[NamedNode]]:
    for start in range(0, len(things), _BATCH):
        yield things[start : start + _BATCH]


def _name(thing: NamedNode, prop: NamedNode, name: Literal) -> Quad:
    return Quad(thing, prop, name, DefaultGraph())


def _node(term: Term) -> NamedNode:
    assert isinstance(term, NamedNode)  # noqa: S101
    return term


def _literal(term: Term) -> Literal:
    assert isinstance(term, Literal)  # noqa: S101
    return term


def _iri(term: Term) -> str:
    return _node(term).value


def _text(term: Term) -> str:
    return _literal(term).value


__all__ = ["KnownNames", "Minter", "Row", "ambiguous", "drop_unsupported", "elect"]
