"""SPARQL 1.1 Graph Store HTTP Protocol (https://www.w3.org/TR/sparql11-http-rdf-update/).

A graph is named indirectly (`/store?graph=IRI`, `/store?default`) or by its own address (`/store/…`). Beyond
the protocol, `GET /store` returns the dataset, and `POST /store` of TriG or N-Quads adds to it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import pyoxigraph as ox
from pyoxigraph import NamedNode, Quad, Triple
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.i18n import later, ngettext, tr
from graphrag_rdf.rdf.formats import check_entities
from graphrag_rdf.rdf.rdf11 import from_rdf11
from graphrag_rdf.reader_process.evaluate import Job
from graphrag_rdf.server.caching import hold, not_modified
from graphrag_rdf.server.execution.nesting import check_rdf_nesting
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import Parameters, read_body, read_parts, text_of
from graphrag_rdf.server.http.negotiation import (
    DATASETS,
    GRAPHS,
    RDF_BY_NAME,
    Format,
    accepted,
    content_type,
    negotiate,
    wanted,
)
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.routes.sparql import run, settled, written
from graphrag_rdf.server.service import Service, address_of, service_of, site_of
from graphrag_rdf.server.validation import headers_of
from graphrag_rdf.sparql.complaints import declaration

_PARTS = 1000
_HINTS = {
    True: later(
        "all graphs together need trig, nq or jsonld; for turtle name one graph, by ?graph=IRI or ?default"
    ),
    False: later("use turtle, nt, trig, nq, rdfxml or jsonld"),
}
"""Whether the request names no graph → which formats there are."""
_NO_GRAPH = later("{method} needs a graph: ?graph=IRI, ?default, or an address under /store/")


@dataclass(frozen=True, slots=True)
class Target:
    """The graph that a request is about.

    Attributes:
        graph: its IRI; None for the default graph.
        whole: the request names no graph.
    """

    graph: NamedNode | None
    whole: bool = False


async def graph_store_endpoint(request: Request) -> Response:
    """`/store` and `/store/…`."""
    target = _target(request)
    return await (_read if request.method in ("GET", "HEAD") else _WRITE[request.method])(request, target)


def _target(request: Request) -> Target:
    """Raises Problem 400 for two, or an invalid IRI."""
    parameters = Parameters.of_query_string(request.scope["query_string"])
    graph, default = parameters.one("graph"), parameters.one("default")
    path = request.scope["raw_path"].decode("ascii")
    base = site_of(request)
    direct = bool(request.path_params.get("path"))
    if (graph is not None) + (default is not None) + direct > 1:
        raise Problem(400, tr("name one graph: by its address, by ?graph=IRI, or by ?default"))
    if direct:
        return Target(_iri(base + path))
    if graph is not None:
        return Target(_iri(graph))
    return Target(None, whole=default is None)


def _iri(text: str) -> NamedNode:
    try:
        return NamedNode(text)
    except ValueError:
        raise Problem(400, tr("{text!r} is not an absolute IRI").format(text=text)) from None


async def _read(request: Request, target: Target) -> Response:
    """GET and HEAD (§5.2, §5.6)."""
    require(request, "read")
    service = service_of(request)
    formats = DATASETS if target.whole else GRAPHS
    asked = Parameters.of_query_string(request.scope["query_string"])
    choice = negotiate(
        accepted(request.headers.get("accept"), asked.all("format")),
        formats,
        dialect=asked.one("dialect"),
        version=service.settings.rdf_version,
    )
    if choice is None:
        raise Problem(
            406, tr("Accept or format names no supported format of graphs"), hint=tr(_HINTS[target.whole])
        )
    form = wanted(choice)
    if service.remote is None and _exists(service, target):
        hold(request, service, exists=True)
        if (same := not_modified(request, service, [form.content_type], strong=True)) is not None:
            return same
    name = "" if target.graph is None else target.graph.value
    job = Job(
        kind="exists" if request.method == "HEAD" else "dump",
        target=None if target.whole else name,
        graph=form,
        max_rows=service.settings.max_rows,
        max_bytes=service.settings.max_result_mb << 20,
    )
    return await run(request, service, job, service.min_commit(request), validated="strong")


def _exists(service: Service, target: Target) -> bool:
    return target.graph is None or service.graphs.has_graph(target.graph)


async def _put(request: Request, target: Target) -> Response:
    """PUT (§5.3): the body replaces the graph; 201 for a new graph."""
    service = _writable(request)
    if target.whole:
        raise Problem(400, tr(_NO_GRAPH).format(method=request.method))
    if "content-range" in request.headers:
        raise Problem(400, tr("PUT replaces a whole graph: Content-Range is not supported"))
    parse = await _content(request, target)
    return await _write(request, service, target, parse, replace=True)


async def _post(request: Request, target: Target) -> Response:
    """POST (§5.5): the body is added; without a graph, a new one gets an address of this server."""
    service = _writable(request)
    if target.whole and (rdf := _dataset_format(request)) is not None:
        return await _add_dataset(request, service, rdf)
    if target.whole:
        base = f"{site_of(request)}/store"
        target = Target(NamedNode(f"{base}/{uuid.uuid4()}"))
    parse = await _content(request, target)
    return await _write(request, service, target, parse, replace=False)


async def _delete(request: Request, target: Target) -> Response:
    """DELETE (§5.4)."""
    service = _writable(request)
    if target.whole:
        raise Problem(400, tr(_NO_GRAPH).format(method=request.method))
    graph = target.graph

    def drop() -> tuple[int, Mapping[str, str]]:
        if not _exists(service, target):
            raise Problem(404, tr("there is no graph {graph}").format(graph=graph))
        hold(request, service, exists=True)
        passed = service.gate.graph(graph, (), replace=True)
        service.graphs.drop_graph(graph)
        passed.keep()
        return settled(service), headers_of(passed)

    commit, headers = await service.writes.run(drop)
    return written(request, service, commit, 204, **headers)


_WRITE = {"PUT": _put, "POST": _post, "DELETE": _delete}


def _writable(request: Request) -> Service:
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    return service


async def _write(
    request: Request, service: Service, target: Target, parse: Callable[[], list[Triple]], *, replace: bool
) -> Response:
    graph, store = target.graph, service.graphs
    fresh = False

    def write() -> tuple[int, Mapping[str, str]]:
        nonlocal fresh
        triples = parse()
        fresh = not _exists(service, target)
        hold(request, service, exists=not fresh)
        if replace and graph is None:
            _keep_facts(request, service, triples)
        passed = service.gate.graph(graph, triples, replace=replace)
        store.write_graph(graph, triples, replace=replace)
        passed.keep()
        return settled(service), headers_of(passed)

    commit, headers = await service.writes.run(write)
    if fresh and graph is not None:
        return written(request, service, commit, 201, Location=_address(request, graph), **headers)
    return written(request, service, commit, 204, **headers)


def _keep_facts(request: Request, service: Service, triples: Sequence[Triple]) -> None:
    """Refuse to replace facts that have evidence, unless the client has seen them or says so.

    Raises:
        Problem: 428, with how many triples would go (RFC 6585 §3).
    """
    said = Parameters.of_query_string(request.scope["query_string"]).one("replace")
    if "if-match" in request.headers or said == "all" or service.remote is not None:
        return
    if not service.store.ask("facts/any-evidence"):
        return
    with service.store.reading() as engine:
        stay = sum(Quad(*triple) in engine for triple in set(triples))
        gone = service.store.select("remote/default-size")[0]["quads"] - stay
    if gone:
        raise Problem(
            428,
            ngettext(
                "this would remove {number:,} triple of the facts, which have evidence in other graphs",
                "this would remove {number:,} triples of the facts, which have evidence in other graphs",
                gone,
            ).format(number=gone),
            hint=tr(
                "send If-Match with the ETag of the graph, or ?replace=all; POST adds triples, and DELETE "
                "/documents/… removes facts with their evidence"
            ),
        )


def _address(request: Request, graph: NamedNode) -> str:
    """Where a graph can be fetched: its own IRI if that is an address of this server."""
    ours = f"{site_of(request)}/store/"
    if graph.value.startswith(ours) and not set("?#") & set(graph.value):
        return graph.value
    return f"{ours.removesuffix('/')}?graph={quote(graph.value, safe='')}"


# --- bodies -------------------------------------------------------------------------------------------


async def _content(request: Request, target: Target) -> Callable[[], list[Triple]]:
    """The body of a request, to be parsed in the writer's thread."""
    limit = service_of(request).settings.max_body_mb << 20
    base = address_of(request)
    if target.graph is not None:
        base = target.graph.value
    header = request.headers.get("content-type")
    media_type, _ = content_type(header)
    service = service_of(request)
    if media_type == "multipart/form-data":
        parts = await _parts(request, limit)
        return lambda: [triple for part, kind in parts for triple in _parsed(service, part, kind, base)]
    rdf = _format(media_type)
    body = await read_body(request, limit, length_required=False)
    text = _text(body, header, rdf, limit)
    return lambda: _parsed(service, text, rdf, base)


