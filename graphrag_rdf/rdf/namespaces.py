"""Namespaces and named graphs.

`TG` is TrustGraph's vocabulary (as it declares or emits it), `RAG` is ours. Both are described in
`ontology/`; a test checks that every term used anywhere in the project is declared there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pyoxigraph import NamedNode


class Namespace:
    """A vocabulary whose terms are read as attributes: `PROV.Entity`.

    Args:
        base: the namespace IRI, ending in `/` or `#`.
    """

    def __init__(self, base: str) -> None:
        self._base = base

    def __getattr__(self, local: str) -> NamedNode:
        if local.startswith("__"):
            raise AttributeError(local)
        term = self[local]
        setattr(self, local, term)  # from now on an attribute like any other: terms are read by the million
        return term

    def __getitem__(self, local: str) -> NamedNode:
        return _term(self._base + local)

    def __contains__(self, term: object) -> bool:
        return isinstance(term, NamedNode) and term.value.startswith(self._base)

    def __str__(self) -> str:
        return self._base

    def local(self, term: NamedNode) -> str:
        """The part of a term's IRI after the namespace."""
        return term.value.removeprefix(self._base)


@cache
def _term(iri: str) -> NamedNode:
    return NamedNode(iri)


TG = Namespace("https://trustgraph.ai/ns/")
RAG = Namespace("https://w3id.org/graphrag-rdf/ns#")
RDF = Namespace("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
OWL = Namespace("http://www.w3.org/2002/07/owl#")
XSD = Namespace("http://www.w3.org/2001/XMLSchema#")
PROV = Namespace("http://www.w3.org/ns/prov#")
SKOS = Namespace("http://www.w3.org/2004/02/skos/core#")
DC = Namespace("http://purl.org/dc/elements/1.1/")
DCTERMS = Namespace("http://purl.org/dc/terms/")
SCHEMA = Namespace("https://schema.org/")
OA = Namespace("http://www.w3.org/ns/oa#")
SH = Namespace("http://www.w3.org/ns/shacl#")
PPLAN = Namespace("http://purl.org/net/p-plan#")

PREFIXES: dict[str, str] = {
    "tg": str(TG),
    "rag": str(RAG),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "owl": str(OWL),
    "xsd": str(XSD),
    "prov": str(PROV),
    "skos": str(SKOS),
    "dc": str(DC),
    "dcterms": str(DCTERMS),
    "schema": str(SCHEMA),
    "oa": str(OA),
    "p-plan": str(PPLAN),
    "sh": str(SH),
}


def expand(name: str) -> NamedNode:
    """The IRI of a prefixed name.

    Raises:
        ValueError: if the prefix is unknown.
    """
    prefix, _, local = name.partition(":")
    if prefix not in PREFIXES:
        raise ValueError(f"{name}: the prefix {prefix!r} is unknown. Known: {', '.join(PREFIXES)}.")
    return NamedNode(PREFIXES[prefix] + local)


def prefixed(term: NamedNode) -> str | None:
    """An IRI as `prefix:local` with a prefix of ours; None where it has none, or would need escapes."""
    for prefix, base in PREFIXES.items():
        local = term.value.removeprefix(base)
        plain = local.replace("-", "").replace("_", "").isalnum() and not local.startswith("-")
        if local != term.value and plain:
            return f"{prefix}:{local}"
    return None


class Graphs:
    """The named graphs (see docs/architecture/rdf-model.md). Facts are in the default graph when embedded."""

    FACTS = NamedNode("urn:graph:facts")
    SOURCE = NamedNode("urn:graph:source")
    RETRIEVAL = NamedNode("urn:graph:retrieval")
    COMMUNITY = NamedNode("urn:graph:community")
    DERIVED = NamedNode("urn:graph:derived")
    INFERRED = NamedNode("urn:graph:inferred")
    AXIOMS = NamedNode("urn:graph:inferred:axioms")
    CHANGED = NamedNode("urn:graph:inferred:changed")
    LOST = NamedNode("urn:graph:inferred:lost")
    NEW = NamedNode("urn:graph:inferred:new")
    ONTOLOGY = NamedNode("urn:graph:ontology")
    SYSTEM = NamedNode("urn:graph:system")


STORE_NODE = NamedNode("urn:graphrag-rdf:store")
ENDPOINT_NODE = NamedNode("urn:graphrag-rdf:endpoint")


NO_FACTS = (RDFS.label, SKOS.altLabel, SKOS.prefLabel, RDF.type, OWL.sameAs)
"""Predicates of names, types and merges: triples that count as no facts."""

METADATA: Mapping[NamedNode, str] = {
    DCTERMS.creator: "has the author",
    DCTERMS.publisher: "was published by",
    DCTERMS.created: "was created on",
    DCTERMS.modified: "was last changed on",
}
"""Property → its label, which stands between the names of two things."""

METADATA_KEY = "metadata/1"
"""The key of the subgraph that contains the facts which the metadata of a document give."""
