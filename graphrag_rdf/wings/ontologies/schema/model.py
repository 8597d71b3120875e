"""The classes and properties of loaded ontologies, in memory, for guided extraction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import DCTERMS, OWL, RDF, RDFS, SCHEMA, SKOS, XSD
from graphrag_rdf.rdf.terms import Term, best_label, text_of
from graphrag_rdf.store.base import Store
from graphrag_rdf.wings.ontologies.schema.value_classes import ValueKind, value_classes, words_of

Kind: TypeAlias = Literal["class", "object", "datatype", "property"]
"""A class, an object property, a datatype property, or an rdf:Property that is neither."""

_KINDS: Mapping[Term, Kind] = {
    RDF.Property: "property",
    OWL.DatatypeProperty: "datatype",
    OWL.ObjectProperty: "object",
    RDFS.Class: "class",
    OWL.Class: "class",
}
_XSD = XSD.string.value.removesuffix("string")


@dataclass(slots=True)
class OntologyTerm:
    """A class or property with what is told about it.

    Attributes:
        labels: rdfs:label and skos:prefLabel.
        aliases: skos:altLabel.
        comments: rdfs:comment, skos:definition, dcterms:description.
        parents: classes or properties directly above it, as IRIs.
        domains, ranges: classes and datatypes; of several, subject or object may have any.
        inverses: properties that say the same in the other direction.
        values: what its objects are read as, if its range is a class of values, see `schema.value_classes`.
    """

    iri: str
    kind: Kind
    labels: list[RdfLiteral] = field(default_factory=list)
    aliases: list[RdfLiteral] = field(default_factory=list)
    comments: list[RdfLiteral] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    inverses: list[str] = field(default_factory=list)
    values: ValueKind | None = None

    @property
    def is_class(self) -> bool:
        """Whether it is a class, and not a property."""
        return self.kind == "class"

    @property
    def words(self) -> str:
        """The end of the IRI as words: `birthPlace` and `birth_place` are "birth place"."""
        return words_of(self.iri)

    def name(self, language: str | None = None) -> str:
        """Its label for readers of a language, else the words of its IRI."""
        label = best_label(self.labels, language)
        return " ".join(label.value.split()) if label and label.value.strip() else self.words

    def names(self) -> Iterable[str]:
        """All names: labels and aliases in every language, and the words of its IRI."""
        yield from (each.value for each in (*self.labels, *self.aliases) if each.value.strip())
        yield self.words

    def comment(self, language: str | None = None) -> str:
        """Its description for readers of a language, on one line; empty without one."""
        best = best_label(self.comments, language)
        return " ".join(best.value.split()) if best else ""

    @property
    def datatype(self) -> str | None:
        """The XSD datatype that its values have; None for any, or none."""
        return next((each for each in self.ranges if each.startswith(_XSD)), None)


_FIELDS: Mapping[Term, str] = {
    RDFS.label: "labels",
    SKOS.prefLabel: "labels",
    SKOS.altLabel: "aliases",
    RDFS.comment: "comments",
    SKOS.definition: "comments",
    DCTERMS.description: "comments",
    RDFS.subClassOf: "parents",
    RDFS.subPropertyOf: "parents",
    RDFS.domain: "domains",
    SCHEMA.domainIncludes: "domains",
    RDFS.range: "ranges",
    SCHEMA.rangeIncludes: "ranges",
    OWL.inverseOf: "inverses",
}
_TEXTS = frozenset({"labels", "aliases", "comments"})


@dataclass(frozen=True)
class Ontology:
    """The terms of one or several loaded ontologies.

    Attributes:
        terms: by IRI, in its order.
        digest: SHA-256 of all that is known of them. With another one, facts are extracted again.
        value_classes: classes whose members are values, by IRI.
    """

    terms: Mapping[str, OntologyTerm]
    digest: str
    value_classes: Mapping[str, ValueKind] = field(default_factory=dict)

    @cached_property
    def _above(self) -> dict[str, tuple[str, ...]]:
        return {}

    def above(self, iri: str) -> tuple[str, ...]:
        """A term and all terms above it, the nearest first; only itself if it is unknown."""
        known = self._above.get(iri)
        if known is None:
            found = {iri: None}
            waiting = [iri]
            while waiting:
                term = self.terms.get(waiting.pop(0))
                new = [each for each in (term.parents if term else ()) if each not in found]
                found |= dict.fromkeys(new)
                waiting += new
            known = self._above[iri] = tuple(found)
        return known

    def within(self, iri: str, allowed: Sequence[str]) -> bool:
        """Whether a class is one of these or below one; True if any is allowed."""
        return not allowed or OWL.Thing.value in allowed or not set(allowed).isdisjoint(self.above(iri))


def read_ontology(store: Store, ontologies: Sequence[str] = ()) -> Ontology:
    """The terms of loaded ontologies and of what they import.

    Args:
        ontologies: IRIs; none for all of `urn:graph:ontology`. One that is not loaded has no terms.
    """
    rows = store.select("ontology/terms", ontologies=[NamedNode(iri) for iri in ontologies])
    terms: dict[str, OntologyTerm] = {}
    digest = hashlib.sha256()
    for row in rows:
        term, kind, relation, value = row["term"], row["kind"], row["property"], row["value"]
        digest.update(f"{term} {kind} {relation} {value}\n".encode())
        known = terms.setdefault(term.value, OntologyTerm(term.value, _KINDS[kind]))
        if known.kind == "property":  # the others say more
            known.kind = _KINDS[kind]
        if (name := _FIELDS.get(relation)) is None:
            continue
        told: RdfLiteral | str | None = text_of(value)
        if name in _TEXTS:
            told = value if isinstance(value, RdfLiteral) else None
        held = getattr(known, name)
        if told is not None and told not in held:
            held.append(told)
    for one in list(terms.values()):
        for other in one.inverses:
            if (back := terms.get(other)) is not None and one.iri not in back.inverses:
                back.inverses.append(one.iri)
    classes = value_classes(terms)
    for each in terms.values():
        if not each.is_class and each.kind != "datatype":
            _mark_values(each, classes)
    return Ontology(terms, digest.hexdigest(), classes)


def _mark_values(term: OntologyTerm, classes: Mapping[str, ValueKind]) -> None:
    """Note what the objects of a property are read as. Of several ranges, one may be a class of things."""
    kinds = {classes.get(iri) for iri in term.ranges}
    if kinds - {None}:
        term.values = kinds.pop() if len(kinds) == 1 else "amount"
    if term.values and term.values != "amount":
        term.kind = "datatype"
