"""Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.server.http.negotiation import parse_accept
from graphrag_rdf.trace.messages import GraphRagResponse

EVENTS = "text/event-stream"

BEAT = 15.0
"""Seconds of silence after which a stream sends a comment."""

ALIVE = ": still running\n\n"


def wants_events(request: Request) -> bool:
    """Whether Accept names events, and does not prefer JSON."""
    quality = {r.type: r.quality for r in parse_accept(request.headers.get("accept", ""))}
    return quality.get(EVENTS, 0) > 0 and quality[EVENTS] >= quality.get("application/json", 0)


def event(kind: str, data: dict[str, Any], identifier: str | None = None) -> str:
    """One event; its JSON is on one line."""
    head = "" if identifier is None else f"id: {identifier}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def message_event(message: GraphRagResponse) -> str:
    """A message of a run as an event; over a WebSocket its JSON is sent as it is."""
    return event(message.kind, to_json(message), message.message_id)
