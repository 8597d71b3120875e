"""The vocabularies of our graphs: the files in `ontology/`, read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pyoxigraph import NamedNode, Quad, Triple, parse

from graphrag_rdf.rdf.jsonld import jsonld_context
from graphrag_rdf.rdf.namespaces import OWL, RAG, RDF, Graphs
from graphrag_rdf.rdf.vocabulary_page import FILES
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.embedded import EmbeddedStore


def vocabulary_triples() -> list[Triple]:
    """The vocabularies as one ontology, ours: its imports cannot be fetched by everybody."""
    triples = [quad.triple for name in FILES for quad in parse(path=str(folder("ontology") / name))]
    ours = NamedNode(str(RAG).rstrip("#"))
    imported = {t.subject for t in triples if (t.predicate, t.object) == (RDF.type, OWL.Ontology)} - {ours}
    return [t for t in triples if t.subject not in imported and t.predicate != OWL.imports]


@cache
def vocabulary_context() -> Mapping[str, Any]:
    """The JSON-LD context of the vocabularies, as a document with `@context`."""
    store = EmbeddedStore(TemplateLibrary(folder("queries")))
    store.bulk_add(Quad(t.subject, t.predicate, t.object, Graphs.ONTOLOGY) for t in vocabulary_triples())
    return jsonld_context(store.select("ontology/context"))
