"""RDF of an OWL ontology: OWL 2 Mapping to RDF Graphs (https://www.w3.org/TR/owl2-mapping-to-rdf/), §2.

The tables below are those of the specification, by the shape of the triples that an axiom gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, pairwise

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS, XSD
from graphrag_rdf.wings.ontologies.owl_syntax import Argument, Expression, OwlDocument, read_owl, syntax_of

Node = NamedNode | BlankNode

_DECLARED = {
    "Class": OWL.Class,
    "Datatype": RDFS.Datatype,
    "ObjectProperty": OWL.ObjectProperty,
    "DataProperty": OWL.DatatypeProperty,
    "AnnotationProperty": OWL.AnnotationProperty,
    "NamedIndividual": OWL.NamedIndividual,
}
_BETWEEN = {
    "SubClassOf": RDFS.subClassOf,
    "SubObjectPropertyOf": RDFS.subPropertyOf,
    "SubDataPropertyOf": RDFS.subPropertyOf,
    "SubAnnotationPropertyOf": RDFS.subPropertyOf,
    "InverseObjectProperties": OWL.inverseOf,
    "ObjectPropertyDomain": RDFS.domain,
    "ObjectPropertyRange": RDFS.range,
    "DataPropertyDomain": RDFS.domain,
    "DataPropertyRange": RDFS.range,
    "AnnotationPropertyDomain": RDFS.domain,
    "AnnotationPropertyRange": RDFS.range,
    "DatatypeDefinition": OWL.equivalentClass,
}
"""Axiom of two arguments → the predicate between them."""
_CHAINED = {
    "EquivalentClasses": OWL.equivalentClass,
    "EquivalentObjectProperties": OWL.equivalentProperty,
    "EquivalentDataProperties": OWL.equivalentProperty,
    "SameIndividual": OWL.sameAs,
}
"""Axiom of any number of arguments → the predicate between each and the next."""
_APART = {
    "DisjointClasses": (OWL.disjointWith, OWL.AllDisjointClasses, OWL.members),
    "DisjointObjectProperties": (OWL.propertyDisjointWith, OWL.AllDisjointProperties, OWL.members),
    "DisjointDataProperties": (OWL.propertyDisjointWith, OWL.AllDisjointProperties, OWL.members),
    "DifferentIndividuals": (OWL.differentFrom, OWL.AllDifferent, OWL.members),
}
"""Axiom → the predicate between two arguments; of more, the class and list of a node."""
_KINDS = {
    "FunctionalObjectProperty": OWL.FunctionalProperty,
    "FunctionalDataProperty": OWL.FunctionalProperty,
    "InverseFunctionalObjectProperty": OWL.InverseFunctionalProperty,
    "ReflexiveObjectProperty": OWL.ReflexiveProperty,
    "IrreflexiveObjectProperty": OWL.IrreflexiveProperty,
    "SymmetricObjectProperty": OWL.SymmetricProperty,
    "AsymmetricObjectProperty": OWL.AsymmetricProperty,
    "TransitiveObjectProperty": OWL.TransitiveProperty,
}
_LISTED = {"DisjointUnion": OWL.disjointUnionOf, "HasKey": OWL.hasKey}
"""Axiom → the predicate between the first argument and the list of the others."""
_ASSERTED = frozenset({"ObjectPropertyAssertion", "DataPropertyAssertion", "AnnotationAssertion"})
_DENIED = {
    "NegativeObjectPropertyAssertion": OWL.targetIndividual,
    "NegativeDataPropertyAssertion": OWL.targetValue,
}
_SETS = {
    "ObjectIntersectionOf": (OWL.Class, OWL.intersectionOf),
    "ObjectUnionOf": (OWL.Class, OWL.unionOf),
    "ObjectOneOf": (OWL.Class, OWL.oneOf),
    "DataIntersectionOf": (RDFS.Datatype, OWL.intersectionOf),
    "DataUnionOf": (RDFS.Datatype, OWL.unionOf),
    "DataOneOf": (RDFS.Datatype, OWL.oneOf),
}
"""Expression → class of its node, predicate of its list."""
_COMPLEMENTS = {
    "ObjectComplementOf": (OWL.Class, OWL.complementOf),
    "DataComplementOf": (RDFS.Datatype, OWL.datatypeComplementOf),
}
_RESTRICTIONS = {
    "SomeValuesFrom": OWL.someValuesFrom,
    "AllValuesFrom": OWL.allValuesFrom,
    "HasValue": OWL.hasValue,
}
"""What follows Object or Data → predicate of the filler."""
_CARDINALITIES = {
    "MinCardinality": (OWL.minCardinality, OWL.minQualifiedCardinality),
    "MaxCardinality": (OWL.maxCardinality, OWL.maxQualifiedCardinality),
    "ExactCardinality": (OWL.cardinality, OWL.qualifiedCardinality),
}
"""What follows Object or Data → predicates without and with a filler."""


def triples_of(data: bytes) -> list[Triple] | None:
    """The triples of a file in OWL/XML or functional-style syntax, whatever its name; None for neither.

    Raises:
        UsageError: see `owl_syntax.syntax_of`.
        SyntaxError: see `to_rdf` and `owl_syntax.read_owl`.
    """
    syntax = syntax_of(data)
    return None if syntax is None else to_rdf(read_owl(data, syntax))


def to_rdf(document: OwlDocument) -> list[Triple]:
    """The triples of an ontology.

    Raises:
        SyntaxError: an axiom or expression is unknown, or has other parts than OWL 2 gives it.
    """
    return _Mapping().document(document)


class _Mapping:
    def __init__(self) -> None:
        self._triples: list[Triple] = []
        self._numbers = count(1)

    def document(self, document: OwlDocument) -> list[Triple]:
        named: Node = document.iri or self._fresh()
        self._add(named, RDF.type, OWL.Ontology)
        if document.version:
            self._add(named, OWL.versionIRI, document.version)
        for imported in document.imports:
            self._add(named, OWL.imports, imported)
        for part in document.parts:
            try:
                self._part(named, part)
            except (TypeError, ValueError, KeyError) as error:
                raise SyntaxError(
                    tr("{name}: parts are missing, or of the wrong kind").format(name=part.name)
                ) from error
        return self._triples

    def _fresh(self) -> BlankNode:
        return BlankNode(f"owl{next(self._numbers)}")

    def _add(self, subject: Node, predicate: NamedNode, value: Node | Literal | Triple) -> Triple:
        triple = Triple(subject, predicate, value)
        self._triples.append(triple)
        return triple

    def _part(self, ontology: Node, part: Expression) -> None:
        if part.name == "Annotation":
            self._annotate(ontology, part)
            return
        notes = [one for one in part.arguments if isinstance(one, Expression) and one.name == "Annotation"]
        about: Sequence[Argument] = [one for one in part.arguments if one not in notes]
        mains = [*self._axiom(part.name, about)]
        for main in mains if notes else ():
            node = self._reified(main, OWL.Axiom) if isinstance(main, Triple) else main
            for note in notes:
                self._annotate(node, note)

    def _axiom(self, name: str, about: Sequence[Argument]) -> Iterator[Triple | BlankNode]:
        """Add an axiom; what annotations of it are about: its triples, or its own node."""
        if name in _BETWEEN:
            yield self._between(name, about)
        elif name in _CHAINED:
            for one, other in pairwise(map(self._node, about)):
                yield self._add(one, _CHAINED[name], other)
        elif name in _APART:
            yield self._apart(name, about)
        elif name in _KINDS:
            (property_,) = about
            yield self._add(self._node(property_), RDF.type, _KINDS[name])
        elif name in _LISTED:
            first, *others = about
            members = [each for one in others for each in _members(one)]
            yield self._add(self._node(first), _LISTED[name], self._list(map(self._term, members)))
        elif name in _ASSERTED:
            yield self._asserted(name, about)
        elif name in _DENIED:
            yield self._denied(_DENIED[name], about)
        elif name == "ClassAssertion":
            kind, thing = about
            yield self._add(self._node(thing), RDF.type, self._node(kind))
        elif name == "Declaration":
            (entity,) = about
            declared = _expression(entity)
            (iri,) = declared.arguments
            yield self._add(_iri(iri), RDF.type, _DECLARED[declared.name])
        else:
            raise SyntaxError(
                tr("{name} is not an axiom of OWL 2; remove it, or save the file as Turtle").format(name=name)
            )

    def _between(self, name: str, about: Sequence[Argument]) -> Triple:
        lower, upper = about
        if isinstance(lower, Expression) and lower.name == "ObjectPropertyChain":
            links = self._list(map(self._term, lower.arguments))
            return self._add(self._node(upper), OWL.propertyChainAxiom, links)
        return self._add(self._node(lower), _BETWEEN[name], self._node(upper))

    def _apart(self, name: str, about: Sequence[Argument]) -> Triple | BlankNode:
        predicate, kind, members = _APART[name]
        if len(about) == 2:
            return self._add(self._node(about[0]), predicate, self._node(about[1]))
        node = self._fresh()
        self._add(node, RDF.type, kind)
        self._add(node, members, self._list(map(self._term, about)))
        return node

    def _asserted(self, name: str, about: Sequence[Argument]) -> Triple:
        property_, subject, value = about
        if name == "ObjectPropertyAssertion" and (inverse := _inverse_of(property_)):
            property_, subject, value = inverse, value, subject
        return self._add(self._node(subject), _iri(property_), self._term(value))

    def _denied(self, target: NamedNode, about: Sequence[Argument]) -> BlankNode:
        property_, subject, value = about
        node = self._fresh()
        self._add(node, RDF.type, OWL.NegativePropertyAssertion)
        self._add(node, OWL.sourceIndividual, self._node(subject))
        self._add(node, OWL.assertionProperty, self._node(property_))
        self._add(node, target, self._term(value))
        return node

    # --- annotations (§2.2) ---------------------------------------------------------------------------

    def _annotate(self, about: Node, note: Expression) -> None:
        """Add an annotation, with those of itself."""
        *nested, property_, value = note.arguments
        triple = self._add(about, _iri(property_), self._term(value))
        for inner in nested:
            self._annotate(self._reified(triple, OWL.Annotation), _expression(inner))

    def _reified(self, triple: Triple, kind: NamedNode) -> BlankNode:
        node = self._fresh()
        self._add(node, RDF.type, kind)
        self._add(node, OWL.annotatedSource, triple.subject)
        self._add(node, OWL.annotatedProperty, triple.predicate)
        self._add(node, OWL.annotatedTarget, triple.object)
        return node

    # --- expressions ----------------------------------------------------------------------------------

    def _term(self, value: Argument) -> Node | Literal:
        return value if isinstance(value, Literal) else self._node(value)

    def _node(self, value: Argument) -> Node:
        if isinstance(value, NamedNode | BlankNode):
            return value
        return self._expression(_expression(value))

    def _expression(self, said: Expression) -> Node:
        node, about = self._fresh(), said.arguments
        if said.name in _SETS:
            kind, listed = _SETS[said.name]
            self._add(node, RDF.type, kind)
            self._add(node, listed, self._list(map(self._term, about)))
        elif said.name in _COMPLEMENTS:
            kind, of = _COMPLEMENTS[said.name]
            (other,) = about
            self._add(node, RDF.type, kind)
            self._add(node, of, self._node(other))
        elif said.name == "ObjectInverseOf":
            (property_,) = about
            self._add(node, OWL.inverseOf, self._node(property_))
        elif said.name == "DatatypeRestriction":
            self._facets(node, about)
        elif said.name.startswith(("Object", "Data")):
            self._restriction(node, said.name.removeprefix("Object").removeprefix("Data"), said)
        else:
            raise SyntaxError(tr("{name} is not an expression of OWL 2").format(name=said.name))
        return node

    def _facets(self, node: Node, about: Sequence[Argument]) -> None:
        datatype, *facets = about
        self._add(node, RDF.type, RDFS.Datatype)
        self._add(node, OWL.onDatatype, self._node(datatype))
        nodes: list[Node | Literal] = []
        for facet, value in zip(facets[::2], facets[1::2], strict=True):
            limit = self._fresh()
            self._add(limit, _iri(facet), self._term(value))
            nodes.append(limit)
        self._add(node, OWL.withRestrictions, self._list(iter(nodes)))

    def _restriction(self, node: Node, name: str, said: Expression) -> None:
        about = said.arguments
        self._add(node, RDF.type, OWL.Restriction)
        if name == "HasSelf":
            (property_,) = about
            self._on(node, [property_])
            self._add(node, OWL.hasSelf, Literal("true", datatype=XSD.boolean))
        elif name in _RESTRICTIONS:
            *properties, filler = about
            self._on(node, properties)
            self._add(node, _RESTRICTIONS[name], self._term(filler))
        elif name in _CARDINALITIES:
            number, property_, *fillers = about
            if not isinstance(number, int):
                raise TypeError(said.name)
            self._on(node, [property_])
            predicate = _CARDINALITIES[name][bool(fillers)]
            self._add(node, predicate, Literal(str(number), datatype=XSD.nonNegativeInteger))
            for kind in fillers:
                on = OWL.onDataRange if said.name.startswith("Data") else OWL.onClass
                self._add(node, on, self._node(kind))
        else:
            raise SyntaxError(tr("{name} is not an expression of OWL 2").format(name=said.name))

    def _on(self, node: Node, properties: Sequence[Argument]) -> None:
        if len(properties) == 1:
            self._add(node, OWL.onProperty, self._node(properties[0]))
        else:
            self._add(node, OWL.onProperties, self._list(map(self._term, properties)))

    def _list(self, members: Iterator[Node | Literal]) -> Node:
        """A sequence (`SEQ` of the specification)."""
        found = list(members)
        nodes: list[Node] = [*(self._fresh() for _ in found), RDF.nil]
        for member, node, rest in zip(found, nodes, nodes[1:], strict=False):
            self._add(node, RDF.first, member)
            self._add(node, RDF.rest, rest)
        return nodes[0]


def _iri(value: Argument) -> NamedNode:
    if not isinstance(value, NamedNode):
        raise TypeError("expected an IRI")
    return value


def _expression(value: Argument) -> Expression:
    if not isinstance(value, Expression):
        raise TypeError("expected an expression")
    return value


def _members(value: Argument) -> Sequence[Argument]:
    """The members of a list in brackets, such as the properties of a key; else the value alone."""
    return value.arguments if isinstance(value, Expression) and not value.name else [value]


def _inverse_of(property_: Argument) -> Argument | None:
    if isinstance(property_, Expression) and property_.name == "ObjectInverseOf":
        return property_.arguments[0]
    return None
