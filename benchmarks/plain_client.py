"""The command line with a client of almost no cost in place of litellm: what would remain of a run's time.

    python -m benchmarks.plain_client ingest …      # as `graphrag-rdf ingest …`

Only for measuring: it knows neither errors nor streams, and only servers with OpenAI's API.
"""

from __future__ import annotations

import http.client
import json
import threading
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from graphrag_rdf.llm import gateway

_SENT = ("temperature", "max_tokens", "seed", "response_format")
_held = threading.local()


class PlainClient:
    """What the gateway uses of litellm, over one connection for each thread."""

    @staticmethod
    def completion(*, model: str, messages: Any, api_base: str, **options: Any) -> Any:
        """Ask for an answer."""
        sent = {name: options[name] for name in _SENT if name in options}
        found = _post(api_base, "/chat/completions", {"model": model, "messages": messages, **sent})
        choices = [
            SimpleNamespace(
                finish_reason=choice["finish_reason"],
                message=SimpleNamespace(content=choice["message"]["content"]),
            )
            for choice in found["choices"]
        ]
        return SimpleNamespace(choices=choices, usage=_usage(found))

    @staticmethod
    def embedding(*, model: str, input: list[str], api_base: str, encoding_format: str, **_: Any) -> Any:  # noqa: A002
        """Ask for vectors."""
        sent = {"model": model, "input": input, "encoding_format": encoding_format}
        found = _post(api_base, "/embeddings", sent)
        return SimpleNamespace(data=found["data"], usage=_usage(found))


def _post(base: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    address = urlsplit(base)
    connection = getattr(_held, "connection", None)
    if connection is None:
        connection = _held.connection = http.client.HTTPConnection(address.hostname or "", address.port)
    body["model"] = body["model"].partition("/")[2]
    connection.request(
        "POST", address.path + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != http.client.OK:
        raise SystemExit(f"{path}: status {answer.status}: {text[:500]!r}")
    found: dict[str, Any] = json.loads(text)
    return found


def _usage(found: dict[str, Any]) -> Any:
    counted = found.get("usage")
    if counted is None:
        return None
    counts = {"completion_tokens": 0, "prompt_tokens_details": None, "completion_tokens_details": None}
    return SimpleNamespace(**counts | counted)


def main() -> None:
    """Run a command."""
    from graphrag_rdf import cli

    for name, plain in {
        "litellm_for": lambda _: PlainClient,
        "has_price": lambda _: False,
        "price_of": lambda *_: None,
    }.items():
        setattr(gateway, name, plain)
    cli.main()


if __name__ == "__main__":
    main()
