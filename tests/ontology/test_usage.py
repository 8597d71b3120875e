"""Every term of tg: and rag: that is used is described in the ontology, and our ontology has no others.

All terms of TrustGraph stay, used or not: `ontology/trustgraph.ttl` describes its vocabulary, not ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import RDF, RDFS, Graph, URIRef

from graphrag_rdf.rdf.namespaces import RAG, TG

ROOT = Path(__file__).resolve().parents[2]
PREFIXED = re.compile(r"(?<![\w:/#.-])(tg|rag):([A-Za-z]\w*)")
ATTRIBUTE = re.compile(r"(?<![\w.])(TG|RAG)(?:\.([A-Za-z]\w*)|\[\"(\w+)\"\])")
METHODS = {"local"}
NAMESPACES = {"tg": str(TG), "rag": str(RAG)}


def _files() -> Iterator[Path]:
    for folder, pattern in (
        ("graphrag_rdf", "*.py"),
        ("queries", "*.r[qu]"),
        ("pipelines", "*"),
        ("ontology", "*shapes.ttl"),
    ):
        yield from (p for p in sorted((ROOT / folder).rglob(pattern)) if p.is_file())


KEPT_UNUSED: dict[str, str] = {}
"""Terms of ours that nothing uses, and why each stays."""


def used_terms(text: str) -> set[str]:
    """IRIs of the terms that a Python, SPARQL, Turtle or YAML text names."""
    found = {NAMESPACES[prefix] + local for prefix, local in PREFIXED.findall(text)}
    for name, attribute, key in ATTRIBUTE.findall(text):
        local = attribute or key
        if local not in METHODS:
            found.add(NAMESPACES[name.lower()] + local)
    return found


@pytest.fixture(scope="module")
def described(everything: Graph) -> set[str]:
    return {str(s) for s in everything.subjects() if isinstance(s, URIRef)}


def test_every_term_in_use_is_described(described: set[str]) -> None:
    missing = {
        f"{path.relative_to(ROOT)}: {iri}"
        for path in _files()
        for iri in used_terms(path.read_text("utf-8")) - described
    }
    assert not missing


def test_every_term_of_ours_is_in_use(rag: Graph) -> None:
    """Code, a query or a pipeline names it, or the description of a used term builds on it."""
    ours = {str(s) for s in rag.subjects(RDF.type) if isinstance(s, URIRef) and str(s).startswith(str(RAG))}
    named = (used_terms(path.read_text("utf-8")) for path in _files() if not path.name.endswith("shapes.ttl"))
    live = ours & set().union(*named)
    waiting = list(live)
    while waiting:
        term = URIRef(waiting.pop())
        for link in (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range):
            base = {str(o) for o in rag.objects(term, link)} & ours - live
            live |= base
            waiting += base
    assert ours - live == {str(RAG) + name for name in KEPT_UNUSED}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("?s tg:edge ?e ; rag:hop 1 .", {f"{TG}edge", f"{RAG}hop"}),
        ("quad(node, RAG.hop, TG.edge)", {f"{TG}edge", f"{RAG}hop"}),
        ('TG["edge"]', {f"{TG}edge"}),
        ("RAG.local(term)", set()),
        ("<urn:trustgraph:tg:edge> GraphRAG.hop", set()),
    ],
)
def test_the_scan_sees_both_spellings(text: str, found: set[str]) -> None:
    assert used_terms(text) == found
