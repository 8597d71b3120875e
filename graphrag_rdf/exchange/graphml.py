"""GraphML (graphml.graphdrawing.org, 1.0): entities as nodes, relations between them as edges, for programs
that draw graphs. Every node and edge has its IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO
from xml.sax.saxutils import escape

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.rdf.namespaces import RDF, RDFS, SKOS
from graphrag_rdf.rdf.terms import local_name, one_label, text_of
from graphrag_rdf.store.base import Store

_NAMES = frozenset({RDFS.label, SKOS.altLabel})
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REPLACED = "\ufffd"
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="label" for="all" attr.name="label" attr.type="string"/>
  <key id="iri" for="all" attr.name="iri" attr.type="string"/>
  <key id="type" for="node" attr.name="type" attr.type="string"/>
  <key id="canonical" for="node" attr.name="canonical" attr.type="string"/>
  <graph id="facts" edgedefault="directed">
"""
_TAIL = "  </graph>\n</graphml>\n"


def write_graphml(store: Store, facts: Iterable[Quad], output: IO[bytes]) -> tuple[int, int, int]:
    """Write entities and relations.

    Args:
        facts: the quads of the graph of facts.

    Returns:
        (entities, relations, facts left out because their object is not an entity)
    """
    labels = {row["thing"]: text_of(row["label"]) for row in one_label(store.select("exchange/labels"))}
    types: dict[object, str] = {}
    for row in store.select("exchange/types"):
        types.setdefault(row["entity"], text_of(row["label"]))
    output.write(_HEAD.encode())
    nodes: dict[object, str] = {}
    for row in store.select("exchange/entities"):
        entity = row["entity"]
        nodes[entity] = f"n{len(nodes)}"
        canonical = "" if row["canonical"] == entity else text_of(row["canonical"])
        data = {
            "label": labels.get(entity, local_name(text_of(entity))),
            "iri": text_of(entity),
            "type": types.get(entity, ""),
            "canonical": canonical,
        }
        output.write(f'    <node id="{nodes[entity]}">{_data(data)}</node>\n'.encode())
    relations = left_out = 0
    for quad in facts:
        s, p, o = quad.subject, quad.predicate, quad.object
        if s not in nodes or p in _NAMES or p == RDF.type:
            continue
        if o not in nodes:
            left_out += 1
            continue
        data = {"label": labels.get(p, _readable(p)), "iri": p.value}
        ends = f'source="{nodes[s]}" target="{nodes[o]}"'
        output.write(f'    <edge id="e{relations}" {ends}>{_data(data)}</edge>\n'.encode())
        relations += 1
    output.write(_TAIL.encode())
    return len(nodes), relations, left_out


def _data(values: dict[str, str]) -> str:
    return "".join(
        f'<data key="{key}">{escape(_NOT_XML.sub(_REPLACED, value))}</data>'
        for key, value in values.items()
        if value
    )


def _readable(predicate: NamedNode) -> str:
    return local_name(predicate.value).replace("-", " ")
