"""`/resource?iri=`: whatever the store knows of any IRI; and RDF terms as pages show them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RDF, RDFS, TG, XSD, Namespace, prefixed
from graphrag_rdf.rdf.terms import text_of, to_sparql_json
from graphrag_rdf.reader_process.evaluate import Job, Wanted
from graphrag_rdf.resources import folder
from graphrag_rdf.server.content import read_text
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem, TransferAborted
from graphrag_rdf.server.pages.links import resource_page
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import Forms, iri_of, parameter, represent
from graphrag_rdf.server.service import Service, client_of, service_of
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.facts import read_labels

SD = Namespace("http://www.w3.org/ns/sparql-service-description#")

_OUT, _IN, _USED, _INSIDE = 1000, 200, 100, 100
"""Triples of and to a thing, with it as their relation, and with it inside a statement, that are given; a hub
of the graph has more (ask SPARQL)."""

_WITH_TEXT = 1 << 20
"""Characters of a stored text that RDF and JSON have; longer ones, and documents, come as text/plain."""
_BYTES = 1 << 24
_TRIPLES = Wanted("application/n-triples", "application/n-triples")


async def resource(request: Request) -> Response:
    """The triples with a thing as subject or object, as JSON, RDF or a page; and its text, also by itself."""
    require(request, "read")
    name = parameter(request, "iri")
    if not name:
        raise Problem(400, tr("name what to look up: ?iri=…"))
    iri = iri_of(name)
    service = service_of(request)
    triples = await asyncio.to_thread(statements, service.engine.store, iri)
    text = await asyncio.to_thread(read_text, service.engine, iri)
    if text is None:
        triples = triples or await _inside(request, iri)
        if not triples:
            raise Problem(404, tr("nothing is known of {iri}").format(iri=iri))
    shown = None if Triple(iri, RDF.type, TG.Document) in triples else text
    if shown is not None and len(shown) <= _WITH_TEXT:
        triples = list(dict.fromkeys([Triple(iri, TG.content, Literal(shown)), *triples]))
    forms = Forms(
        json=lambda: described(iri, triples),
        rdf=lambda: triples,
        html=lambda: thing_page(service, iri, triples, shown),
        text=None if text is None else lambda: text,
    )
    return await represent(request, lambda _: forms)


_OTHER_LETTERS = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")
"""Letters beyond ASCII as URLs spell them; our IRIs have the letters themselves, but for documents."""


async def own(request: Request) -> Response:
    """`/e/…`, `/doc/…` and so on: the IRIs of the store's own things, if its namespace is this server.

    They redirect to the description (303), because a thing is not its description
    (https://www.w3.org/TR/cooluris/, section 4.2).
    """
    require(request, "read")
    service = service_of(request)
    kind, _, name = request.scope["raw_path"].decode("ascii").removeprefix("/").partition("/")
    namespace = service.engine.settings.extract.namespace
    if kind == "doc":
        iri = f"{iris.documents(namespace)}{name}"
    else:
        iri = f"{namespace}{kind}/{_OTHER_LETTERS.sub(lambda match: unquote(match[0]), name)}"
    return RedirectResponse(links_of(service)(iri_of(iri).value), 303)


async def _inside(request: Request, iri: NamedNode) -> list[Triple]:
    """The triples whose objects are statements with a thing of which nothing is said otherwise.

    There is no index into triple terms, so the store is read through, in a process and within the limits that
    the queries of clients have.

    Raises:
        Problem: 404 when that took too long, 429 when the client has too many queries under way.
    """
    service = service_of(request)
    if not service.has_triple_terms:
        return []  # statements are nodes there, whose parts `statements` has found
    text = service.engine.store.render("server/inside", thing=iri, limit=_INSIDE)
    job = Job(text=text, graph=_TRIPLES, roams=True, max_rows=_INSIDE, max_bytes=_BYTES)
    with service.concurrency.slot(client_of(request)):
        try:
            answer = await service.queries.run(job, service.min_commit(request), request.is_disconnected)
            data = b"".join([part async for part in answer.parts()])
        except (Problem, TransferAborted) as stopped:
            if isinstance(stopped, Problem) and stopped.status not in (503, 504):
                raise
            raise Problem(
                404,
                tr("nothing is said of {iri}; to look for it inside statements took too long").format(
                    iri=iri
                ),
            ) from None
    return [quad.triple for quad in ox.parse(data, ox.RdfFormat.N_TRIPLES)]


def statements(store: Store, iri: NamedNode) -> list[Triple]:
    """The triples of a thing, those that point to it, then some in which it is the relation.

    Terms of the vocabularies come with their definitions, graphs as such.
    """
    about = store.construct("server/about", thing=iri, limit=_OUT)
    pointing = store.construct("server/pointing", thing=iri, limit=_IN)
    used = store.construct("server/related", relation=iri, limit=_USED)
    graph = [Triple(iri, RDF.type, SD.NamedGraph)] if store.ask("server/is-graph", graph=iri) else []
    return list(dict.fromkeys([*graph, *_defined(iri), *about, *pointing, *used]))


def of_list(store: Store, things: Sequence[str]) -> list[Triple]:
    """Types, names, origins and dates of listed things, by their IRIs; no facts."""
    return list(store.construct("server/listed", things=[NamedNode(thing) for thing in things]))


def _defined(iri: NamedNode) -> Iterator[Triple]:
    """The description of a term in the vocabularies, with its blank nodes and uses."""
    for pattern in ((None, None, iri), (None, iri, None)):
        for quad in islice(_vocabularies().quads_for_pattern(*pattern), _USED):
            yield quad.triple
    waiting: list[NamedNode | BlankNode] = [iri]
    while waiting:
        for quad in _vocabularies().quads_for_pattern(waiting.pop(), None, None):
            yield quad.triple
            if isinstance(quad.object, BlankNode):
                waiting.append(quad.object)


@cache
def _vocabularies() -> ox.Store:
    """Read once: the files belong to the program."""
    store = ox.Store()
    for name in ("graphrag-rdf", "trustgraph", "prov-o"):
        store.load(path=folder("ontology") / f"{name}.ttl", format=ox.RdfFormat.TURTLE)
    return store


def described(iri: NamedNode, triples: list[Triple]) -> dict[str, Any]:
    """JSON: `facts[{p,o}]`, `mentions[{s,p}]`, `used[{s,o}]`, `inside[{s,p,o}]`; terms as in SPARQL JSON."""
    return {
        "iri": iri.value,
        "facts": [
            {"p": to_sparql_json(t.predicate), "o": to_sparql_json(t.object)}
            for t in triples
            if t.subject == iri
        ],
        "mentions": [
            {"s": to_sparql_json(t.subject), "p": to_sparql_json(t.predicate)}
            for t in triples
            if t.object == iri and t.subject != iri
        ],
        "used": [
            {"s": to_sparql_json(t.subject), "o": to_sparql_json(t.object)}
            for t in triples
            if t.predicate == iri and iri not in (t.subject, t.object)
        ],
        "inside": [
            {"s": to_sparql_json(t.subject), "p": to_sparql_json(t.predicate), "o": to_sparql_json(t.object)}
            for t in statements_with(iri, triples)
        ],
    }


def statements_with(iri: NamedNode, triples: Iterable[Triple]) -> Iterator[Triple]:
    """Those whose objects are statements that a thing is a part of."""
    for t in triples:
        if isinstance(t.object, Triple) and iri in (t.object.subject, t.object.predicate, t.object.object):
            yield t


# --- the page ------------------------------------------------------------------------------------------

_SHOWN = 200_000
"""Characters of a stored text that the page shows."""


def thing_page(service: Service, iri: NamedNode, triples: list[Triple], text: str | None = None) -> str:
    """The triples with a thing as subject, as object, and as predicate; and its text."""
    labels = read_labels(service.engine.store, [iri, *named_in(triples)])
    links = links_of(service)

    def view(term: object) -> TermView:
        return view_term(term, links, labels)

    own = [t for t in triples if t.subject == iri]
    types = {t.object for t in own if t.predicate == RDF.type}
    better = links.document(iri.value) if TG.Document in types else links(iri.value)
    label = labels.get(iri.value) or next(
        (text_of(t.object) for t in own if t.predicate == RDFS.label and not isinstance(t.object, Triple)),
        None,
    )
    return render(
        "thing",
        "",
        iri=iri.value,
        stored=text if text is None or len(text) <= _SHOWN else f"{text[:_SHOWN]}…",
        label=label or prefixed(iri) or iri.value,
        better=better if better != resource_page(iri.value) else None,
        out=[(view(t.predicate), view(t.object)) for t in own if text is None or t.predicate != TG.content],
        into=[(view(t.subject), view(t.predicate)) for t in triples if t.object == iri and t.subject != iri],
        inside=[
            (view(t.subject), view(t.object))
            for t in triples
            if isinstance(t.object, Triple) and iri in named_in([t.object]) and t.subject != iri
        ],
        used=[
            (view(t.subject), view(t.object))
            for t in triples
            if t.predicate == iri and iri not in (t.subject, t.object)
        ],
    )


@dataclass(frozen=True, slots=True)
class TermView:
    """A term.

    Attributes:
        text: its label, prefixed name or IRI; a literal's text.
        iri, href: of an IRI, with its page.
        note: a literal's language or datatype.
        parts: subject, predicate and object of a triple term.
    """

    text: str
    iri: str | None = None
    href: str | None = None
    note: str | None = None
    parts: tuple[TermView, ...] = ()


def named_in(terms: Iterable[object]) -> list[NamedNode]:
    """The IRIs among terms, those inside triple terms too."""
    nodes: list[NamedNode] = []
    for term in terms:
        if isinstance(term, Triple):
            nodes += named_in((term.subject, term.predicate, term.object))
        elif isinstance(term, NamedNode):
            nodes.append(term)
    return nodes


def view_term(term: object, href: Callable[[str], str | None], labels: Mapping[str, str]) -> TermView:
    """A term.

    Args:
        term: of the engine; None for an unbound variable.
        labels: of IRIs that have one.
    """
    if term is None:
        return TermView("")
    if isinstance(term, Triple):
        parts = (term.subject, term.predicate, term.object)
        return TermView("", parts=tuple(view_term(part, href, labels) for part in parts))
    if isinstance(term, NamedNode):
        return TermView(labels.get(term.value) or prefixed(term) or term.value, term.value, href(term.value))
    if isinstance(term, Literal):
        datatype = None if term.datatype == XSD.string else prefixed(term.datatype) or term.datatype.value
        return TermView(text_of(term), note=f"@{term.language}" if term.language else datatype)
    return TermView(str(term))
