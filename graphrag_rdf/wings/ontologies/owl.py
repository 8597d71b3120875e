"""Ontologies and facts as OWL 2 DL files, for Protégé and other tools of OWL.

A folder gets a file for each loaded ontology, one for each observed schema, `links.ttl` with the links of
entities to vocabularies, `facts.ttl`, which imports them, and the catalogue that resolves the imports. Each
assertion has an annotated axiom (OWL 2 Mapping to RDF Graphs, §2.2) for each of its quotes: `rag:quotedText`,
`rag:quotedPage`, and the document, `dcterms:source`. There are no triple terms, which tools of OWL refuse.

OWL 2 DL forbids a property with both things and values, so its values get the property `{iri}-value`, and
things of what a loaded ontology declares as a property of values `{iri}-thing`; names and metadata of
documents (SKOS, Dublin Core) are annotations, which take both. OWL 2 lacks dates and years (§4), which are
written as texts. What facts say in the vocabulary of RDF and OWL itself (a graph that was imported with its
schema) are no assertions about individuals: they are left out, but for classes below others.

A relation that extraction minted and that one fact uses, or that has no word of its own ("is", "have"), is no
property of the schema: its facts stay statements, as annotations with their quotes.

The version IRI of an ontology is made from its statements, so equal exports have equal versions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO
from xml.sax.saxutils import quoteattr

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.exchange.ontologies import CATALOG, ontology_versions
from graphrag_rdf.exchange.whole_file import whole_file
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import stop_words
from graphrag_rdf.rdf.iris import ANONYMOUS, OBSERVED_SCHEMA
from graphrag_rdf.rdf.namespaces import DCTERMS, OWL, PREFIXES, RAG, RDF, RDFS, SKOS, XSD
from graphrag_rdf.rdf.terms import Statement, Term, integer, node_of, text_of
from graphrag_rdf.schema.observed import file_declarations, namespace_prefixes
from graphrag_rdf.store.base import Store, in_batches, select_in_batches

FACTS, LINKS = "facts", "links"
"""Below the namespace, the IRIs of the ontologies with the facts, and with the links to vocabularies."""
EDITS = "/edits"
"""Below the IRI of an observed schema, the ontology of what people added to it."""
_BATCH = 200
"""Subjects whose facts are read at a time."""
_VALUE, _THING = "-value", "-thing"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^>]*>|(?P<prefix>[^\W_][\w-]*):(?P<local>\S+)')  # not _:n.1
_PLAIN = re.compile(r"[^\W\d][\w-]*")
_ESCAPE = re.compile(r"\\(.)")
_QUOTED = (RAG.quotedText, RAG.quotedPage)
_NAMES = frozenset({RDFS.label, RDFS.comment, RDFS.seeAlso, RDFS.isDefinedBy})
"""Annotation properties of OWL itself."""
_ABOUT_INDIVIDUALS = frozenset({RDF.type, OWL.sameAs, OWL.differentFrom})
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
        split: properties whose values or things got a property of their own.
        statements: relations that are no properties, but annotations.
        left_out: statements about classes and properties.
        links: of entities to vocabularies.
    """

    files: list[str] = field(default_factory=list)
    individuals: int = 0
    assertions: int = 0
    annotations: int = 0
    texts: int = 0
    split: int = 0
    statements: int = 0
    left_out: int = 0
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
    facts, prefixes = _Facts(store, report), {**PREFIXES, **namespace_prefixes(namespace)}
    named: dict[str, str] = {}
    try:
        path.mkdir(parents=True, exist_ok=True)
        schemas = [row["schema"] for row in store.select("ontology/observed-schemas")]
        edits = {schema.value + EDITS for schema in schemas}
        versions = [each for each in ontology_versions(store) if each.active and each.ontology not in edits]
        for number, version in enumerate(versions, 1):
            name = f"ontology-{number}.ttl"
            triples = (quad.triple for quad in store.quads(NamedNode(version.graph)))
            _write(path / name, triples, PREFIXES)
            named |= {version.ontology: name, **({version.version: name} if version.version else {})}
        for number, schema in enumerate(schemas, 1):
            name = "schema.ttl" if number == 1 else f"schema-{number}.ttl"
            said = chain(facts.observed(schema), schema_edits(store, schema))
            _write(path / name, _versioned(schema, said), prefixes)
            named[schema.value] = name
        whole_links = NamedNode(f"{namespace}{LINKS}")
        if links := list(_links(store, whole_links, report)):
            _write(path / "links.ttl", _versioned(whole_links, links), prefixes)
            named[whole_links.value] = "links.ttl"
        whole = NamedNode(f"{namespace}{FACTS}")
        imports = [NamedNode(iri) for iri in {name: iri for iri, name in reversed(named.items())}.values()]
        _write(path / "facts.ttl", _versioned(whole, facts.triples(whole, imports)), prefixes)
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


def observed_schema(store: Store, schema: NamedNode) -> list[Triple]:
    """What `export_owl` would write of an observed schema now, without edits of people."""
    return list(_Facts(store, OwlReport()).observed(schema))


