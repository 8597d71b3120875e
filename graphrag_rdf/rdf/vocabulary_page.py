"""The page `docs/vocabulary.md`, written from the ontology files.

The files in `ontology/` are the source; `make ontology` writes the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphrag_rdf.rdf.namespaces import OWL, PREFIXES, RAG, TG
from graphrag_rdf.resources import folder

if TYPE_CHECKING:
    from pathlib import Path

    from rdflib import Graph
    from rdflib.term import Node

_KINDS = {
    str(OWL) + "Class": "class",
    str(OWL) + "ObjectProperty": "object",
    str(OWL) + "DatatypeProperty": "data",
    str(OWL) + "AnnotationProperty": "annotation",
}
_OTHER_PREFIXES = {"oa": "http://www.w3.org/ns/oa#"}

_VOCABULARIES = (
    (
        "trustgraph.ttl",
        str(TG),
        "TrustGraph's terms (`tg:`)",
        "The terms belong to TrustGraph, the descriptions are ours. We use them and never redefine one.",
    ),
    ("graphrag-rdf.ttl", str(RAG), "Our terms (`rag:`)", "What we say beyond TrustGraph's vocabulary."),
)

FILES = tuple(file for file, *_ in _VOCABULARIES)
"""The program's own vocabularies, under `ontology/`."""

_INTRODUCTION = """\
# Vocabulary

This page is made from the files in `ontology/` by `make ontology`; change those, not this. To look at them in
Protégé, open `ontology/graphrag-rdf.ttl`: the catalogue beside it finds the imports without a network.

| prefix | namespace | file |
|---|---|---|
| `tg:` | `https://trustgraph.ai/ns/` | `ontology/trustgraph.ttl` |
| `rag:` | `https://w3id.org/graphrag-rdf/ns#` | `ontology/graphrag-rdf.ttl` |
| `prov:` | `http://www.w3.org/ns/prov#` | `ontology/prov-o.ttl` (W3C, unchanged in meaning) |

`ontology/shapes.ttl` and `ontology/trace-shapes.ttl` say in SHACL what the data must look like. Domain and
range are what OWL states; ∪ means any of these, … that nothing is stated. The kind is *class*, *object* (a
property whose values are resources or triple terms), *data* (a property whose values are literals) or
*annotation* (a property of any, from which reasoners infer nothing).
"""

_OLD_NAMES_INTRODUCTION = """\
## Older names

Traces described in older documents of TrustGraph use other names. A run is now an activity of its own, and
the question and each step are entities that derive one from another.
"""

_OLD_NAMES = (
    (
        "session, `urn:trustgraph:session:…`, an activity with the query",
        "`rag:Session` (same IRI, an activity) and `tg:Question`, `urn:trustgraph:question:…`",
    ),
    (
        "retrieval, `prov:wasGeneratedBy` session",
        "`tg:Grounding`, then `tg:Exploration`, each `prov:wasDerivedFrom` the step before",
    ),
    (
        "selection, `prov:wasDerivedFrom` retrieval",
        "`tg:Focus` with a `tg:EdgeSelection` for each edge",
    ),
    (
        "`tg:reasoning` of each selected edge",
        "`tg:concept` and `tg:score`; `tg:reasoning` where a model was asked for reasons",
    ),
    (
        "answer, `tg:content` or `tg:document`",
        "`tg:Synthesis`, which is a `tg:Answer`, with the same two",
    ),
    (
        "`tg:thought`, `tg:observation`, `tg:answer` as texts",
        "`tg:Thought`, `tg:Observation` and `tg:Conclusion` as nodes",
    ),
    ("collection `explainability`", "graph `urn:graph:retrieval` (setting `trace.graph`)"),
    (
        "a property `reifies` and a statement node",
        "`tg:contains` and, for each quote, `rag:Evidence` with `rdf:reifies`",
    ),
)


