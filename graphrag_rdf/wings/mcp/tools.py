"""The tools, in one table, with what a call receives and returns.

A client chooses no model, store, path or template.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.requests import HTTPConnection

from graphrag_rdf.config import Role
from graphrag_rdf.i18n import tr
from graphrag_rdf.lists.declaration import Asked, List, lists
from graphrag_rdf.lists.table import list_text
from graphrag_rdf.lists.traces import TRACES
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.terms import from_sparql_json, readable
from graphrag_rdf.server.http.access import ROLES, Access
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import AskRequest, RetrieveRequest
from graphrag_rdf.server.jobs import is_union, job_of
from graphrag_rdf.server.representations import iri_of
from graphrag_rdf.server.routes import ask
from graphrag_rdf.server.routes.sparql import forms_for
from graphrag_rdf.server.routes.suggestions import PATIENCE, Asker, suggestion
from graphrag_rdf.server.routes.uploads import ingest_named, may_read
from graphrag_rdf.server.service import Service, client_of
from graphrag_rdf.sparql.empty import found_nothing
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.lines import one_line
from graphrag_rdf.trace.messages import marked_text, passage_place, source_in_words
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.sources import FactSource, source_fact
from graphrag_rdf.trace.text import render_fact_sources, render_trace
from graphrag_rdf.wings.mcp.schema import schema_of, text_of_schema

_LONGEST_REMARK = 300
"""Characters that progress reports of what an agent says before the answer."""

Progress = Callable[[int, int | None, str], Awaitable[None]]
"""Called with what is done, the total if it is known, and a description."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a tool.

    Attributes:
        role: its role.
        client: the client that limits apply to.
        known: whether it sent a token, or is the user who started the program.
    """

    role: Role
    client: str
    known: bool
    access: Access

    @classmethod
    def of_request(cls, connection: HTTPConnection) -> Caller:
        """The client of a request."""
        state = connection.scope["state"]
        identified = state["token"] is not None
        return cls(state["role"], client_of(connection), identified, connection.app.state.access)

    @classmethod
    def local(cls) -> Caller:
        """The user who started the program."""
        return cls("write", "local", True, Access([]))

    def may(self, needed: Role) -> bool:
        """Whether it has a role."""
        return ROLES.index(self.role) >= ROLES.index(needed)

    def require(self, needed: Role) -> None:
        """Raises Problem 401 or 403 without a role."""
        if not self.may(needed):
            raise self.access.refuse(self.role, needed, identified=self.known)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    service: Service
    caller: Caller
    progress: Progress


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a tool: for programs, and as text for people and models."""

    data: dict[str, Any]
    text: str


ROWS = 1000
"""Rows, or statements, of an answer to SPARQL: a model has to read them."""
_BYTES = 1 << 20