def _text(body: bytes, header: str | None, rdf: Format, limit: int) -> str:
    text = text_of(body, header)
    if rdf.engine == ox.RdfFormat.RDF_XML:
        check_entities(text.encode(), limit)
    return text


def _format(media_type: str) -> Format:
    rdf = RDF_BY_NAME.get(media_type or "text/turtle")
    if rdf is None:
        raise Problem(
            415,
            tr("unsupported RDF format {media_type}").format(media_type=media_type),
            headers={"Accept-Post": ", ".join(f.media_type for f in GRAPHS)},
        )
    return rdf


def _parsed(service: Service, data: str, rdf: Format, base: str) -> list[Triple]:
    return [quad.triple for quad in _quads(service, data, rdf, base, named=False)]


def _quads(service: Service, data: str, rdf: Format, base: str, *, named: bool) -> list[Quad]:
    """The quads of a body. What answers have for RDF 1.2 in RDF 1.1 is turned back."""
    check_rdf_nesting(data, rdf.media_type)
    try:
        quads = list(
            ox.parse(
                data,
                rdf.engine,  # type: ignore[arg-type]
                base_iri=base,
                without_named_graphs=not named,
                rename_blank_nodes=True,
            )
        )
    except (SyntaxError, ValueError, OSError) as error:
        raise Problem(
            400,
            tr("the body is not valid {media_type}: {error}").format(media_type=rdf.media_type, error=error),
            hint=declaration(error),
        ) from error.with_traceback(None)
    return from_rdf11(quads) if service.has_triple_terms else quads


