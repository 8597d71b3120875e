"""`/diagnostics`: what doctor tells, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.conftest import copy_of
from tests.support.endpoint import ADMIN, Endpoint


def test_a_default_server_answers_this_computer(answering: Endpoint) -> None:
    with answering.client() as client:
        assert "feature_flags" in client.get("/diagnostics").json()
        for header in ("X-Forwarded-For", "Forwarded", "Via"):
            refused = client.get("/diagnostics", headers={header: "203.0.113.7"})
            assert refused.status_code == 401, "it comes through a proxy"


@pytest.mark.parametrize(
    "options", [("--allow-host", "data.example.org"), ("--host", "0.0.0.0"), ("--anonymous", "nothing")]
)
def test_a_server_for_others_keeps_it_to_administrators(
    documents_store: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    with (
        Endpoint.start(copy_of(documents_store, tmp_path), *options) as endpoint,
        endpoint.client() as client,
    ):
        assert client.get("/diagnostics").status_code == 401


def test_settings_and_weights_come_with_their_origin(guarded: Endpoint) -> None:
    with guarded.client(ADMIN) as client:
        told = client.get("/diagnostics").json()
    assert told["settings"]["server.cors"]["origin"] == "environment"
    assert told["settings"]["store"]["origin"] == "command line"
    assert told["weights"]["graph_rag.exploration.passage_words"]["origin"] == "default"
    assert told["versions"]["graphrag-rdf"]
    assert {"feature_flags", "noise_control", "relation_counts", "entity_aliases"} <= told.keys()
    assert "no_llm" in {warning["type"] for warning in told["warnings"]}
