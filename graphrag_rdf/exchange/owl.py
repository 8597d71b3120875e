"""Ontologies and facts as OWL 2 DL files, for Protégé and other tools of OWL.

A folder gets a file for each loaded ontology, one for each observed schema, `links.ttl` with the links of
entities to vocabularies, `facts.ttl`, which imports them, and the catalogue that resolves the imports. Each
assertion has an annotated axiom (OWL 2 Mapping to RDF Graphs, §2.2) for each of its quotes: `rag:quotedText`,
`rag:quotedPage`, and the document, `dcterms:source`. There are no triple terms, which tools of OWL refuse.

OWL 2 DL forbids a property with both things and values, so its values get the property `{iri}-value`; names
and metadata of documents (SKOS, Dublin Core) are annotations, which take both. OWL 2 lacks dates and years
(§4), which are written as texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.exchange.ontologies import CATALOG, ontology_versions
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.fact_decisions import Statement
from graphrag_rdf.rdf.iris import OBSERVED_SCHEMA
from graphrag_rdf.rdf.namespaces import DCTERMS, OWL, PREFIXES, RAG, RDF, RDFS, SKOS, XSD
from graphrag_rdf.rdf.terms import Term, node_of, text_of
from graphrag_rdf.schema.observed import annotation_properties
from graphrag_rdf.store.base import Row, Store, in_batches, select_in_batches

FACTS, LINKS = "facts", "links"
"""Below the namespace, the IRIs of the ontologies with the facts, and with the links to vocabularies."""
_BATCH = 200
"""Subjects whose facts are read at a time."""
_VALUE = "-value"
_QUOTED = (RAG.quotedText, RAG.quotedPage)
_NAMES = frozenset({RDFS.label, RDFS.comment, RDFS.seeAlso, RDFS.isDefinedBy})
"""Annotation properties of OWL itself."""
_DATATYPES = frozenset(
    {
        *(XSD.string, RDF.langString, XSD.integer, XSD.decimal, XSD.double, XSD.float, XSD.boolean),
        *(XSD.dateTime, XSD.anyURI),
    }
)


@dataclass(slots=True)
class OwlReport:
    """What was written.

    Attributes:
        files: names, in the order of imports.
        annotations: axioms with a quote.
        texts: values whose datatype OWL 2 lacks.
        split: properties whose values got a property of their own.
        links: of entities to vocabularies.
    """

    files: list[str] = field(default_factory=list)
    individuals: int = 0
    assertions: int = 0
    annotations: int = 0
    texts: int = 0
    split: int = 0
    links: int = 0


def export_owl(store: Store, folder: str | Path, namespace: str) -> OwlReport:
    """Write the ontologies and facts of a store.

    Args:
        folder: is made if it is missing; files of the same names are replaced.
        namespace: of the ontology of facts, `{namespace}facts`.

    Raises:
        UsageError: a file cannot be written.
    """
    report, path = OwlReport(), Path(folder)
    facts = _Facts(store, report)
    named: dict[str, str] = {}
    try:
        path.mkdir(parents=True, exist_ok=True)
        for number, version in enumerate(filter(lambda each: each.active, ontology_versions(store)), 1):
            name = f"ontology-{number}.ttl"
            triples = (quad.triple for quad in store.quads(NamedNode(version.graph)))
            _write(path / name, triples)
            named |= {version.ontology: name, **({version.version: name} if version.version else {})}
        for number, row in enumerate(store.select("ontology/observed-schemas"), 1):
            name = "schema.ttl" if number == 1 else f"schema-{number}.ttl"
            schema = node_of(row["schema"])
            _write(path / name, facts.schema(schema))
            named[schema.value] = name
        if links := list(_links(store, NamedNode(f"{namespace}{LINKS}"), report)):
            _write(path / "links.ttl", iter(links))
            named[f"{namespace}{LINKS}"] = "links.ttl"
        whole = NamedNode(f"{namespace}{FACTS}")
        imports = [NamedNode(iri) for iri in {name: iri for iri, name in reversed(named.items())}.values()]
        _write(path / "facts.ttl", facts.triples(whole, imports))
        named[whole.value] = "facts.ttl"
        (path / CATALOG).write_text(_catalog(named), "utf-8")
    except OSError as error:
        raise UsageError(
            tr("cannot write {path}: {cause}").format(path=error.filename or path, cause=system_cause(error))
        ) from error
    report.files = [*dict.fromkeys(named.values()), CATALOG]
    return report


def exported_facts(store: Store) -> dict[Triple, Statement]:
    """The assertions that `export_owl` would write now → the facts that they stand for."""
    facts = _Facts(store, OwlReport())
    return dict(facts.assertions())


def _links(store: Store, ontology: NamedNode, report: OwlReport) -> Iterator[Triple]:
    """The links of entities to things of vocabularies, each with the quotes that are its evidence."""
    rows = store.select("exchange/owl-links")
    if not rows:
        return
    yield Triple(ontology, RDF.type, OWL.Ontology)
    yield Triple(ontology, RDFS.label, Literal("links of entities to vocabularies", language="en"))
    for predicate in (RAG.quotedText, DCTERMS.source, DCTERMS.title, SKOS.exactMatch, SKOS.closeMatch):
        yield Triple(predicate, RDF.type, OWL.AnnotationProperty)
    sentences = list(dict.fromkeys(row["sentence"] for row in rows if "sentence" in row))
    quotes = {
        row["sentence"]: row for row in select_in_batches(store, "linking/evidence", "sentences", sentences)
    }
    seen: set[Triple] = set()
    for row in rows:
        link = Triple(node_of(row["entity"]), node_of(row["relation"]), node_of(row["thing"]))
        if link not in seen:
            seen.add(link)
            yield link
            for individual in (link.subject, *([link.object] if link.predicate == OWL.sameAs else [])):
                yield Triple(individual, RDF.type, OWL.NamedIndividual)  # type: ignore[arg-type]
        if "sentence" in row and (quote := quotes.get(row["sentence"])):
            yield from _quoted(link, quote["text"], quote)
    report.links = len(seen)


def _quoted(assertion: Triple, text: Term, source: Row) -> Iterator[Triple]:
    """The axiom that annotates an assertion with a quote.

    Args:
        source: with the document, its title, and the number of the page, if there is one.
    """
    axiom = BlankNode()
    yield Triple(axiom, RDF.type, OWL.Axiom)
    yield Triple(axiom, OWL.annotatedSource, assertion.subject)
    yield Triple(axiom, OWL.annotatedProperty, assertion.predicate)
    yield Triple(axiom, OWL.annotatedTarget, assertion.object)
    yield Triple(axiom, RAG.quotedText, text)
    yield Triple(axiom, DCTERMS.source, source["document"])
    yield Triple(axiom, DCTERMS.title, Literal(text_of(source["title"])))
    if "page_number" in source:
        yield Triple(axiom, RAG.quotedPage, source["page_number"])


def _write(path: Path, triples: Iterator[Triple]) -> None:
    serialize(triples, str(path), format=RdfFormat.TURTLE, prefixes=PREFIXES)


def _catalog(named: dict[str, str]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
        '<catalog prefer="public" xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">',
        *(f"  <uri name={quoteattr(iri)} uri={quoteattr(name)}/>" for iri, name in named.items()),
        "</catalog>\n",
    ]
    return "\n".join(lines)


class _Facts:
    """Facts as assertions about individuals.

    Args:
        report: counts what is written.
    """

    def __init__(self, store: Store, report: OwlReport) -> None:
        self._store = store
        self._report = report
        counts = {
            node_of(row["predicate"]): (int(text_of(row["values"])), int(text_of(row["things"])))
            for row in store.select("exchange/owl-predicates")
        }
        self._annotating = [p for p in counts if p in SKOS or p in DCTERMS]
        self._used = {p: n for p, n in counts.items() if p != RDF.type and not _annotates(p) and p not in OWL}
        self._both = {p for p, (values, things) in self._used.items() if values and things}
        report.split = len(self._both)

    def schema(self, schema: NamedNode) -> Iterator[Triple]:
        """The declarations of an observed schema, without what OWL 2 DL forbids."""
        yield from annotation_properties()
        for row in self._store.select("ontology/declarations", schema=schema):
            term, said, value = node_of(row["term"]), node_of(row["property"]), row["value"]
            if value == RDF.Property:
                value = OWL.ObjectProperty
            yield Triple(term, said, value)
        for relation in sorted(self._both, key=str):
            if relation.value.startswith(schema.value.removesuffix(OBSERVED_SCHEMA)):
                yield Triple(self._for_values(relation), RDF.type, OWL.DatatypeProperty)

    def triples(self, whole: NamedNode, imports: list[NamedNode]) -> Iterator[Triple]:
        """The ontology of facts."""
        yield Triple(whole, RDF.type, OWL.Ontology)
        yield Triple(whole, RDFS.label, Literal("facts with their quotes", language="en"))
        for imported in imports:
            yield Triple(whole, OWL.imports, imported)
        for predicate in {*_QUOTED, DCTERMS.source, DCTERMS.title, *self._annotating}:
            yield Triple(predicate, RDF.type, OWL.AnnotationProperty)
        for predicate, (values, things) in self._used.items():
            if things:
                yield Triple(predicate, RDF.type, OWL.ObjectProperty)
            if values:
                yield Triple(self._for_values(predicate), RDF.type, OWL.DatatypeProperty)
        subjects = [node_of(row["subject"]) for row in self._store.select("exchange/owl-individuals")]
        self._report.individuals = len(subjects)
        for batch in in_batches(subjects, _BATCH):
            yield from self._of(batch)

    def assertions(self) -> Iterator[tuple[Triple, Statement]]:
        """Each fact, after its assertion."""
        subjects = [node_of(row["subject"]) for row in self._store.select("exchange/owl-individuals")]
        for row in select_in_batches(self._store, "exchange/owl-assertions", "subjects", subjects):
            s, p, o = row["s"], row["p"], row["o"]
            yield self._asserted(s, p, o), (node_of(s), node_of(p), o)  # type: ignore[misc]

    def _of(self, subjects: list[NamedNode]) -> Iterator[Triple]:
        """The assertions about some individuals, with the axioms that annotate them."""
        rows = self._store.select("exchange/owl-assertions", subjects=subjects)
        edges = [(row["s"], row["p"], row["o"]) for row in rows]
        for subject in subjects:
            yield Triple(subject, RDF.type, OWL.NamedIndividual)
        for edge in edges:
            yield from self._assertion(*edge)
        about = [edge for edge in edges if not _annotates(edge[1])]
        for row in select_in_batches(self._store, "provenance/sources", "edges", about):
            yield from _quoted(self._asserted(row["s"], row["p"], row["o"]), row["quote"], row)
            self._report.annotations += 1

    def _assertion(self, s: Term, p: Term, o: Term) -> Iterator[Triple]:
        asserted = self._asserted(s, p, o)
        if p == RDF.type:
            yield Triple(node_of(o), RDF.type, OWL.Class)
        elif isinstance(asserted.object, NamedNode) and not _annotates(p):
            yield Triple(asserted.object, RDF.type, OWL.NamedIndividual)
        self._report.assertions += not _annotates(p)
        self._report.texts += asserted.object != o
        yield asserted

    def _asserted(self, s: Term, p: Term, o: Term) -> Triple:
        """A fact as OWL 2 DL has it."""
        predicate = node_of(p)
        if not isinstance(o, Literal):
            return Triple(node_of(s), predicate, o)
        value = o if o.datatype in _DATATYPES else Literal(o.value)
        return Triple(node_of(s), self._for_values(predicate), value)

    def _for_values(self, predicate: NamedNode) -> NamedNode:
        """The property of values."""
        return NamedNode(predicate.value + _VALUE) if predicate in self._both else predicate


def _annotates(predicate: Term) -> bool:
    """Whether a predicate is written as an annotation property: names, and what is known of documents."""
    return predicate in _NAMES or predicate in SKOS or predicate in DCTERMS
