"""What a path of the server declares: routes of the core and of wings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from graphrag_rdf.server.http.problems import Problem

JSON = ("application/json",)
STREAM = (*JSON, "text/event-stream")
ANY: dict[str, Any] = {"application/json": {"type": "object"}}
"""Any JSON object, as the body of a request."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path and its methods.

    Attributes:
        summary: what it does; a route without one is not described.
        parameters: names of those in the URL.
        takes: of the body: media type → schema, or the model of its JSON.
        gives: media types of the answer.
        guarded: it needs a token, whatever the settings.
        error_form: how its clients get errors; None: as problem documents.
    """

    path: str
    methods: str
    endpoint: Any
    summary: str = ""
    parameters: str = ""
    takes: dict[str, Any] | type[BaseModel] | None = None
    gives: tuple[str, ...] = JSON
    guarded: bool = False
    error_form: Callable[[Problem], Response] | None = None