def schema_edits(store: Store, schema: NamedNode) -> list[Triple]:
    """What people added to an observed schema."""
    edits = schema.value + EDITS
    graphs = [each.graph for each in ontology_versions(store) if each.active and each.ontology == edits]
    found = (quad.triple for graph in graphs for quad in store.quads(NamedNode(graph)))
    return [triple for triple in found if triple.subject != NamedNode(edits)]


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
            yield from _quoted(link, quote["text"], quote["document"], text_of(quote["title"]))
    report.links = len(seen)


def _quoted(
    assertion: Triple, text: Literal, document: NamedNode, title: str, page: int | None = None
) -> Iterator[Triple]:
    """The axiom that annotates an assertion with a quote."""
    axiom = BlankNode()
    yield Triple(axiom, RDF.type, OWL.Axiom)
    yield Triple(axiom, OWL.annotatedSource, assertion.subject)
    yield Triple(axiom, OWL.annotatedProperty, assertion.predicate)
    yield Triple(axiom, OWL.annotatedTarget, assertion.object)
    yield Triple(axiom, RAG.quotedText, text)
    yield Triple(axiom, DCTERMS.source, document)
    yield Triple(axiom, DCTERMS.title, Literal(title))
    if page is not None:
        yield Triple(axiom, RAG.quotedPage, integer(page))


def _write(path: Path, triples: Iterable[Triple], prefixes: Mapping[str, str]) -> None:
    with whole_file(path) as file:
        turtle = _PlainTurtle(file, prefixes)
        serialize(triples, turtle, format=RdfFormat.TURTLE, prefixes=dict(prefixes))  # type: ignore[arg-type]
        turtle.write(b"\n")


class _PlainTurtle:
    """Writes names with escapes, full stops or a digit first as IRIs, which all tools of OWL can read."""

    def __init__(self, file: IO[bytes], prefixes: Mapping[str, str]) -> None:
        self._file = file
        self._prefixes = prefixes
        self._rest = b""

    def write(self, data: bytes) -> int:
        *lines, self._rest = (self._rest + bytes(data)).split(b"\n")
        for line in lines:
            self._file.write(_TOKEN.sub(self._in_full, line.decode()).encode() + b"\n")
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def _in_full(self, token: re.Match[str]) -> str:
        if not token["local"] or _PLAIN.fullmatch(token["local"]):
            return token[0]
        local = _ESCAPE.sub(r"\1", token["local"])
        return f"<{self._prefixes[token['prefix']]}{local}>"


