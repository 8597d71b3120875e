"""The services `graph-rag`, `document-rag` and `agent`: messages of runs in TrustGraph's forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import Field
from pyoxigraph import NamedNode, Quad
from starlette.requests import HTTPConnection

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import PROV, RDF, TG
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import AskRequest, Question, Session, read_request
from graphrag_rdf.server.routes.ask import allowed_to_ask, failed, seen
from graphrag_rdf.server.runs import Messages
from graphrag_rdf.server.service import client_of, service_of
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.wings.trustgraph.lookups import Replies, Wire
from graphrag_rdf.wings.trustgraph.settings import GatewaySection
from graphrag_rdf.wings.trustgraph.terms import quad_to_wire

_NUMBERS = {
    "entity-limit": "entity_limit",
    "triple-limit": "triple_limit",
    "max-path-length": "max_path_length",
    "edge-limit": "edge_limit",
}
"""Number of a request for `graph-rag` → its name in `/ask`, whose bounds hold."""
_CHUNKS = {"doc-limit": "exploration.chunk_limit", "fetch-limit": "exploration.candidate_limit"}
_OTHERS = (
    *("max-subgraph-size", "edge-score-limit", "max-reranker-input", "grounding-seeds", "graph-seeds"),
    *("languages", "traversal-instructions", "graph", "state", "group", "history", "plan"),
)
"""What has no counterpart here, and is ignored with a warning in the trace."""
_PATTERNS = {"react": "agent_react", "plan-then-execute": "agent_plan", "supervisor": "agent_supervisor"}


class RagRequest(Wire):
    """What the three services have in common."""

    question: Question = Field(alias="query")
    streaming: bool = False
    session: Session = Field(default=None, alias="session_id")


class AgentRequest(RagRequest):
    """A question for an agent."""

    question: Question
    pattern: str | None = None


def graph_rag(connection: HTTPConnection, request: Mapping[str, Any]) -> Replies:
    """Answer from the graph, with the pipeline of the setting `gateway.graph_rag`."""
    service = allowed_to_ask(connection)
    asked = read_request(RagRequest, dict(request))
    parameters = {name: request[key] for key, name in _NUMBERS.items() if request.get(key) is not None}
    numbers = read_request(AskRequest, {"question": asked.question, **parameters}).steps()
    pipeline = service.engine.settings.of(GatewaySection).graph_rag
    return _run(connection, asked, pipeline, {**numbers, **_others(request)}, _rag_frames)


def document_rag(connection: HTTPConnection, request: Mapping[str, Any]) -> Replies:
    """Answer from chunks, with the pipeline `doc_rag`. The number 0 stands for the default."""
    allowed_to_ask(connection)
    asked = read_request(RagRequest, dict(request))
    numbers = {parameter: str(request[key]) for key, parameter in _CHUNKS.items() if request.get(key)}
    return _run(connection, asked, "doc_rag", {**numbers, **_others(request)}, _rag_frames)


def agent(connection: HTTPConnection, request: Mapping[str, Any]) -> Replies:
    """Answer by an agent: of the pattern that is asked for, else of one that it chooses."""
    allowed_to_ask(connection)
    asked = read_request(AgentRequest, dict(request))
    pipeline = _PATTERNS.get(asked.pattern, "") if asked.pattern else "agent"
    if not pipeline:
        raise Problem(
            400,
            tr("there is no pattern {pattern!r}").format(pattern=asked.pattern),
            hint=tr("patterns: {patterns}").format(patterns=", ".join(_PATTERNS)),
        )
    return _run(connection, asked, pipeline, _others(request), _agent_frames)


def _others(request: Mapping[str, Any]) -> dict[str, str]:
    return {name: "" for name in _OTHERS if request.get(name)}


async def _run(
    connection: HTTPConnection,
    asked: RagRequest,
    pipeline: str,
    optional: Mapping[str, str],
    frames: Callable[[GraphRagResponse, bool], Iterator[dict[str, Any]]],
) -> Replies:
    """The frames of a run; without streaming only the last one."""
    service = service_of(connection)

    def begin() -> Messages:
        return service.engine.ask(
            asked.question,
            pipeline,
            stored=not service.read_only,
            session=asked.session,
            new_session=True,
            optional=optional,
        )

    with service.concurrency.slot(client_of(connection)):
        run = service.runs.start(begin)
        try:
            async for message in run.items():
                if message is None:
                    continue
                seen(connection)
                if message.end_of_session and message.answer is None:
                    raise failed(message, service)
                for frame in frames(message, asked.streaming):
                    if asked.streaming or message.end_of_session:
                        yield frame, message.end_of_session
        finally:
            run.close()


# --- frames ---------------------------------------------------------------------------------------------


def _rag_frames(message: GraphRagResponse, streaming: bool) -> Iterator[dict[str, Any]]:
    if message.message_type == "explain":
        ends = {"response": "", "end_of_stream": False, "end_of_session": False}
        yield from ({**frame, **ends} for frame in _explained(message))
    elif message.answer is not None:
        yield {
            "message_type": "chunk",
            "response": "" if streaming else message.answer["answer"],
            "end_of_stream": True,
            "end_of_session": True,
            "sources": _sources(message.answer),
            **_usage(message),
        }
    elif message.kind == "answer":
        yield {
            "message_type": "chunk",
            "response": message.response,
            "end_of_stream": False,
            "end_of_session": False,
        }


def _agent_frames(message: GraphRagResponse, streaming: bool) -> Iterator[dict[str, Any]]:
    if message.message_type == "explain":
        yield from ({**frame, "content": ""} for frame in _explained(message))
    elif message.answer is not None:
        yield {
            "message_type": "answer",
            "content": "" if streaming else message.answer["answer"],
            "end_of_message": True,
            "end_of_dialog": True,
            "message_id": message.answer["steps"][-1]["iri"],
            **_usage(message),
        }
    else:  # thought, action, observation, answer
        yield {
            "message_type": message.kind,
            "content": message.response,
            "end_of_message": message.kind != "answer",
            "end_of_dialog": False,
        }


def _usage(message: GraphRagResponse) -> dict[str, Any]:
    usage = {"in_token": message.in_token, "out_token": message.out_token, "model": message.model}
    return {name: value for name, value in usage.items() if value is not None}


def _sources(answer: Mapping[str, Any]) -> list[dict[str, str]]:
    """The documents that an answer cites."""
    cited = (source for citation in answer["citations"] for source in citation["sources"])
    titles = {source["document"]: source["title"] for source in cited}
    return [{"uri": uri, "title": title} for uri, title in sorted(titles.items())]


def _explained(message: GraphRagResponse) -> Iterator[dict[str, Any]]:
    """The triples of a step.

    TrustGraph's client takes all for the step's own, and the last of each predicate counts. So those of the
    step come last, and thoughts, whose class it would take for the step's, in frames of their own. What the
    step and an item both have, such as a seed, comes once. Runs, which it does not know, are left out. A
    question is an activity, too, with the time at which it was asked.
    """
    if message.kind == "session" or message.explain_id is None:
        return
    step = NamedNode(message.explain_id)
    about: defaultdict[NamedNode, list[Quad]] = defaultdict(list)
    thoughts = {
        q.subject for q in message.explain_triples if q.predicate == RDF.type and q.object == TG.Thought
    }
    own = {(quad.predicate, quad.object) for quad in message.explain_triples if quad.subject == step}
    for quad in message.explain_triples:
        if quad.subject != step and (quad.predicate, quad.object) in own:
            continue
        about[quad.subject if quad.subject in thoughts else step].append(quad)  # type: ignore[index]
    for node, quads in about.items():
        quads.sort(key=lambda quad: quad.subject == step)
        times = [
            Quad(quad.subject, PROV.startedAtTime, quad.object, quad.graph_name)
            for quad in quads
            if message.kind == "question" and quad.predicate == PROV.generatedAtTime
        ]
        classes = [Quad(quad.subject, RDF.type, PROV.Activity, quad.graph_name) for quad in times]
        yield {
            "message_type": "explain",
            "explain_id": node.value,
            "explain_graph": message.explain_graph,
            "explain_triples": [quad_to_wire(quad) for quad in (*classes, *quads, *times)],
        }
