"""Traces for elsewhere: RDF, PROV-N, PROV-JSON, PROV-XML, and a page for people.

With its sources a trace is complete: whoever has the file can walk from the answer to the characters that
it rests on without our store. PROV-N, PROV-JSON and PROV-XML map the triples of a trace and its sources
property by property; what has no place in PROV-DM becomes an attribute. References: PROV-DM and PROV-N (W3C
Recommendations, 30 April 2013), PROV-JSON (W3C Member Submission, 24 April 2013), PROV-XML (W3C Note, 30
April 2013).
"""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.formats import NOT_XML
from graphrag_rdf.rdf.jsonld import write_jsonld
from graphrag_rdf.rdf.namespaces import DCTERMS, PREFIXES, PROV, RAG, RDF, XSD, Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.render import Dialect, encode
from graphrag_rdf.sparql.star import write_star
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.vocabularies import vocabulary_context
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.reader import order_of, read_trace, trace_quads

TraceFormat: TypeAlias = Choice["trig", "turtle", "nquads", "jsonld", "prov-n", "prov-json", "provx", "html"]
FORMATS: tuple[TraceFormat, ...] = get_args(TraceFormat)
_IN_DIALECTS = {"trig": RdfFormat.TRIG, "turtle": RdfFormat.TURTLE, "nquads": RdfFormat.N_QUADS}


def export_trace(
    store: Store,
    blobs: BlobStore,
    iri: NamedNode | str,
    format: TraceFormat,  # noqa: A002
    *,
    with_sources: bool = True,
    dialect: Dialect = "rdf12",
) -> str:
    """A trace as text in one of `FORMATS`.

    Args:
        iri: the session.
        blobs: where long answers are (`html` only).
        format: `turtle` merges the named graphs, which `trig` and `nquads` keep.
        with_sources: also the evidence, subgraphs, activities, agents, chunks, pages, documents and versions
            that the trace rests on (`html` always shows them), and the decisions about its facts.
        dialect: of triple terms in RDF; `jsonld` is always `classic`.

    Raises:
        UsageError: when there is no such trace or format, or the format has no dialects.
    """
    session = NamedNode(iri) if isinstance(iri, str) else iri
    if format not in FORMATS:
        raise UsageError(
            tr("a trace cannot be written as {format!r}").format(format=format),
            hint=tr("formats: {formats}").format(formats=", ".join(FORMATS)),
        )
    if dialect != "rdf12" and format not in _IN_DIALECTS:
        raise UsageError(
            tr("{format} has no dialects of RDF").format(format=format),
            hint=tr("use --dialect with one of: {in_dialects}").format(in_dialects=", ".join(_IN_DIALECTS)),
        )
    trace = read_trace(store, session, blobs)
    if format == "html":
        return render_page(store, trace)
    quads = trace_quads(store, session, with_sources=with_sources)
    if dialect == "rdf-star":
        written = io.BytesIO()
        write_star(quads if format != "turtle" else _merged(quads), written, _IN_DIALECTS[format])
        return _text(written.getvalue())
    return _WRITERS[format](list(encode(quads, dialect)))


def _trig(quads: list[Quad]) -> str:
    return _text(serialize(quads, format=RdfFormat.TRIG, prefixes=_used(quads)))


def _turtle(quads: list[Quad]) -> str:
    return _text(serialize(_merged(quads), format=RdfFormat.TURTLE, prefixes=_used(quads)))


def _merged(quads: Iterable[Quad]) -> list[Triple]:
    merged = {Quad(quad.subject, quad.predicate, quad.object) for quad in quads}
    return [quad.triple for quad in sorted(merged, key=order_of)]


def _json_ld(quads: list[Quad]) -> str:
    written = io.BytesIO()
    classic: list[Quad] = sorted(encode(quads, "classic"), key=order_of)
    write_jsonld(classic, written, vocabulary_context())
    return _text(written.getvalue())


