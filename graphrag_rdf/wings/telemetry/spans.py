"""A question as spans: the question, its steps, and the queries and model calls of each step.

The spans are made of the messages of a run, which carry what its trace has. Attributes follow the semantic
conventions of OpenTelemetry for generative AI and for databases. No text of a question, prompt or answer is
exported: `rag.trace` names the trace that has them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Mapping
from contextlib import closing
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG
from graphrag_rdf.trace.messages import GraphRagResponse

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

    from graphrag_rdf.engine import Engine

log = logging.getLogger(__name__)

_ADDRESSES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_TIMEOUT = 2
"""Seconds in which a collector must have taken the spans, as a command does not end before."""
_OPERATIONS = {RAG.LlmCall: "chat", RAG.EmbeddingCall: "embeddings", RAG.RerankCall: "rerank"}
_NUMBERS = {
    "gen_ai.usage.input_tokens": TG.inToken,
    "gen_ai.usage.output_tokens": TG.outToken,
    "db.response.returned_rows": RAG.rowCount,
}


def enabled() -> bool:
    """Whether the environment names a collector, and does not switch OpenTelemetry off."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not off and any(os.environ.get(name) for name in _ADDRESSES)


def flags(_engine: Engine, _indexes: Mapping[str, Any]) -> dict[str, bool]:
    """For `doctor`: whether questions are exported."""
    return {"telemetry_enabled": enabled()}


@cache
def _tracer() -> Tracer | None:
    """The tracer of this process; None, with a warning, if the packages are not installed.

    A provider that the program around us has set is used as it is.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning(
            tr("OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: {command}").format(
                command='pip install "graphrag-rdf[otel]"'
            )
        )
        return None
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        named = Resource.create(
            {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "graphrag-rdf"}
        )
        provider = TracerProvider(resource=named)
        timeout = None if os.environ.get("OTEL_EXPORTER_OTLP_TIMEOUT") else _TIMEOUT
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=timeout)))
        trace.set_tracer_provider(provider)
    return trace.get_tracer("graphrag_rdf")


def watched(
    run: Generator[GraphRagResponse, None, None],
) -> Generator[GraphRagResponse, None, None]:
    """The messages of a run, which also become spans, if the environment names a collector."""
    tracer = _tracer() if enabled() else None
    return run if tracer is None else _spans(run, tracer)


def _spans(
    run: Generator[GraphRagResponse, None, None], tracer: Tracer
) -> Generator[GraphRagResponse, None, None]:
    from opentelemetry.trace import StatusCode, set_span_in_context

    spans: dict[str | None, Span] = {}  # of the run, and of the runs that its steps start, by their session
    root: Span | None = None
    finished = False
    try:
        with closing(run):
            for message in run:
                if message.kind == "session" and message.message_type == "explain":
                    about = _nodes(message.explain_triples)[NamedNode(str(message.explain_id))]
                    pipeline = about[RAG.pipeline].value
                    within = set_span_in_context(root) if root else None
                    span = tracer.start_span(f"ask {pipeline}", context=within)
                    span.set_attribute("rag.pipeline", pipeline)
                    spans[message.run] = span
                    root = root or span
                elif message.kind == "question" and message.message_type == "explain":
                    spans[message.run].set_attribute("rag.trace", str(message.explain_id))
                elif message.message_type == "explain" and message.run in spans:
                    _step(message, tracer, set_span_in_context(spans[message.run]))
                elif message.end_of_session and root is not None:
                    finished = True
                    if message.error:
                        root.set_status(StatusCode.ERROR, message.error["type"])
                yield message
    finally:
        if root is not None and not finished:
            root.set_status(StatusCode.ERROR, "cancelled")
        for span in reversed(spans.values()):
            span.end()


def _step(message: GraphRagResponse, tracer: Tracer, within: Context) -> None:
    """The span of a step, and those of its calls.

    A trace keeps how long a call took, and not when it began: the spans of calls follow one another, and
    one for which no time is left ends with the step.
    """
    from opentelemetry.trace import set_span_in_context

    nodes = _nodes(message.explain_triples)
    about = nodes[NamedNode(str(message.explain_id))]
    if RAG.startedAt not in about:
        return
    start, end = _time(about[RAG.startedAt]), _time(about[PROV.generatedAtTime])
    step = tracer.start_span(message.kind, context=within, start_time=start)
    step.set_attribute("rag.step", str(message.explain_id))
    inner = set_span_in_context(step)
    at = start
    for call in nodes.values():
        if RAG.durationMs in call and (made := _call(call)) is not None:
            name, attributes = made
            took = int(call[RAG.durationMs].value) * 1_000_000
            begun = min(at, end - took)
            span = tracer.start_span(name, context=inner, start_time=begun, attributes=attributes)
            at = begun + took
            span.end(at)
    step.end(end)


def _call(about: Mapping[NamedNode, Any]) -> tuple[str, dict[str, str | int]] | None:
    """Name and attributes of the span of a query or a call to a model; None of other items."""
    attributes: dict[str, str | int] = {
        name: int(about[predicate].value) for name, predicate in _NUMBERS.items() if predicate in about
    }
    if RAG.template in about:
        template = about[RAG.template].value
        return f"SPARQL {template}", {"db.query.summary": template, **attributes}
    operation = _OPERATIONS.get(about[RDF.type])
    if operation is None or TG.llmModel not in about:
        return None
    model = about[TG.llmModel].value
    attributes |= {"gen_ai.operation.name": operation, "gen_ai.request.model": model}
    if "/" in model:
        attributes["gen_ai.provider.name"] = model.split("/")[0]
    return f"{operation} {model}", attributes


def _nodes(quads: tuple[Quad, ...]) -> dict[Any, dict[NamedNode, Any]]:
    nodes: dict[Any, dict[NamedNode, Any]] = {}
    for quad in quads:
        nodes.setdefault(quad.subject, {})[quad.predicate] = quad.object
    return nodes


def _time(literal: Any) -> int:
    """Nanoseconds since 1970."""
    return int(datetime.fromisoformat(literal.value).timestamp() * 1_000_000) * 1_000
