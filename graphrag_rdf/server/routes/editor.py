"""`/sparql-editor`: write a query or pick a template, run it, read its answer as a table or download it.

A query runs as at `/sparql`: isolated, with the same limits. The page shows the first rows of an answer.
`/sparql-editor/terms` has what the editor completes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.rdf.vocabulary_page import vocabularies
from graphrag_rdf.reader_process.evaluate import Wanted
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import Parameters, read_body
from graphrag_rdf.server.http.negotiation import GRAPHS, RESULTS, Choice, Format, wanted
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.jobs import is_union, job_of
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import HTML, Forms, iri_of, represent
from graphrag_rdf.server.routes.resource import TermView, named_in, view_term
from graphrag_rdf.server.routes.sparql import run
from graphrag_rdf.server.routes.suggestions import PATIENCE, Asker, Suggestion, suggestion
from graphrag_rdf.server.service import Service, address_of, client_of, service_of
from graphrag_rdf.sparql.complaints import place_in
from graphrag_rdf.sparql.empty import nothing_in
from graphrag_rdf.sparql.render import prologue
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.facts import read_labels

ROWS = 500
"""Rows of an answer that the page shows."""

_LINES = Wanted("text/tab-separated-values", "text/tab-separated-values")
_TRIPLES = Wanted("application/n-triples", "application/n-triples")
_BEGINNING = "SELECT ?thing ?name WHERE {\n  ?thing rdfs:label ?name .\n} LIMIT 20"


@dataclass(frozen=True, slots=True)
class Download:
    """A download: its name on the page, its file, its format."""

    name: str
    file: str
    format: Format
    graph: bool


_KNOWN = {f.media_type: f for f in (*RESULTS, *GRAPHS)}
DOWNLOADS = {
    file.rpartition(".")[2]: Download(name, file, _KNOWN[media_type], graph)
    for name, file, media_type, graph in (
        ("JSON", "results.json", "application/sparql-results+json", False),
        ("XML", "results.xml", "application/sparql-results+xml", False),
        ("CSV", "results.csv", "text/csv", False),
        ("TSV", "results.tsv", "text/tab-separated-values", False),
        ("Turtle", "graph.ttl", "text/turtle", True),
        ("N-Triples", "graph.nt", "application/n-triples", True),
    )
}


@dataclass(frozen=True, slots=True)
class Table:
    """An answer on the page.

    Attributes:
        boolean: of an ASK; None otherwise.
        graph: whether the rows are triples.
        cut: whether there are more rows than these.
    """

    variables: tuple[str, ...]
    rows: tuple[tuple[TermView, ...], ...]
    boolean: bool | None = None
    graph: bool = False
    cut: bool = False

    def empty(self) -> bool:
        """Whether the answer is no, or the result has nothing."""
        if self.boolean is not None:
            return not self.boolean
        return not self.graph and nothing_in([term.text for term in row] for row in self.rows)


async def editor(request: Request) -> Response:
    """The page; with a query (of the form, of the URL, of a `call` of a trace) also its answer."""
    require(request, "read")
    service = service_of(request)
    posted = request.method == "POST"
    fields = (
        Parameters.of_form(await read_body(request, service.settings.max_query_kb << 11))
        if posted
        else Parameters.of_query_string(request.scope["query_string"])
    )
    text, run = await asyncio.to_thread(_text, service, fields)
    asked = fields.one("union")
    union = is_union(service, text, asked or "0" if posted else asked)
    if not run:
        return _page(service, text, fields.one("template") or "", union=union)
    if (form := DOWNLOADS.get(fields.one("as") or "")) is not None:
        return await _download(request, service, text, form, union=union)
    try:
        table = await _run(request, service, text, union=union)
    except Problem as problem:
        return _page(service, text, problem=problem, union=union)
    suggested = None
    if table.empty():
        asker = Asker.of_request(request, service)
        suggested = await suggestion(asker, service, text, union=union, seconds=PATIENCE)
    return _page(service, text, table=table, union=union, suggested=suggested)


async def terms(request: Request) -> Response:
    """What the editor completes: prefixes, and the terms of this store and of the program's vocabularies."""

    def forms(service: Service) -> Forms:
        used = service.counter.terms()
        names = {each["text"] for each in used}
        others = [each for each in _vocabulary() if each["text"] not in names]
        return Forms(json=lambda: {"prefixes": PREFIXES, "terms": [*used, *others]})

    return await represent(request, forms)


@cache
def _vocabulary() -> list[dict[str, Any]]:
    return [
        {"text": row.term, "label": row.signature, "kind": "class" if row.kind == "class" else "relation"}
        for each in vocabularies()
        for row in each.terms
    ]