def _nquads(quads: list[Quad]) -> str:
    return _text(serialize(quads, format=RdfFormat.N_QUADS))


def _text(data: bytes | None) -> str:
    return (data or b"").decode()


def _used(quads: list[Quad]) -> dict[str, str]:
    """The prefixes that the quads use."""
    text = "\n".join(map(str, quads))
    return {name: iri for name, iri in PREFIXES.items() if f"<{iri}" in text}


_INSTANCES: Mapping[str, str] = {
    "run": "urn:trustgraph:",
    "chunk": "urn:chunk:",
    "page": "urn:page:",
    "version": "urn:version:",
    "evidence": "urn:evidence:",
    "sha256": "urn:sha256:",
    "doc": "https://trustgraph.ai/doc/",
    "subgraph": "https://trustgraph.ai/subgraph/",
    "activity": "https://trustgraph.ai/activity/",
    "agent": "https://trustgraph.ai/agent/",
}

# property → (relation, PROV-JSON keys of subject and object, subtype)
_RELATIONS: Mapping[NamedNode, tuple[str, str, str, str | None]] = {
    PROV.wasGeneratedBy: ("wasGeneratedBy", "entity", "activity", None),
    PROV.wasDerivedFrom: ("wasDerivedFrom", "generatedEntity", "usedEntity", None),
    PROV.wasQuotedFrom: ("wasDerivedFrom", "generatedEntity", "usedEntity", "prov:Quotation"),
    PROV.used: ("used", "activity", "entity", None),
    PROV.wasAssociatedWith: ("wasAssociatedWith", "activity", "agent", None),
    PROV.wasAttributedTo: ("wasAttributedTo", "entity", "agent", None),
    PROV.wasInformedBy: ("wasInformedBy", "informed", "informant", None),
    PROV.specializationOf: ("specializationOf", "specificEntity", "generalEntity", None),
    RAG.cites: ("wasDerivedFrom", "generatedEntity", "usedEntity", "rag:cites"),
    RAG.supportedBy: ("wasDerivedFrom", "generatedEntity", "usedEntity", "rag:supportedBy"),
    RAG.usedChunk: ("wasDerivedFrom", "generatedEntity", "usedEntity", "rag:usedChunk"),
    RAG.usedOrigin: ("wasDerivedFrom", "generatedEntity", "usedEntity", "rag:usedOrigin"),
    RAG.selectedSentence: ("wasDerivedFrom", "generatedEntity", "usedEntity", "rag:selectedSentence"),
    RAG.sentenceOf: ("wasDerivedFrom", "generatedEntity", "usedEntity", "rag:sentenceOf"),
    RAG.continues: ("wasInformedBy", "informed", "informant", "rag:continues"),
    RAG.replayOf: ("wasInformedBy", "informed", "informant", "rag:replayOf"),
    RAG.foundByLookUp: ("wasDerivedFrom", "generatedEntity", "usedEntity", "rag:foundByLookUp"),
    RAG.call: ("wasInfluencedBy", "influencee", "influencer", "rag:call"),
    DCTERMS.isPartOf: ("hadMember", "entity", "collection", None),
}
_MEMBER = ("hadMember", "collection", "entity", None)
"""What links a step to its items, and an item to its parts, whatever the kind."""
_REVERSED = {DCTERMS.isPartOf}
_BARE = {"hadMember", "specializationOf"}  # relations that PROV-N gives neither identifier nor attributes
_THIRD = {"wasGeneratedBy", "used", "wasAssociatedWith"}
_ACTIVITIES = {PROV.Activity, RAG.Session}
_AGENTS = {PROV.Agent, PROV.SoftwareAgent}
_TIMES = {PROV.startedAtTime: "startTime", PROV.endedAtTime: "endTime"}


@dataclass(slots=True)
class _Thing:
    kind: str = "entity"
    times: dict[str, str] = field(default_factory=dict)
    attributes: list[tuple[str, Term]] = field(default_factory=list)