def _versioned(ontology: NamedNode, triples: Iterable[Triple]) -> Iterator[Triple]:
    """The triples of an ontology, each declaration once, and its version IRI."""
    declared: set[Triple] = set()
    version = 0
    for triple in triples:
        if triple.predicate == RDF.type and triple.object in OWL and isinstance(triple.subject, NamedNode):
            if triple in declared:
                continue
            declared.add(triple)
        said = " ".join(str(term) for term in triple if not isinstance(term, BlankNode))
        version += int.from_bytes(hashlib.sha256(said.encode()).digest()[:16])
        yield triple
    yield Triple(ontology, OWL.versionIRI, NamedNode(f"{ontology.value}/{version % (1 << 128):032x}"))


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
        self._kinds: dict[NamedNode, Term] = {
            row["property"]: row["kind"] for row in store.select("exchange/owl-kinds")
        }
        schemas = [row["schema"].value for row in store.select("ontology/observed-schemas")]
        minted = tuple(schema.removesuffix(OBSERVED_SCHEMA) + "r/" for schema in schemas)
        self._statements = {
            p for p, n in counts.items() if p.value.startswith(minted) and (sum(n) == 1 or _says_little(p))
        }
        report.statements = len(self._statements)
        self._annotating = [p for p in counts if self._annotates(p) and p not in _NAMES]
        self._used = {p: n for p, n in counts.items() if not self._annotates(p) and not _is_reserved(p)}
        self._for_values: dict[NamedNode, NamedNode] = {}
        self._for_things: dict[NamedNode, NamedNode] = {}
        for p, (values, things) in self._used.items():
            kind = self._kinds.get(p) or (OWL.ObjectProperty if things else OWL.DatatypeProperty)
            if values and kind != OWL.DatatypeProperty:
                self._for_values[p] = NamedNode(p.value + _VALUE)
            if things and kind != OWL.ObjectProperty:
                self._for_things[p] = NamedNode(p.value + _THING)
        report.split = len(self._for_values) + len(self._for_things)

    def observed(self, schema: NamedNode) -> Iterator[Triple]:
        """The declarations of an observed schema, without what OWL 2 DL forbids."""
        yield from file_declarations()
        kinds: dict[Term, Term] = {}
        for row in self._store.select("ontology/declarations", schema=schema):
            term, said = node_of(row["term"]), node_of(row["property"])
            value: Term = row["value"]
            if term in self._statements or value in self._statements:
                continue
            if said == RDF.type:
                value = OWL.ObjectProperty if value == RDF.Property else self._kinds.get(term, value)
                kinds[term] = value
            elif said in (RDFS.subPropertyOf, OWL.inverseOf) and term in kinds:
                yield Triple(node_of(value), RDF.type, kinds[term])
            yield Triple(term, said, value)
        for relation, other in self._for_values.items():
            if relation.value.startswith(schema.value.removesuffix(OBSERVED_SCHEMA)):
                yield Triple(other, RDF.type, OWL.DatatypeProperty)

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
                named = self._for_things.get(predicate, predicate)
                yield Triple(named, RDF.type, OWL.ObjectProperty)
            if values:
                named = self._for_values.get(predicate, predicate)
                yield Triple(named, RDF.type, OWL.DatatypeProperty)
        subjects = [node_of(row["subject"]) for row in self._store.select("exchange/owl-individuals")]
        for batch in in_batches(subjects, _BATCH):
            yield from self._of(batch)

    def assertions(self) -> Iterator[tuple[Triple, Statement]]:
        """Each fact, after its assertion."""
        subjects = [node_of(row["subject"]) for row in self._store.select("exchange/owl-individuals")]
        for row in select_in_batches(self._store, "exchange/owl-assertions", "subjects", subjects):
            s, p, o = row["s"], row["p"], row["o"]
            if self._is_assertion(s, p, o):
                yield self._asserted(s, p, o), (node_of(s), node_of(p), o)

    def _of(self, subjects: list[NamedNode]) -> Iterator[Triple]:
        """The assertions about some individuals, with the axioms that annotate them."""
        rows = self._store.select("exchange/owl-assertions", subjects=subjects)
        found = [(row["s"], row["p"], row["o"]) for row in rows]
        edges = [edge for edge in found if self._is_assertion(*edge)]
        self._report.left_out += len(found) - len(edges)
        individuals = dict.fromkeys(node_of(s) for s, p, _ in edges if p != RDFS.subClassOf)
        self._report.individuals += len(individuals)
        for subject in individuals:
            yield Triple(subject, RDF.type, OWL.NamedIndividual)
        for edge in edges:
            yield from self._assertion(*edge)
        about = [edge for edge in edges if edge[1] in self._statements or not self._annotates(edge[1])]
        for row in select_in_batches(self._store, "provenance/sources", "edges", about):
            asserted = self._asserted(row["s"], row["p"], row["o"])
            document = NamedNode(row["document"])
            yield from _quoted(asserted, row["quote"], document, row["title"], row["page_number"])
            self._report.annotations += 1

    def _assertion(self, s: Term, p: Term, o: Term) -> Iterator[Triple]:
        asserted = self._asserted(s, p, o)
        if p == RDF.type:
            yield Triple(node_of(o), RDF.type, OWL.Class)
        elif p == RDFS.subClassOf:
            for one in (s, o):
                yield Triple(node_of(one), RDF.type, OWL.Class)
        elif isinstance(asserted.object, NamedNode) and not self._annotates(p):
            yield Triple(asserted.object, RDF.type, OWL.NamedIndividual)
        self._report.assertions += p in self._statements or not self._annotates(p)
        self._report.texts += asserted.object != o
        yield asserted

    def _asserted(self, s: Term, p: Term, o: Term) -> Triple:
        """A fact as OWL 2 DL has it."""
        predicate = node_of(p)
        if not isinstance(o, Literal):
            return Triple(node_of(s), self._for_things.get(predicate, predicate), o)
        value = o if o.datatype in _DATATYPES else Literal(o.value)
        return Triple(node_of(s), self._for_values.get(predicate, predicate), value)

    def _annotates(self, predicate: Term) -> bool:
        """Whether a predicate is written as an annotation property: names, what is known of documents, and
        statements.
        """
        if predicate in self._statements:
            return True
        if predicate in self._kinds:
            return self._kinds[node_of(predicate)] == OWL.AnnotationProperty
        return any(predicate in vocabulary for vocabulary in (_NAMES, SKOS, DCTERMS))

    def _is_assertion(self, s: Term, p: Term, o: Term) -> bool:
        """Whether a statement is an assertion about an individual, a name, or a class below another one."""
        if _is_reserved(s) or isinstance(o, Triple):
            return False
        if self._annotates(p):
            return True
        if p == RDFS.subClassOf:
            return not any(text_of(one).startswith(ANONYMOUS) for one in (s, o)) and not _is_reserved(o)
        return (p in _ABOUT_INDIVIDUALS or not _is_reserved(p)) and not _is_reserved(o)


def _says_little(relation: NamedNode) -> bool:
    """Whether a relation that extraction minted has no word of its own."""
    words = relation.value.rpartition("/")[2].removesuffix(_VALUE).split("-")
    return any(common.issuperset(words) for common in stop_words().values())


def _is_reserved(term: Term) -> bool:
    """Whether a term is of the vocabulary of RDF and OWL itself (OWL 2 Structural Specification §2.4)."""
    return any(term in vocabulary for vocabulary in (RDF, RDFS, OWL, XSD))
