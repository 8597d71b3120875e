"""Every term of tg: and rag: that the project uses is described in the ontology."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import Graph, URIRef

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
        ("ontology", "shapes.ttl"),
    ):
        yield from (p for p in sorted((ROOT / folder).rglob(pattern)) if p.is_file())


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