@dataclass(slots=True)
class _Relation:
    name: str
    keys: tuple[str, str]
    ends: tuple[str, str]
    subtype: str | None
    time: str | None = None


class _Document:
    """Things and relations, in the order of their IRIs."""

    def __init__(self, quads: Iterable[Quad]) -> None:
        self.things: dict[str, _Thing] = defaultdict(_Thing)
        self.relations: list[_Relation] = []
        facts = sorted(
            (quad for quad in quads if isinstance(quad.subject, NamedNode)),
            key=lambda quad: (str(quad.subject), str(quad.predicate), str(quad.object)),
        )
        times = {quad.subject: quad.object for quad in facts if quad.predicate == PROV.generatedAtTime}
        of_traces = {quad.subject for quad in facts if quad.graph_name == Graphs.RETRIEVAL}
        of_runs = {quad.subject for quad in facts if quad.predicate == PROV.wasGeneratedBy}
        self._items = (
            of_traces - of_runs - {quad.object for quad in facts if quad.predicate == PROV.wasGeneratedBy}
        )
        for quad in facts:
            self._add(quad, times)
        for relation in self.relations:
            for end in relation.ends:
                self.things.setdefault(end, _Thing())
            self._type_ends(relation)

    def _add(self, quad: Quad, times: Mapping[Any, Any]) -> None:
        subject, predicate, value = quad.subject, quad.predicate, quad.object
        assert isinstance(subject, NamedNode)  # noqa: S101
        thing = self.things[subject.value]
        relation = _RELATIONS.get(predicate) or (_MEMBER if value in self._items else None)
        if relation is not None and isinstance(value, NamedNode):
            name, first, second, subtype = relation
            ends, keys = (subject.value, value.value), (first, second)
            if predicate in _REVERSED:
                ends, keys = ends[::-1], keys[::-1]
            at = times.get(subject) if name == "wasGeneratedBy" else None
            self.relations.append(_Relation(name, keys, ends, subtype, at.value if at else None))
            return
        if predicate in _TIMES and isinstance(value, Literal):
            thing.times[_TIMES[predicate]] = value.value
            return
        if predicate == RDF.type:
            thing.kind = "activity" if value in _ACTIVITIES else "agent" if value in _AGENTS else thing.kind
        thing.attributes.append((_attribute(predicate), value))

    def _type_ends(self, relation: _Relation) -> None:
        """What stands at the activity or agent end of a relation is one."""
        for key, end in zip(relation.keys, relation.ends, strict=True):
            if key in ("activity", "informed", "informant"):
                self.things[end].kind = "activity"
            elif key == "agent":
                self.things[end].kind = "agent"


def to_prov_n(quads: Iterable[Quad]) -> str:
    """A PROV-N document (PROV-N §3)."""
    prov = _Document(quads)
    lines = ["document"]
    lines += [f"  prefix {name} <{iri}>" for name, iri in _prefixes().items() if name not in ("prov", "xsd")]
    for iri, thing in sorted(prov.things.items(), key=lambda item: (item[1].kind, item[0])):
        parts = [_escaped(iri)]
        if thing.kind == "activity":
            parts += [thing.times.get("startTime", "-"), thing.times.get("endTime", "-")]
        attributes = [f"{name}={_prov_n_value(name, value)}" for name, value in thing.attributes]
        lines.append(f"  {thing.kind}({', '.join(parts)}{_bracketed(attributes)})")
    for relation in prov.relations:
        parts = [_escaped(end) for end in relation.ends]
        if relation.name in _THIRD:  # a time or plan, which is either given or marked as unknown
            parts.append(relation.time or "-")
        typed = [f"prov:type='{relation.subtype}'"] if relation.subtype and relation.name not in _BARE else []
        lines.append(f"  {relation.name}({', '.join(parts)}{_bracketed(typed)})")
    return "\n".join([*lines, "endDocument", ""])