@dataclass(frozen=True, slots=True)
class TermRow:
    """One term of a vocabulary, as the page shows it.

    Attributes:
        term: prefixed name.
        kind: class, object, data or annotation.
        signature: superclasses of a class (`⊑ …`), domain → range of a property.
        comment: what it means, in English.
    """

    term: str
    kind: str
    signature: str
    comment: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary; `title` is Markdown."""

    title: str
    namespace: str
    introduction: str
    terms: tuple[TermRow, ...]


def terms(file: Path, namespace: str) -> list[TermRow]:
    """The terms that a Turtle file describes: classes first, then properties, each by name.

    Args:
        file: an ontology in Turtle 1.1.
        namespace: IRI that the terms begin with.
    """
    from rdflib import RDF, RDFS, Graph, URIRef

    graph = Graph().parse(file, format="turtle")
    rows = []
    for term, type_ in graph.subject_objects(RDF.type):
        kind = _KINDS.get(str(type_))
        if kind and isinstance(term, URIRef) and term.startswith(namespace):
            comment = str(graph.value(term, RDFS.comment) or "")
            rows.append(TermRow(_short(term), kind, _signature(graph, term, kind), comment))
    return sorted(rows, key=lambda row: (row.kind != "class", row.term.casefold(), row.term))


def vocabularies() -> list[Vocabulary]:
    """Those that we describe, with their terms."""
    home = folder("ontology")
    return [
        Vocabulary(title, namespace, introduction, tuple(terms(home / name, namespace)))
        for name, namespace, title, introduction in _VOCABULARIES
    ]


def page() -> str:
    """The whole page, in Markdown."""
    parts = [
        _INTRODUCTION,
        *(
            "\n".join(
                [f"## {vocabulary.title}", "", vocabulary.introduction, "", *_table(vocabulary.terms), ""]
            )
            for vocabulary in vocabularies()
        ),
    ]
    rows = [f"| {older} | {today} |" for older, today in _OLD_NAMES]
    parts.append("\n".join([_OLD_NAMES_INTRODUCTION, "| older | today |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


def _table(rows: Iterable[TermRow]) -> Iterator[str]:
    yield "| term | kind | domain → range | meaning |"
    yield "|---|---|---|---|"
    for row in rows:
        yield f"| `{row.term}` | {row.kind} | {row.signature} | {_cell(row.comment)} |"


def _signature(graph: Graph, term: Node, kind: str) -> str:
    from rdflib import OWL as OWL_TERMS
    from rdflib import RDFS

    if kind == "class":
        parents = sorted(_short(parent) for parent in graph.objects(term, RDFS.subClassOf))
        same = [
            _expression(graph, equivalent) for equivalent in graph.objects(term, OWL_TERMS.equivalentClass)
        ]
        return " ".join(
            ["⊑ " + ", ".join(parents)] * bool(parents) + ["≡ " + equivalent for equivalent in same]
        )
    domain, range_ = (_expression(graph, graph.value(term, p)) for p in (RDFS.domain, RDFS.range))
    inverse = graph.value(term, OWL_TERMS.inverseOf)
    return f"{domain} → {range_}" + (f" (inverse of {_short(inverse)})" if inverse else "")


def _expression(graph: Graph, node: Node | None) -> str:
    """A class or data range: a name, a union of names, or a bounded datatype."""
    from rdflib import OWL as OWL_TERMS
    from rdflib import BNode
    from rdflib.collection import Collection

    if node is None:
        return "…"
    if not isinstance(node, BNode):
        return _short(node)
    union = graph.value(node, OWL_TERMS.unionOf)
    if union is not None:
        return " ∪ ".join(_short(member) for member in Collection(graph, union))
    (facets,) = graph.objects(node, OWL_TERMS.withRestrictions)
    limits = [str(value) for facet in Collection(graph, facets) for value in graph.objects(facet)]
    bounds = "–".join(limits) if len(limits) > 1 else f"≥ {limits[0]}"
    return f"{_short(graph.value(node, OWL_TERMS.onDatatype))} {bounds}"


def _short(node: object) -> str:
    iri = str(node)
    for prefix, namespace in (PREFIXES | _OTHER_PREFIXES).items():
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return f"<{iri}>"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<<(", "`<<(").replace(")>>", ")>>`")
