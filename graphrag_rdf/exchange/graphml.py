"""GraphML (graphml.graphdrawing.org, 1.0), for programs that draw graphs.

Entities are nodes, relations between them are edges, and values of entities are attributes of nodes. Every
node and edge has its IRI. A node has one attribute for each property. Several values are one text, joined by
"; ". The weight of an edge is what an import gave, else the number of its quotes. Entities that co-occur have
an edge too, with the number of sentences that name both as its weight, and one of these sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.ingest.entity_graph import sentences_of_pairs
from graphrag_rdf.rdf.formats import NOT_XML
from graphrag_rdf.rdf.namespaces import NO_FACTS, RAG, XSD
from graphrag_rdf.rdf.terms import Term, local_name, node_of, one_label, text_of
from graphrag_rdf.store.base import Store, in_batches

Fact: TypeAlias = tuple[Term, Term, Term]
_REPLACED = "\ufffd"
_JOIN = "; "
_OWN = (
    ("label", "all", "string"),
    ("iri", "all", "string"),
    ("type", "node", "string"),
    ("canonical", "node", "string"),
    ("weight", "edge", "double"),
    ("description", "edge", "string"),
    ("sentence", "edge", "string"),
)
"""Attributes of every graph: name, of what, type."""
_KINDS: Mapping[str, str] = {
    XSD.integer.value: "long",
    XSD.decimal.value: "double",
    XSD.double.value: "double",
    XSD.float.value: "double",
    XSD.boolean.value: "boolean",
}
"""Datatype → type of the attribute; "string" for others."""
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
_TAIL = "  </graph>\n</graphml>\n"


def write_graphml(store: Store, facts: Iterable[Quad], output: IO[bytes]) -> tuple[int, int, int, int]:
    """Write entities, relations, values and co-occurrences.

    Args:
        facts: the quads of the graph of facts.

    Returns:
        (entities, relations and co-occurrences, values, facts left out because their object is neither an
        entity nor a value)
    """
    labels = {row["thing"]: row["label"].value for row in one_label(store.select("exchange/labels"))}
    keys = _Keys(store, labels)
    output.write(f'{_HEAD}{keys.declared()}  <graph id="facts" edgedefault="directed">\n'.encode())
    values = keys.values(store)
    nodes = _write_nodes(store, labels, values, output)
    relations = left_out = 0

    def edges() -> Iterator[Fact]:
        nonlocal left_out
        for quad in facts:
            s, p, o = quad.subject, quad.predicate, quad.object
            if s in nodes and p not in NO_FACTS and not isinstance(o, Literal):
                left_out += o not in nodes
                if o in nodes:
                    yield s, p, o

    for batch in in_batches(edges()):
        details = _details(store, batch)
        for s, p, o in batch:
            relation = node_of(p)
            name = {"label": labels.get(p, _readable(relation)), "iri": relation.value}
            data = {**name, **details.get((s, p, o), {})}
            ends = f'source="{nodes[s]}" target="{nodes[o]}"'
            output.write(f'    <edge id="e{relations}" {ends}>{_data(data)}</edge>\n'.encode())
            relations += 1
    for data, one, other in _co_occurrences(store, nodes):
        ends = f'source="{nodes[one]}" target="{nodes[other]}" directed="false"'
        output.write(f'    <edge id="e{relations}" {ends}>{_data(data)}</edge>\n'.encode())
        relations += 1
    output.write(_TAIL.encode())
    return len(nodes), relations, keys.count, left_out


def _co_occurrences(
    store: Store, nodes: Mapping[Term, str]
) -> Iterator[tuple[dict[str, str], NamedNode, NamedNode]]:
    """Pairs of entities with the attributes of their edges."""
    name = {"label": "co-occurs with", "iri": RAG.coOccursWith.value}
    for batch in in_batches(nodes):
        found = {
            (row["one"], row["other"]): row["count"].value
            for row in store.select("derived/known-pairs", entities=batch, every=True, pairs=[])
            if row["other"] in nodes
        }
        sentences = sentences_of_pairs(store, [*found])
        for pair in sorted(found, key=str):
            yield {**name, "weight": found[pair], "sentence": sentences.get(pair, "")}, *pair


def _details(store: Store, edges: Sequence[Fact]) -> dict[Fact, dict[str, str]]:
    """Weight and description of facts, as attributes."""
    details: dict[Fact, dict[str, str]] = {}
    for row in store.select("exchange/relation-weights", edges=edges):
        weight = row["given"] or row["quotes"]
        details[row["s"], row["p"], row["o"]] = {"weight": f"{weight:g}"} if weight else {}
    for row in store.select("derived/fact-descriptions", edges=edges):
        own = details.setdefault((row["s"], row["p"], row["o"]), {})
        text = row["text"]
        own["description"] = f"{own['description']}{_JOIN}{text}" if "description" in own else text
    return details


class _Keys:
    """The attributes of nodes that stand for properties.

    Attributes:
        count: number of values, as soon as they have been read.
    """

    def __init__(self, store: Store, labels: Mapping[Term, str]) -> None:
        self._names: dict[Term, tuple[str, str]] = {}  # property → name, type
        self.count = 0
        taken = {name for name, *_ in _OWN}
        for row in store.select("exchange/literal-properties"):
            p = row["property"]
            name = labels.get(p, _readable(p))
            name = name if name not in taken else p.value
            taken.add(name)
            single = row["most"] == 1 and row["first"] == row["last"]
            self._names[p] = (name, _KINDS.get(row["first"], "string") if single else "string")
        self._ids = {p: f"p{number}" for number, p in enumerate(self._names)}

    def declared(self) -> str:
        """The declarations of all attributes."""
        own = [_key(name, of, name, kind) for name, of, kind in _OWN]
        return "".join([*own, *(_key(self._ids[p], "node", *named) for p, named in self._names.items())])

    def values(self, store: Store) -> dict[Term, dict[str, str]]:
        """Entity → id of an attribute → its value."""
        found: dict[Term, dict[str, str]] = {}
        for row in store.select("exchange/literals"):
            own, key = found.setdefault(row["entity"], {}), self._ids[row["property"]]
            own[key] = f"{own[key]}{_JOIN}{row['value']}" if key in own else row["value"]
            self.count += 1
        return found


def _write_nodes(
    store: Store, labels: Mapping[Term, str], values: Mapping[Term, dict[str, str]], output: IO[bytes]
) -> dict[Term, str]:
    """Write the nodes; entity → id."""
    types: dict[Term, list[str]] = {}
    for row in store.select("exchange/types"):
        types.setdefault(row["entity"], []).append(row["label"])
    nodes: dict[Term, str] = {}
    for row in store.select("exchange/entities"):
        entity = row["entity"]
        nodes[entity] = f"n{len(nodes)}"
        data = {
            "label": labels.get(entity, local_name(text_of(entity))),
            "iri": text_of(entity),
            "type": _JOIN.join(dict.fromkeys(types.get(entity, ()))),
            "canonical": "" if row["canonical"] == entity else row["canonical"].value,
            **values.get(entity, {}),
        }
        output.write(f'    <node id="{nodes[entity]}">{_data(data)}</node>\n'.encode())
    return nodes


def _key(id_: str, of: str, name: str, kind: str) -> str:
    shown = quoteattr(NOT_XML.sub(_REPLACED, name))
    return f'  <key id="{id_}" for="{of}" attr.name={shown} attr.type="{kind}"/>\n'


def _data(values: Mapping[str, str]) -> str:
    return "".join(
        f'<data key="{key}">{escape(NOT_XML.sub(_REPLACED, value))}</data>'
        for key, value in values.items()
        if value
    )


def _readable(predicate: NamedNode) -> str:
    return local_name(predicate.value).replace("-", " ")