def to_prov_json(quads: Iterable[Quad]) -> str:
    """A PROV-JSON document."""
    prov = _Document(quads)
    out: dict[str, Any] = {"prefix": _prefixes()}
    for iri, thing in sorted(prov.things.items()):
        attributes: dict[str, Any] = {f"prov:{name}": time for name, time in thing.times.items()}
        grouped: dict[str, list[Any]] = defaultdict(list)
        for name, value in thing.attributes:
            grouped[name].append(_json_value(name, value))
        attributes |= {name: values[0] if len(values) == 1 else values for name, values in grouped.items()}
        out.setdefault(thing.kind, {})[_qualified(iri)] = attributes
    for number, relation in enumerate(prov.relations):
        ends = zip(relation.keys, relation.ends, strict=True)
        body: dict[str, Any] = {f"prov:{key}": _qualified(end) for key, end in ends}
        if relation.time:
            body["prov:time"] = relation.time
        if relation.subtype:
            body["prov:type"] = {"$": relation.subtype, "type": "prov:QUALIFIED_NAME"}
        out.setdefault(relation.name, {})[f"_:r{number}"] = body
    return json.dumps(out, ensure_ascii=False, indent=2) + "\n"


def to_prov_xml(quads: Iterable[Quad]) -> str:
    """A PROV-XML document, with the qualified names of `to_prov_json`.

    Raises:
        UsageError: for a predicate without a local name.
    """
    from lxml import etree

    def element(parent: Any, namespace: str, local: str, **attributes: str) -> Any:
        return etree.SubElement(
            parent, etree.QName(namespace, local), {_PROV + k: v for k, v in attributes.items()}
        )

    prov = _Document(quads)
    root = etree.Element(etree.QName(PREFIXES["prov"], "document"), nsmap={**_prefixes(), "xsi": _XSI})
    for iri, thing in sorted(prov.things.items()):
        node = element(root, PREFIXES["prov"], thing.kind, id=_qualified(iri))
        for name in ("startTime", "endTime"):
            if name in thing.times:
                element(node, PREFIXES["prov"], name).text = thing.times[name]
        for name, value in sorted(
            thing.attributes, key=lambda pair: _XML_ORDER.get(pair[0], len(_XML_ORDER))
        ):
            _xml_value(element(node, *_xml_name(name)), name, value)
    for relation in prov.relations:
        node = element(root, PREFIXES["prov"], relation.name)
        for key, end in zip(relation.keys, relation.ends, strict=True):
            element(node, PREFIXES["prov"], key, ref=_qualified(end))
        if relation.time:
            element(node, PREFIXES["prov"], "time").text = relation.time
        if relation.subtype:
            kind = element(node, PREFIXES["prov"], "type")
            kind.text = relation.subtype
            kind.set(f"{{{_XSI}}}type", "xsd:QName")
    return _text(etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True))


_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_PROV = f"{{{PREFIXES['prov']}}}"
_XML_ORDER = {"prov:label": 0, "prov:type": 1}
_XML_LOCAL = re.compile(r"[^\W\d][\w.-]*\Z")


def _xml_name(name: str) -> tuple[str, str]:
    prefix, _, local = name.partition(":")
    iri = f"{_prefixes()[prefix]}{local}"
    match = _XML_LOCAL.search(iri)
    if match is None or not match.start():
        raise UsageError(
            tr("PROV-XML cannot express the predicate {iri}").format(iri=iri),
            hint=tr("use prov-json or prov-n"),
        )
    return iri[: match.start()], match.group()


def _xml_value(node: Any, name: str, value: Term) -> None:
    """The text of an attribute, and its type where that is not a string."""
    kind = ""
    if isinstance(value, NamedNode):
        node.text = _qualified(value.value) if _is_name(name, value) else value.value
        kind = "xsd:QName" if _is_name(name, value) else "xsd:anyURI"
    elif isinstance(value, Literal):
        node.text = NOT_XML.sub("\ufffd", value.value)
        if value.language:
            node.set("{http://www.w3.org/XML/1998/namespace}lang", value.language)
        elif value.datatype != XSD.string:
            kind = _qualified(value.datatype.value)
    else:
        node.text = NOT_XML.sub("\ufffd", f"<<( {value} )>>")
    if kind:
        node.set(f"{{{_XSI}}}type", kind)


