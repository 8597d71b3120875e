"""`/diagnostics`: what doctor tells, over HTTP."""

from __future__ import annotations

from tests.support.endpoint import ADMIN, Endpoint


def test_settings_and_weights_come_with_their_origin(guarded: Endpoint) -> None:
    with guarded.client(ADMIN) as client:
        told = client.get("/diagnostics").json()
    assert told["settings"]["server.cors"]["origin"] == "environment"
    assert told["settings"]["store"]["origin"] == "command line"
    assert told["weights"]["graph_rag.exploration.passage_words"]["origin"] == "default"
    assert told["versions"]["graphrag-rdf"]
    assert {"feature_flags", "noise_control", "relation_counts", "entity_aliases"} <= told.keys()
    assert "no_llm" in {warning["type"] for warning in told["warnings"]}