async def _parts(request: Request, limit: int) -> list[tuple[str, Format]]:
    """The files of a form (§5.5: each is a graph; they are merged)."""
    parts: list[tuple[str, Format]] = []
    for part in await read_parts(request, limit, files=_PARTS, fields=_PARTS, length_required=False):
        media_type, _ = content_type(part.header)
        rdf = _format("") if part.name is None else _format_of_file(part.name, media_type)
        parts.append((_text(part.data, part.header, rdf, limit), rdf))
    return parts


def _format_of_file(name: str, media_type: str) -> Format:
    """By a file's media type, else by the extension of its name: browsers and curl know no types of RDF."""
    if media_type in ("", "application/octet-stream"):
        named = ox.RdfFormat.from_extension(name.rpartition(".")[2].lower())
        form = next((f for f in GRAPHS if f.engine == named), None)
        if named is not None and form is not None:
            return form
    return _format(media_type)


def _dataset_format(request: Request) -> Format | None:
    media_type, _ = content_type(request.headers.get("content-type"))
    by_type: Mapping[str, Format] = {name: f for f in DATASETS[:2] for name in f.accepted}
    return by_type.get(media_type)


async def _add_dataset(request: Request, service: Service, rdf: Format) -> Response:
    body = await read_body(request, service.settings.max_body_mb << 20, length_required=False)
    text = text_of(body, request.headers.get("content-type"))
    base = address_of(request)

    def write() -> tuple[int, Mapping[str, str]]:
        quads = _quads(service, text, rdf, base, named=True)
        hold(request, service, exists=True)
        passed = service.gate.quads(quads)
        service.graphs.write_quads(quads)
        passed.keep()
        return settled(service), headers_of(passed)

    commit, headers = await service.writes.run(write)
    return written(request, service, commit, 204, **headers)