# --- names and values ------------------------------------------------------------------------------

_NAMESPACES = tuple(sorted({**PREFIXES, **_INSTANCES}.items(), key=lambda item: len(item[1]), reverse=True))
# PROV-N §3.7.1: what may stand in a local name bare, and what with a backslash before it
_LOCAL_BARE = re.compile(r"[^\W]|[-/@~&+*?#$!%_.]")
_LOCAL_ESCAPED = frozenset("='(),-:;[].")


def _prefixes() -> dict[str, str]:
    return {**PREFIXES, **_INSTANCES, "iri": "urn:"} | {"http": "http:", "https": "https:", "file": "file:"}


def _parts(iri: str) -> tuple[str, str]:
    for name, base in _NAMESPACES:
        if iri.startswith(base) and len(iri) > len(base):
            return name, iri[len(base) :]
    scheme, _, path = iri.partition(":")
    return ("iri" if scheme == "urn" else scheme), path


def _qualified(iri: str) -> str:
    name, local = _parts(iri)
    return f"{name}:{local}"


def _escaped(iri: str) -> str:
    """A qualified name as PROV-N spells it."""
    name, local = _parts(iri)
    out = []
    for position, letter in enumerate(local):
        edge = position in (0, len(local) - 1)
        if letter in _LOCAL_ESCAPED and (letter not in "-." or edge):
            out.append("\\" + letter)
        elif _LOCAL_BARE.match(letter):
            out.append(letter)
        else:
            out.append("".join(f"%{byte:02X}" for byte in letter.encode()))
    return f"{name}:{''.join(out)}"


def _attribute(predicate: NamedNode) -> str:
    if predicate == RDF.type:
        return "prov:type"
    return "prov:label" if predicate == _LABEL else _qualified(predicate.value)


_LABEL = NamedNode(PREFIXES["rdfs"] + "label")


def _is_name(name: str, value: Term) -> bool:
    """Types, and only they, are given as qualified names; other IRIs as xsd:anyURI."""
    return name == "prov:type" and isinstance(value, NamedNode)


def _prov_n_value(name: str, value: Term) -> str:
    if isinstance(value, NamedNode):
        if _is_name(name, value):
            return f"'{_escaped(value.value)}'"
        return f'"{_quoted(value.value)}" %% xsd:anyURI'
    if isinstance(value, Literal):
        text = f'"{_quoted(value.value)}"'
        if value.language:
            return f"{text}@{value.language}"
        return text if value.datatype == XSD.string else f"{text} %% {_escaped(value.datatype.value)}"
    return f'"{_quoted(f"<<( {value} )>>")}"'


def _json_value(name: str, value: Term) -> Any:
    if isinstance(value, NamedNode):
        if _is_name(name, value):
            return {"$": _qualified(value.value), "type": "prov:QUALIFIED_NAME"}
        return {"$": value.value, "type": "xsd:anyURI"}
    if isinstance(value, Literal):
        if value.language:
            return {"$": value.value, "lang": value.language}
        if value.datatype == XSD.string:
            return value.value
        return {"$": value.value, "type": _qualified(value.datatype.value)}
    return f"<<( {value} )>>"


def _quoted(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
    return "".join(escapes.get(letter, letter) for letter in text)


def _bracketed(attributes: Sequence[str]) -> str:
    return f", [{', '.join(attributes)}]" if attributes else ""


_WRITERS: Mapping[str, Callable[[list[Quad]], str]] = {
    "trig": _trig,
    "turtle": _turtle,
    "nquads": _nquads,
    "prov-n": to_prov_n,
    "prov-json": to_prov_json,
    "provx": to_prov_xml,
    "jsonld": _json_ld,
}