def _text(service: Service, fields: Parameters) -> tuple[str, bool]:
    """(the query, whether to run it).

    Raises:
        Problem: when the template or call is not known.
    """
    query, call, template = (fields.one(name) for name in ("query", "call", "template"))
    engine = service.engine
    if template and template not in _readable(engine.store):
        raise Problem(404, tr("there is no such template"))
    if query is not None:
        return query.replace("\r\n", "\n"), bool(query.strip())
    if call is not None:
        rows = engine.store.select("server/call-query", call=iri_of(call))
        text = engine.blobs.text(rows[0]["sparql"]) if rows else None
        if text is None:
            raise Problem(404, tr("the query of this call was not kept"))
        return text, True
    if template:
        try:
            template_here = engine.store.templates[template]
            return engine.store.render(template, **template_here.samples()), False
        except TemplateError as error:
            raise Problem(400, error.message) from None
    return prologue(_BEGINNING) + _BEGINNING, False


def _readable(store: Store) -> list[str]:
    """Names of templates without updates."""
    return sorted(name for name in store.templates if store.templates[name].header.kind != "update")


async def _download(
    request: Request, service: Service, text: str, form: Download, *, union: bool
) -> Response:
    asked = wanted(Choice(form.format, "1.2", "rdf12"))
    forms = (None, asked) if form.graph else (asked, None)
    job, _ = await job_of(service, text, *forms, with_prefixes=True, base=address_of(request), union=union)
    response = await run(request, service, job, service.min_commit(request), validated=None)
    response.headers["Content-Disposition"] = f'attachment; filename="{form.file}"'
    return response


async def _run(request: Request, service: Service, text: str, *, union: bool) -> Table:
    job, _ = await job_of(
        service, text, _LINES, _TRIPLES, with_prefixes=True, base=address_of(request), union=union
    )
    with service.concurrency.slot(client_of(request)):
        answer = await service.queries.run(job, service.min_commit(request), request.is_disconnected)
        lines, data = 0, bytearray()
        parts = answer.parts()
        try:
            async for part in parts:
                data += part
                lines += part.count(b"\n")
                if lines > ROWS + 1:
                    break
        finally:
            await parts.aclose()  # type: ignore[attr-defined]
    return await asyncio.to_thread(_shown, service, bytes(data), answer.content_type)


def _shown(service: Service, data: bytes, content_type: str) -> Table:
    """The table.

    Raises:
        Problem: 422 when terms are nested too deeply for our parser.
    """
    try:
        return _table(service, data, content_type)
    except (SyntaxError, RecursionError) as error:
        error.with_traceback(None)  # its frames hold objects of this thread
    raise Problem(422, tr("the answer has triple terms that are nested too deeply for a page: download it"))


def _table(service: Service, data: bytes, content_type: str) -> Table:
    """Lines as a table: no format has line ends within terms."""
    graph = content_type == _TRIPLES.content_type
    most = ROWS if graph else ROWS + 1
    lines = data.splitlines(keepends=True)
    cut, data = len(lines) > most, b"".join(lines[:most])
    if graph:
        triples = list(ox.parse(data, ox.RdfFormat.N_TRIPLES))
        variables: tuple[str, ...] = ("subject", "predicate", "object")
        rows: list[Sequence[object]] = [(t.subject, t.predicate, t.object) for t in triples]
    else:
        results = ox.parse_query_results(
            data.rstrip(b"\n") if data.strip() in _TRUTHS else data, ox.QueryResultsFormat.TSV
        )
        if isinstance(results, ox.QueryBoolean):
            return Table((), (), boolean=bool(results))
        variables = tuple(variable.value for variable in results.variables)
        rows = [tuple(row) for row in results]
    labels = read_labels(service.engine.store, named_in(t for row in rows for t in row))
    href = links_of(service)
    return Table(
        variables,
        tuple(tuple(view_term(term, href, labels) for term in row) for row in rows),
        graph=graph,
        cut=cut,
    )


_TRUTHS = (b"true", b"false")


def _page(
    service: Service,
    text: str,
    template: str = "",
    *,
    table: Table | None = None,
    problem: Problem | None = None,
    union: bool,
    suggested: Suggestion | None = None,
) -> Response:
    templates = service.engine.store.templates
    names = sorted(_readable(service.engine.store), key=lambda name: not name.startswith("cookbook/"))
    page = render(
        "editor",
        "/sparql-editor",
        text=text,
        templates=[templates[name] for name in names],
        template=template,
        summary=templates[template].header.summary if template else "",
        table=table,
        problem=problem.document() if problem else None,
        place=place_in(problem.detail) if problem else None,
        downloads={key: form for key, form in DOWNLOADS.items() if table and form.graph == table.graph},
        prefixes=PREFIXES,
        most=ROWS,
        union=union,
        offers_union=service.remote is None,
        suggested=suggested,
        again=f"/sparql-editor?{urlencode({'query': text, 'union': f'{union:d}'})}",
    )
    status = problem.status if problem else 200
    headers = {
        "Content-Type": HTML.content_type,
        "Cache-Control": "no-store",
        **(problem.headers if problem else {}),
    }
    return Response(page, status, headers)