_SPELLINGS: dict[Dialect, str] = {
    "rdf12": "RDF 1.2: triple terms are <<( s p o )>>",
    "rdf-star": "RDF-star: triple terms are << s p o >>",
    "classic": "RDF 1.1: statements are reified by rdf:subject, rdf:predicate and rdf:object",
}

Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SparqlArguments(_Arguments):
    """Of `sparql`."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=100_000)] = Field(
        description="SELECT, ASK, CONSTRUCT or DESCRIBE; tg, rag, prov, rdfs, skos, dcterms are declared"
    )
    union: bool | None = Field(
        default=None, description="all graphs as the default graph; without it, as the server is set"
    )


class SchemaArguments(_Arguments):
    """Of `schema`."""

    graph: Name | None = Field(
        default=None,
        description="IRI of a named graph, such as urn:graph:source (documents, chunks, evidence) or "
        "urn:graph:retrieval (traces); without it the facts",
    )
    limit: int = Field(default=50, ge=1, le=500, description="of classes, and of relations")


class TraceArguments(_Arguments):
    """Of `trace`."""

    trace: Name | None = Field(
        default=None,
        description="IRI or UUID of a session, question or step, or 'last'; without it the newest are listed",
    )
    limit: int = Field(default=20, ge=1, le=200, description="of the list")


class ListArguments(_Arguments):
    """Of `list`."""

    list: Name = Field(description="what to list")
    filters: dict[Name, bool | int | str] = Field(default={}, description="filter → value")
    limit: int = Field(default=50, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, description="items to pass over")


class FactArguments(_Arguments):
    """Of `source_of_fact`."""

    subject: Text = Field(description="a label, an IRI or an N-Triples term")
    predicate: Text = Field(description="a label or an IRI")
    object: Text = Field(description="a label, an IRI or an N-Triples term")


class IngestArguments(_Arguments):
    """Of `ingest`."""

    paths: Annotated[list[Text], Field(min_length=1, max_length=100)] = Field(
        description="files or folders, relative to the folder that the server allows; '.' is all of it"
    )


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        about: what it does and when to use it, for a model; see `about_in`.
        arguments: what it takes.
        keys: of its result, with their JSON types; more may come.
        work: does it.
        role: the role that it needs.
        writes: whether it changes what is known (a trace of a question does not).
        offered: whether the server has it at all.
    """

    name: str
    title: str
    about: str
    arguments: type[BaseModel]
    keys: dict[str, str]
    work: Callable[[Call, Any], Awaitable[Outcome]]
    role: Role = "read"
    writes: bool = False
    offered: Callable[[Service], bool] = lambda service: True  # noqa: ARG005

    def about_in(self, service: Service) -> str:
        """`about` with how the store spells triple terms, and where its facts are."""
        renderer = service.engine.store.renderer
        graph = renderer.facts_graph
        return (
            self.about.replace("{spelling}", _SPELLINGS[renderer.dialect])
            .replace("{facts}", "the default graph" if graph is None else f"GRAPH {graph}")
            .replace("{lists}", "; ".join(map(_with_filters, lists().values())))
        )

    @property
    def result_schema(self) -> dict[str, Any]:
        """JSON schema of its result."""
        properties = {key.rstrip("?"): {"type": kind} for key, kind in self.keys.items()}
        required = [key for key in self.keys if not key.endswith("?")]
        return {"type": "object", "properties": properties, "required": required}


def _with_filters(listing: List) -> str:
    names = ", ".join(each.name for each in listing.filters)
    return f"{listing.name} ({names})" if names else listing.name


async def _ask(call: Call, asked: AskRequest) -> Outcome:
    service = call.service
    call.caller.require(ask.role_to_ask(service, identified=call.caller.known))
    run = service.runs.start(lambda: ask.begin(service, asked))
    session, last, done = "", None, 0
    try:
        async for message in run.items():
            if message is None:
                continue
            last = message
            if message.message_type == "explain":
                done += 1
                session = session or message.explain_id or ""
                await call.progress(done, None, message.kind)
            elif message.response and message.kind != "answer":  # what an agent thinks, does, and sees
                done += 1
                remark = one_line(message.response)[:_LONGEST_REMARK]
                await call.progress(done, None, f"{message.kind}: {remark}")
    finally:
        run.close()
    if last is None:
        raise Problem(503, tr("the server is stopping"))
    if last.answer is None:
        raise ask.failed(last, service)
    return Outcome({**last.answer, "trace": session}, _text_of_answer(last.answer, session))


async def _retrieve(call: Call, asked: RetrieveRequest) -> Outcome:
    service = call.service
    call.caller.require(ask.role_to_ask(service, identified=call.caller.known))
    ranking = await service.runs.call(lambda: ask.ranked(service, asked))
    return Outcome(ranking, _text_of_passages(ranking))


async def _sparql(call: Call, asked: SparqlArguments) -> Outcome:
    service, settings = call.service, call.service.settings
    union = is_union(service, asked.query, None if asked.union is None else str(asked.union))
    job, _ = await job_of(
        service,
        asked.query,
        *forms_for("application/sparql-results+json, text/turtle", "rdf12"),
        with_prefixes=True,
        union=union,
        max_rows=min(ROWS, settings.max_rows),
        max_bytes=min(_BYTES, settings.max_result_mb << 20),
    )
    commit = service.engine.store.commit_number()
    content_type, data = await service.queries.whole(job, commit)
    media_type = content_type.partition(";")[0]
    results: dict[str, Any] = {"turtle": data.decode()} if media_type == "text/turtle" else json.loads(data)
    text = results["turtle"] if "turtle" in results else _text_of_results(results)
    if not found_nothing(data, media_type):
        return Outcome(results, text)
    asker = Asker(call.caller.client, commit)
    changed = await suggestion(asker, service, asked.query, union=union, seconds=PATIENCE)
    if changed is None:
        return Outcome(results, text)
    suggested = {"summary": changed.summary, "query": changed.query, "union": changed.union}
    with_union = " with union = true" if changed.union and not union else ""
    hint = f"hint: {changed.summary} Run{with_union}:\n{changed.query}"
    return Outcome({**results, "suggestion": suggested}, f"{text}\n\n{hint}")


