"""Questions as spans, at a collector that receives them over the wire."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.commands import Outcome, documents_in, environment
from tests.support.scripted_server import ScriptedServer

QUESTION = "Who founded the Tarnay Electric Light Company?"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[Any]]]:
    """The address of a collector, and the spans that it received."""
    spans: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = ExportTraceServiceRequest()
            request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
            for resource in request.resource_spans:
                spans.extend(span for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", spans
        server.shutdown()


def run(store: Path, *words: str, **variables: str) -> Outcome:
    command = [sys.executable, "-m", "graphrag_rdf", words[0], "--store", str(store), *words[1:]]
    done = subprocess.run(command, env=environment(**variables), capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two documents, read without a model."""
    folder = tmp_path_factory.mktemp("telemetry")
    assert run(folder / "store", "ingest", str(documents_in(folder))).code == 0
    return folder / "store"


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def test_a_question_its_steps_and_their_calls(
    store: Path, collector: tuple[str, list[Any]], scripted_server: ScriptedServer
) -> None:
    address, spans = collector
    variables = model_at(scripted_server.base_url, OTEL_EXPORTER_OTLP_ENDPOINT=address)
    asked = run(store, "ask", QUESTION, "--format", "json", **variables)
    assert asked.code == 0, asked.err
    (root,) = (span for span in spans if not span.parent_span_id)
    assert root.name == "ask graph_rag"
    assert attributes(root)["rag.trace"] == asked.json["question_iri"]
    steps = {span.span_id: span for span in spans if span.parent_span_id == root.span_id}
    assert [span.name for span in steps.values()] == [step["type"] for step in asked.json["steps"][1:]]
    calls = [span for span in spans if span.parent_span_id in steps]
    assert len(spans) == 1 + len(steps) + len(calls)
    for span in calls:
        step = steps[span.parent_span_id]
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= step.end_time_unix_nano <= root.end_time_unix_nano
    chats = [attributes(span) for span in calls if span.name == "chat openai/scripted"]
    assert chats[0]["gen_ai.request.model"] == "openai/scripted"
    assert sum(chat["gen_ai.usage.input_tokens"] for chat in chats) == asked.json["usage"]["in_tokens"] > 0
    assert any(span.name.startswith("SPARQL retrieval/") for span in calls)
    assert QUESTION not in str(spans)


def test_a_failed_question_is_an_error(store: Path, collector: tuple[str, list[Any]]) -> None:
    address, spans = collector
    away = model_at(
        "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_ENDPOINT=address, GRAPHRAG_RDF_LLM__MAX_RETRIES="0"
    )
    assert run(store, "ask", QUESTION, **away).code == 1
    (root,) = (span for span in spans if not span.parent_span_id)
    assert (root.status.code, root.status.message) == (2, "graph-rag-error")


def model_at(address: str, **more: str) -> dict[str, str]:
    """The environment for a model at this address."""
    prefix = "GRAPHRAG_RDF_LLM__"
    return {f"{prefix}MODEL": "openai/scripted", f"{prefix}API_BASE": address, "OPENAI_API_KEY": "x", **more}


def test_nothing_is_exported_unless_a_collector_is_named(
    store: Path, collector: tuple[str, list[Any]]
) -> None:
    _, spans = collector
    assert run(store, "ask", QUESTION).code == 0
    assert spans == []


def test_a_collector_that_is_away_does_not_hold_up_an_answer(store: Path) -> None:
    asked = run(store, "ask", QUESTION, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert asked.code == 0
    assert "Walter Pennock founded" in asked.out
    assert "Traceback" not in asked.err
