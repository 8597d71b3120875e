"""Servers with the interface of OpenAI, called without litellm, whose import takes 2 s and 200 MB.

vLLM, llama.cpp, LM Studio and others have this interface (platform.openai.com/docs/api-reference). For a
model there that litellm's list does not have, litellm would send the same request. Models in its list have
rules of their own, which litellm knows: see `library.client_for`.

Results have the attributes of those of litellm that the gateway reads; what a server leaves out is None.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

_CONNECTIONS = 1000
_OURS = frozenset(
    {"api_base", "api_key", "timeout", "drop_params", "no-log", "max_retries", "num_retries", "stream"}
    | {"_skip_mcp_handler", "model"}
)
"""Arguments for litellm or the connection; all others are sent."""


class Answer(dict[str, Any]):
    """A JSON object, with its keys as attributes; None for those that it lacks."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


class ServerError(Exception):
    """A server refused a request, or its answer cannot be read.

    Attributes:
        response: the answer.
        status_code: its status; 500 for an error within an answer.
    """

    def __init__(self, text: str, response: httpx.Response, status_code: int | None = None) -> None:
        super().__init__(text)
        self.response = response
        self.status_code = status_code or response.status_code


class MissingKeyError(Exception):
    """The server may want a key, and none is set."""

    status_code = 401


class OpenAiApi:
    """The part of litellm's interface that the gateway uses, for these servers."""

    def completion(self, *, stream: bool = False, **arguments: Any) -> Any:
        """An answer, or with `stream` a `Stream` of its pieces.

        Raises:
            ServerError, MissingKeyError, httpx.HTTPError: there is none.
        """
        request = _request("chat/completions", arguments, {"stream": True} if stream else {})
        if stream:
            return Stream(_send(request, stream=True))
        answer = _read(_send(request))
        for choice in answer.choices or ():
            _complete(choice.message)
        return answer

    def embedding(self, **arguments: Any) -> Any:
        """Vectors; errors as of `completion`."""
        return _read(_send(_request("embeddings", arguments, {})))

    def supports_function_calling(self, model: str) -> bool:  # noqa: ARG002  # the interface is litellm's
        """Whether a model is known to call functions: none of these is."""
        return False


class Stream:
    """The pieces of a streamed answer: server-sent events, each of one JSON object.

    Attributes:
        received_finish_reason: of the server. litellm's streams have `intermittent_finish_reason`, too.
    """

    intermittent_finish_reason = None

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.received_finish_reason: str | None = None

    def __iter__(self) -> Iterator[Answer]:
        for line in self.response.iter_lines():
            data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
            if data == "[DONE]":
                return
            if data:
                yield self._piece(data)

    def _piece(self, data: str) -> Answer:
        piece = _parsed(data, self.response)
        for choice in piece.choices or ():
            self.received_finish_reason = choice.finish_reason or self.received_finish_reason
            choice["delta"] = _complete(choice.delta or Answer())
        return piece


def _request(path: str, arguments: dict[str, Any], more: dict[str, Any]) -> httpx.Request:
    key = arguments["api_key"] or os.environ.get("OPENAI_API_KEY")
    if not key:
        raise MissingKeyError("no key is set")
    body = {name: value for name, value in arguments.items() if name not in _OURS} | more
    body["model"] = arguments["model"].removeprefix("openai/")
    return _client().build_request(
        "POST",
        f"{arguments['api_base'].rstrip('/')}/{path}",
        content=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        timeout=arguments["timeout"],
    )


@functools.cache
def _client() -> httpx.Client:
    """Connections for all threads of this process."""
    import httpx

    limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=100)
    return httpx.Client(limits=limits, follow_redirects=True)


def _send(request: httpx.Request, *, stream: bool = False) -> httpx.Response:
    response = _client().send(request, stream=stream)
    if response.status_code >= 400:
        try:
            response.read()
        finally:
            response.close()
        raise ServerError(response.text, response)
    return response


def _read(response: httpx.Response) -> Answer:
    return _parsed(response.text, response)


def _parsed(text: str, response: httpx.Response) -> Answer:
    """The object in an answer. A server may report an error in one that has a good status."""
    try:
        answer = json.loads(text, object_hook=Answer)
    except ValueError:
        raise ServerError(text, response, 500) from None
    if not isinstance(answer, Answer) or answer.error:
        raise ServerError(text, response, 500)
    return answer


def _complete(message: Answer) -> Answer:
    """A message with thinking and refusals where litellm has them."""
    message.setdefault("reasoning_content", message.reasoning)
    message["provider_specific_fields"] = {"refusal": message.refusal}
    return message