async def _schema(call: Call, asked: SchemaArguments) -> Outcome:
    graph = None if asked.graph is None else iri_of(asked.graph.strip("<>"))
    schema = await schema_of(call.service, graph, asked.limit)
    return Outcome(schema, text_of_schema(schema))


async def _trace(call: Call, asked: TraceArguments) -> Outcome:
    engine = call.service.engine

    def look() -> Outcome:
        if asked.trace is None:
            newest = Asked(asked.limit)
            items = TRACES.items(engine, newest)
            return Outcome({"traces": items}, list_text(TRACES, items, newest, width=_WIDTH))
        session = find_trace(engine.store, asked.trace)
        trace = read_trace(engine.store, session, engine.blobs)
        return Outcome(to_json(trace), _text_of_trace(trace))

    return await asyncio.to_thread(look)


async def _list(call: Call, asked: ListArguments) -> Outcome:
    declared = lists().get(asked.list)
    if declared is None:
        message = tr("there is no list {name}; there are: {names}")
        raise Problem(404, message.format(name=asked.list, names=", ".join(lists())))
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in asked.filters.items()
    }
    request = Asked(asked.limit, asked.offset, declared.values(texts))
    listing = declared.shown_for(request)
    items = await asyncio.to_thread(listing.items, call.service.engine, request)
    return Outcome({"items": items}, list_text(listing, items, request, width=_WIDTH))


async def _source_of_fact(call: Call, asked: FactArguments) -> Outcome:
    store = call.service.engine.store
    sources = await asyncio.to_thread(source_fact, store, asked.subject, asked.predicate, asked.object)
    return Outcome({"sources": to_json(sources)}, _text_of_sources(sources))


async def _ingest(call: Call, asked: IngestArguments) -> Outcome:
    report = await ingest_named(call.service, asked.paths, call.progress)
    return Outcome(to_json(report), _text_of_report(report))


TOOLS: tuple[Tool, ...] = (
    Tool(
        "ask",
        "Ask a question",
        "Answer a question from the documents, with citations down to the quoted characters. Without a "
        "language model of its own the server quotes the sentences that answer best. It says so when it does "
        "not know.",
        AskRequest,
        {
            "question": "string",
            "answer": "string",
            "citations": "array",
            "warnings": "array",
            "trace": "string",
        },
        _ask,
    ),
    Tool(
        "retrieve",
        "Find passages",
        "Rank passages and facts for a question without answering it: material to read yourself.",
        RetrieveRequest,
        {"question": "string", "results": "array", "edges": "array", "warnings": "array"},
        _retrieve,
    ),
    Tool(
        "schema",
        "What the graph has",
        "The classes and relations of the store, with labels, numbers, types of subjects and objects and an "
        "example, and the prefixes: what you need to write a query for `sparql`.",
        SchemaArguments,
        {"prefixes": "object", "classes": "array", "relations": "array"},
        _schema,
    ),
    Tool(
        "sparql",
        "Query the graph",
        "Run a reading SPARQL query ({spelling}). Facts and labels are in {facts}; documents, chunks and "
        "evidence in GRAPH <urn:graph:source>; traces in GRAPH <urn:graph:retrieval>. "
        f"At most {ROWS} rows: use LIMIT. If it finds nothing, a changed query that does is suggested.",
        SparqlArguments,
        {
            "head?": "object",
            "results?": "object",
            "boolean?": "boolean",
            "turtle?": "string",
            "suggestion?": "object",
        },
        _sparql,
    ),
    Tool(
        "list",
        "List things",
        "List what the store holds. Lists, with their filters: {lists}.",
        ListArguments,
        {"items": "array"},
        _list,
    ),
    Tool(
        "trace",
        "How an answer came about",
        "Show the steps of an answer (concepts, entities, facts chosen with scores and reasons, sources), or "
        "list the newest questions.",
        TraceArguments,
        {"traces?": "array", "steps?": "array"},
        _trace,
    ),
    Tool(
        "source_of_fact",
        "Where a fact stands",
        "Every document, page and quotation that supports a fact.",
        FactArguments,
        {"sources": "array"},
        _source_of_fact,
    ),
    Tool(
        "ingest",
        "Read documents",
        "Read documents of the folder that the server allows, and extract facts from them.",
        IngestArguments,
        {"documents": "object", "chunks": "object", "facts": "integer", "failures": "array"},
        _ingest,
        role="write",
        writes=True,
        offered=may_read,
    ),
)


