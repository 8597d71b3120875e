"""The one message type of a run: on the command line, over HTTP, in Python.

The fields of TrustGraph's GraphRagResponse, plus ours. Order of a run: session, question, grounding,
exploration, focus (explain) → answer (chunk)… → synthesis (explain) → final (chunk, `end_of_session`).
An explain message carries its step's triples, which are in the store before the message is seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.i18n import bracketed, later, listed, own_label, tr
from graphrag_rdf.rdf.namespaces import RDF, RDFS
from graphrag_rdf.rdf.terms import Term, from_sparql_json, text_of, to_sparql_json
from graphrag_rdf.rdf.wording import between
from graphrag_rdf.trace.kinds import ItemKind, Node, NodeKind, node_kinds, properties, value_of

_SHOWN, _LETTERS = 5, 60
"""Items of a list that a summary names, and letters of a value in it."""


@dataclass(frozen=True, slots=True)
class GraphRagResponse:
    """One message of a run.

    Attributes:
        message_type: `explain` or `chunk`.
        kind: what the message is about: session, question, a kind of step, answer, final, error; of agents
            also thought, action, observation.
        response: text of the answer (a piece of it when streaming), or what an agent says on the way.
        explain_id: IRI of the step; the root of `explain_triples`.
        explain_graph: the named graph that holds them.
        explain_triples: the step's triples.
        message_id: number of the message in the run that was asked for, from 0, as text.
        run: the session of a run that a step started, of its explain messages; None of the run itself.
        label, summary: of the step, for people; None: from what its kind declares.
        in_token, out_token, model: of the step or, on the final message, of the run; None when unknown.
        answer: on the final message, the answer as `ask --format json` prints it.
        error: `{"type", "message"}` when the run failed; with `hint`, and `kind` of a failure of the
            model, where known.
    """

    message_type: str
    kind: str
    message_id: str
    response: str = ""
    end_of_stream: bool = False
    end_of_session: bool = False
    explain_id: str | None = None
    explain_graph: str | None = None
    explain_triples: tuple[Quad, ...] = ()
    label: str | None = None
    summary: str | None = None
    in_token: int | None = None
    out_token: int | None = None
    model: str | None = None
    answer: dict[str, Any] | None = None
    run: str | None = None
    error: dict[str, str] | None = field(default=None)

    def json_object(self) -> dict[str, Any]:
        """The message as plain data; triples as `{s, p, o, g}` of SPARQL-results-JSON terms."""
        out: dict[str, Any] = {
            "message_type": self.message_type,
            "kind": self.kind,
            "message_id": self.message_id,
            "response": self.response,
            "end_of_stream": self.end_of_stream,
            "end_of_session": self.end_of_session,
            "explain_id": self.explain_id,
            "explain_graph": self.explain_graph,
            "explain_collection": self.explain_graph,
            "explain_triples": [quad_json(quad) for quad in self.explain_triples],
            "error": self.error,
        }
        if self.explain_id is not None:
            label, summary = _told(NamedNode(self.explain_id), self.explain_triples)
            out |= {"label": self.label or label, "summary": self.summary or summary}
        optional = {name: getattr(self, name) for name in ("in_token", "out_token", "model", "run")}
        out |= {key: value for key, value in optional.items() if value is not None}
        if self.answer is not None:
            out["answer"] = self.answer
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GraphRagResponse:
        """The reverse of `to_json`; keys that are not known yet are left out.

        Raises:
            ValueError: when it is no message.
        """
        missing = [name for name in ("message_type", "kind", "message_id") if name not in data]
        if missing:
            raise ValueError(f"the message has no {', '.join(missing)}")
        values = {name: data[name] for name in cls.__slots__ if name in data}
        try:
            values["explain_triples"] = tuple(map(_quad, data.get("explain_triples") or ()))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the message has triples that are none: {error!r}") from None
        return cls(**values)


def _told(iri: NamedNode, quads: Sequence[Quad]) -> tuple[str, str]:
    """The label of a node of a trace, and its values and items in words, as its kind declares them."""
    nodes: defaultdict[NamedNode, defaultdict[NamedNode, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for quad in quads:
        nodes[quad.subject][quad.predicate].append(quad.object)  # type: ignore[index]
    node = nodes[iri]
    label = next((text_of(text) for text in node[RDFS.label]), "")
    kind = next((kind for rdf_type, kind in node_kinds().items() if rdf_type in node[RDF.type]), None)
    parts = [] if kind is None else [*_items(kind, nodes, node), *_values(kind, node)]
    return tr(own_label(label)), tr("; ").join(parts)


def _items(kind: NodeKind, nodes: Mapping[NamedNode, Node], node: Node) -> Iterator[str]:
    """The number of items in each list, and the words of the first where they have any."""
    for key in dict.fromkeys(item_kind.key for item_kind in kind.items):
        alike = [item_kind for item_kind in kind.items if item_kind.key == key]
        links = {item_kind.link: item_kind for item_kind in alike}
        pairs = [(item, item_kind) for link, item_kind in links.items() for item in node.get(link, ())]
        if not pairs:
            continue
        # items that are terms of hits have no node with words
        nodes_of = [(item, item_kind) for item, item_kind in pairs[:_SHOWN] if not item_kind.of_terms]
        words = dict.fromkeys(_words(item_kind, nodes[item]) for item, item_kind in nodes_of)  # type: ignore[index]
        shown = [*filter(None, words), *(["…"] if len(pairs) > _SHOWN else [])]
        shown_words = bracketed(listed(shown)) if any(words) else ""
        yield tr("{name}: {told}").format(name=_name(key), told=f"{len(pairs)}{shown_words}")


def _words(kind: ItemKind, node: Node) -> str:
    """The first short text of an item that is of the documents or the question; empty without one."""
    values = (
        node.get(property_.predicate, ()) for property_ in properties(kind.make).values() if property_.words
    )
    texts = (text_of(value) for terms in values for value in terms if isinstance(value, Literal))
    return next((text for text in texts if len(text) <= _LETTERS), "")


def _values(kind: NodeKind, node: Node) -> Iterator[str]:
    for declared in kind.fields:
        values = [value_of(value) for value in node.get(declared.predicate, ())]
        if values:
            value = declared.read(values) if declared.read is not None else values[0]
            if isinstance(value, str | int | float) and len(text := str(value)) <= _LETTERS:
                yield tr("{name}: {told}").format(name=_name(declared.key), told=text)


def _name(key: str) -> str:
    return tr(_NAMES.get(key) or key.replace("_", " "))


_NAMES = {"left_out": later("omitted"), "passages": later("chunks")}


DOUBT = "uncertain_answer"
"""The warning that belongs right below the answer."""


def doubts(answer: Mapping[str, Any]) -> list[str]:
    """What makes an answer uncertain, as in the last message."""
    return [warning["detail"] for warning in answer["warnings"] if warning["type"] == DOUBT]


SOURCES_SHOWN = 5
"""Sources of a marker that are shown to people; the answer has all."""

CitedSource: TypeAlias = tuple[Mapping[str, Any] | None, Mapping[str, Any]]
"""The fact of a citation, None for a sentence or chunk, and one of its sources."""


def sources_by_marker(answer: Mapping[str, Any]) -> dict[str, list[CitedSource]]:
    """The sources of an answer by the markers that lead to them, each source of a marker once.

    Args:
        answer: as in the last message.
    """
    by_marker: dict[str, dict[tuple[object, ...], CitedSource]] = {}
    for citation in answer["citations"]:
        edge, own = citation.get("edge"), by_marker.setdefault(citation["marker"], {})
        for source in citation["sources"]:
            words = source["quote"] or (edge and (edge["s"], edge["p"], edge["o_label"]))
            own.setdefault((source["document"], source["page_number"], words), (edge, source))
    return {marker: [*own.values()] for marker, own in by_marker.items()}


def source_in_words(source: Mapping[str, Any], edge: Mapping[str, Any] | None = None) -> str:
    """A source as a line for people: the document, the page or place in it, and the quote or the fact.

    Args:
        source: as `sources_by_marker` gives it.
        edge: the fact of the citation, to be named where the source has no quote.
    """
    name, quote = source.get("name") or source["title"], source.get("quote")
    if source.get("page_number"):
        name = tr("{title}, page {page}").format(title=name, page=source["page_number"])
    elif not quote and source.get("char_offset") is not None and source.get("char_length"):
        first = source["char_offset"]
        place = tr("{name}, characters {first:,}–{last:,}")
        name = place.format(name=name, first=first, last=first + source["char_length"])
    if source.get("authority") is not None:
        name = tr("{name}, authority {authority:g}").format(name=name, authority=source["authority"])
    fact = _fact_in_words(edge) if edge else ""
    if quote and edge and edge.get("description"):
        return tr("{name}: {fact} (described by an import, from “{quote}”)").format(
            name=name, fact=fact, quote=quote
        )
    if quote:
        doubt = (
            "" if source.get("verified", True) else tr(" (this quote was not found in the document's text)")
        )
        return tr("{name}: “{quote}”{doubt}").format(name=name, quote=quote, doubt=doubt)
    if edge:
        return tr("{name}: {fact} (a fact, not a quotation)").format(name=name, fact=fact)
    return str(name)


def passage_place(passage: Mapping[str, Any]) -> str:
    """Where a passage of an answer stands: the document, the headings above it, the page, its authority."""
    name = " › ".join([passage["name"], *passage["headings"]])
    if passage["page_number"]:
        name = tr("{title}, page {page}").format(title=name, page=passage["page_number"])
    if passage.get("authority") is not None:
        name = tr("{name}, authority {authority:g}").format(name=name, authority=passage["authority"])
    return name if passage["chunk"] else tr("{name} (a fact, not a quotation)").format(name=name)


def passage_pieces(passage: Mapping[str, Any]) -> tuple[str, str, str]:
    """The text of a passage of an answer: before the marked sentence, that, and after it."""
    text, (start, end) = passage["text"], passage["marked"].values()
    return text[:start], text[start:end], text[end:]


def marked_text(passage: Mapping[str, Any]) -> str:
    """The text of a passage with its marked sentence between `**`."""
    before, marked, after = passage_pieces(passage)
    return f"{before}**{marked.strip()}**{after}"


def _fact_in_words(edge: Mapping[str, Any]) -> str:
    says = between(str(edge.get("p") or ""), edge["p_label"])
    words = f"{edge['s_label']} {says} {edge['o_label']}"
    return f"{words}: {edge['description']}" if edge.get("description") else words


def quad_json(quad: Quad) -> dict[str, object]:
    """A quad as `{s, p, o, g}`; `g` is empty for the default graph."""
    graph = "" if isinstance(quad.graph_name, DefaultGraph) else quad.graph_name.value
    return {
        "s": to_sparql_json(quad.subject),
        "p": to_sparql_json(quad.predicate),
        "o": to_sparql_json(quad.object),
        "g": graph,
    }


def _quad(data: Mapping[str, Any]) -> Quad:
    s, p, o = (from_sparql_json(data[name]) for name in ("s", "p", "o"))
    return Quad(s, p, o, NamedNode(data["g"]) if data["g"] else DefaultGraph())  # type: ignore[arg-type]