def tools_for(service: Service, caller: Caller) -> list[Tool]:
    """The tools that a caller may call."""
    return [tool for tool in TOOLS if tool.offered(service) and caller.may(tool.role)]


# --- results as text, for models and people ------------------------------------------------------------

_WIDTH = 120


def _text_of_answer(answer: Mapping[str, Any], trace: str) -> str:
    """The answer, its sources by marker, warnings, and its trace."""
    lines: dict[str, None] = {}
    for citation in answer["citations"]:
        for source in citation["sources"]:
            lines[f"{citation['marker']} {source_in_words(source, citation.get('edge'))}"] = None
    parts = [answer["answer"]]
    if lines:
        parts.append("Sources:\n" + "\n".join(lines))
    parts += [
        f"{passage['label']}: {passage_place(passage)}\n{marked_text(passage)}"
        for passage in answer["passages"]
    ]
    parts += [f"Warning: {warning['detail']} ({warning['type']})" for warning in answer["warnings"]]
    parts.append(f"Trace: {trace}")
    return "\n\n".join(parts)


def _text_of_passages(ranking: Mapping[str, Any]) -> str:
    """The passages with their scores, then the facts."""
    passages = [f"{r['rank']}. {r['name']} (score {r['score']:.2f})\n{r['text']}" for r in ranking["results"]]
    facts = [f"- {_fact(edge)} (score {edge['score']:.2f})" for edge in ranking["edges"]]
    warnings = [f"Warning: {w['detail']} ({w['type']})" for w in ranking["warnings"]]
    parts = [*passages, *(["Facts:\n" + "\n".join(facts)] if facts else []), *warnings]
    return "\n\n".join(parts) or "Nothing was found."


def _text_of_results(results: Mapping[str, Any]) -> str:
    """Solutions as lines with tabs, or yes and no."""
    if "boolean" in results:
        return "yes" if results["boolean"] else "no"
    variables = results["head"]["vars"]
    rows = ["\t".join(_cell(row.get(name)) for name in variables) for row in results["results"]["bindings"]]
    return "\n".join(["\t".join(f"?{name}" for name in variables), *(rows or ["(no rows)"])])


def _text_of_trace(trace: Trace) -> str:
    """As `trace show`."""
    return render_trace(trace, width=_WIDTH)


def _text_of_sources(sources: Sequence[FactSource]) -> str:
    """As `source fact`."""
    return render_fact_sources(sources, width=_WIDTH)


def _text_of_report(report: Any) -> str:
    """The report of an ingest."""
    documents, failures = asdict(report.documents), report.failures
    counts = ", ".join(f"{number} {name}" for name, number in documents.items() if number) or "none"
    lines = [f"documents: {counts}", f"facts: {report.facts} new", f"entities: {report.entities} new"]
    lines += [f"failed: {failure.path}: {failure.reason}" for failure in failures]
    lines += [f"skipped: {path}" for path in report.skipped]
    lines += [f"Warning: {warning['detail']} ({warning['type']})" for warning in report.warnings]
    if report.stopped:
        lines.append(f"stopped early: {report.stopped}")
    return "\n".join(lines)


def _cell(term: Mapping[str, Any] | None) -> str:
    return "" if term is None else readable(from_sparql_json(term)).replace("\t", " ").replace("\n", " ")


def _fact(edge: Mapping[str, Any]) -> str:
    return f"{edge['s_label']} {edge['p_label']} {edge['o_label']}"
