"""An OpenAI-compatible server on loopback whose every answer a test decides.

Speaks chat (streaming or not), embeddings and rerank, so that the code under test goes over a real
wire. What it answers, first match wins: a reply queued by `script`, the handler set by `answer_with`,
the default (`extract_answer` for prompts that hold a `<text>`, otherwise "ok").
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
import math
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as it came in.

    Attributes:
        path: path of the URL.
        headers: names in lower case.
        body: the JSON body.
        at: `time.monotonic()` of its arrival.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat messages, empty for other requests."""
        found: list[dict[str, Any]] = self.body.get("messages", [])
        return found

    @property
    def prompt(self) -> str:
        """All message texts, joined by line ends."""
        return "\n".join(str(message["content"]) for message in self.messages)


@dataclass(frozen=True)
class Reply:
    """How to answer one request.

    Attributes:
        text: the completion; None is sent as JSON null.
        status: HTTP status; from 400 on, `text` is the error's message.
        headers: extra response headers.
        finish_reason: of the choice; None is sent as null (a stream never says that it ended).
        usage: whether token counts are told.
        choices: False sends an empty list of choices.
        delay: seconds before the answer begins.
        chunk_delay: seconds before each further chunk of a stream.
        chunk_size: characters in a chunk of a stream.
        cut_after: close the connection after so many bytes of the body (a stream: so many chunks).
        stall_after: a stream says nothing more after so many chunks, and stays open.
        hang: accept the request, then say nothing until the client leaves or the server stops.
        raw: send these bytes as the body instead, whatever was asked.
        content_type: of the body.
    """

    text: str | None = "ok"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    finish_reason: str | None = "stop"
    usage: bool = True
    choices: bool = True
    delay: float = 0.0
    chunk_delay: float = 0.0
    chunk_size: int = 8
    cut_after: int | None = None
    stall_after: int | None = None
    hang: bool = False
    raw: bytes | None = None
    content_type: str = "application/json"


HTML_ERROR = Reply(raw=b"<html><h1>502 Bad Gateway</h1></html>", status=502, content_type="text/html")
HTML_PAGE = Reply(raw=b"<html><body>Log in</body></html>", content_type="text/html")

Handler = Callable[[Request], "Reply | str | None"]

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_TEXT = re.compile(r"<text>\n?(.*?)\n?</text>", re.DOTALL)


def extract_answer(text: str) -> str:
    """What a diligent but simple model finds: capitalised phrases; neighbours in a sentence are related by
    the words between them; the sentence is the quote.

    Args:
        text: a chunk.

    Returns:
        the JSON answer that the extraction prompt asks for.
    """
    entities: dict[str, dict[str, object]] = {}
    relations: list[dict[str, object]] = []
    for sentence in _SENTENCE.findall(text):
        found = list(_NAME.finditer(sentence))
        for match in found:
            name = match.group()
            entities.setdefault(name, {"name": name, "type": "thing", "definition": sentence.strip()})
        for left, right in itertools.pairwise(found):
            between = sentence[left.end() : right.start()].strip(" ,;:")
            if between and left.group() != right.group():
                relations.append(
                    {
                        "subject": left.group(),
                        "predicate": between.lower(),
                        "object": right.group(),
                        "object_is_entity": True,
                        "evidence": sentence.strip(),
                        "confidence": 0.9,
                    }
                )
    return json.dumps({"entities": list(entities.values()), "relations": relations}, ensure_ascii=False)


def extract_answers(texts: Sequence[str]) -> str:
    """The answer about one text, or about several in one call."""
    if len(texts) == 1:
        return extract_answer(texts[0])
    parts = [{"passage": number, **json.loads(extract_answer(text))} for number, text in enumerate(texts, 1)]
    return json.dumps({"passages": parts}, ensure_ascii=False)


def offered(prompt: str) -> dict[str, str]:
    """What a prompt with evidence offers: the numbers of sentences and facts, with their words. Those of a
    fact begin with "fact: ".
    """
    evidence = prompt.partition("<evidence>")[2]
    return dict(re.findall(r"^ *\[?(\d+)(?:\.|\]\*?) (.*)$", evidence, re.MULTILINE))


def in_parts(prompt: str, chosen: list[dict[str, Any]], answer: str) -> str:
    """What a model writes to a prompt for an answer: notes of what it chose, and the answer or what is
    missing.

    Args:
        chosen: `id` and `reasoning` of lines that it needs, and what is `missing`, if the prompt asks for it.
    """
    if "Write in two parts" not in prompt:
        return answer
    notes = [f"[{one['id']}] {one.get('reasoning', '')}" for one in chosen if one.get("id", "none") != "none"]
    missing = [str(one["missing"]) for one in chosen if "missing" in one] if "MISSING:" in prompt else []
    return "\n".join([*notes, f"MISSING: {'; '.join(missing)}" if missing else f"ANSWER: {answer}"])


def shown(prompt: str) -> dict[str, str]:
    """The numbered lines of an answer's prompt."""
    evidence = prompt.partition("<evidence>")[2]
    return dict(re.findall(r"^\[(\d+)\]\*? (.+)$", evidence, re.MULTILINE))


def number_of(lines: dict[str, str], words: str) -> str:
    """The number of the sentence, offered or shown, that has these words."""
    return next(key for key, line in lines.items() if words in line and not line.startswith("fact: "))


def hashed_vector(text: str, dimensions: int) -> list[float]:
    """A unit vector of the hashed words of `text`: equal texts are equal, texts that share words are near."""
    vector = [0.0] * dimensions
    for word in _WORD.findall(text.lower()):
        digest = hashlib.sha256(word.encode()).digest()
        vector[struct.unpack(">I", digest[:4])[0] % dimensions] += 1.0
    norm = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / norm for value in vector]


def _overlap(query: str, document: str) -> float:
    asked = set(_WORD.findall(query.lower()))
    return len(asked & set(_WORD.findall(document.lower()))) / (len(asked) or 1)


class ScriptedServer:
    """The server; a context manager that serves while it is open.

    Attributes:
        requests: everything asked so far, in order of arrival.
        dimensions: length of the embeddings.
        knows_base64: whether embeddings come as base64 when asked for so; False for a simpler server.
        closed_early: how often a client left before a stream was through.
        most_active: the most requests that waited for their answers at the same time.
    """

    def __init__(self, dimensions: int = 32) -> None:
        self.dimensions = dimensions
        self.requests: list[Request] = []
        self.knows_base64 = True
        self.closed_early = 0
        self.active = 0
        self.most_active = 0
        self._queue: deque[Reply | str | Handler] = deque()
        self._handler: Handler | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _RequestHandler)
        self._http.scripted = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    @property
    def host_url(self) -> str:
        """URL without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What a client is given as `api_base`."""
        return f"{self.host_url}/v1"

    def script(self, *replies: Reply | str | Handler) -> None:
        """Queue replies, one a request: a reply, the text of an ordinary one, or a function of a request."""
        with self._lock:
            self._queue.extend(replies)

    def answer_with(self, handler: Handler | None) -> None:
        """Answer every chat request that nothing is queued for; a handler's None means the default."""
        self._handler = handler

    def reset(self) -> None:
        """Forget requests, queue and handler."""
        with self._lock:
            self.requests.clear()
            self._queue.clear()
            self._handler = None
            self.knows_base64 = True
            self.most_active = 0

    def reply_to(self, request: Request) -> Reply:
        """The reply that is due to a request."""
        with self._lock:
            self.requests.append(request)
            queued = self._queue.popleft() if self._queue else None
        source = queued if queued is not None else self._handler if request.messages else None
        reply = source(request) if callable(source) else source
        if reply is None:
            texts = _TEXT.findall(request.messages[-1]["content"]) if request.messages else []
            reply = extract_answers(texts) if texts else "ok"
        return reply if isinstance(reply, Reply) else Reply(text=reply)

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count a request as under way, until its answer begins."""
        with self._lock:
            self.active += 1
            self.most_active = max(self.most_active, self.active)
        try:
            yield
        finally:
            with self._lock:
                self.active -= 1

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than the server lives."""
        self._stopping.wait(seconds)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    scripted: ScriptedServer

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the play."""

    def close_connections(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Tests read `requests`, not a log."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(raw or b"{}"), time.monotonic())
        scripted = self.server.scripted
        with scripted.counting():
            reply = scripted.reply_to(request)
            if reply.delay:
                scripted.wait(reply.delay)
        if reply.hang:
            scripted.wait(3600)
            self.close_connection = True
        elif reply.raw is not None or reply.status >= 400:
            self._send(reply, reply.raw if reply.raw is not None else _error(reply))
        elif request.body.get("stream"):
            self._stream(reply, request)
        else:
            self._send(reply, json.dumps(self._body(reply, request), ensure_ascii=False).encode())

    def _body(self, reply: Reply, request: Request) -> dict[str, Any]:
        body, path = request.body, request.path
        if path.endswith("/embeddings"):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            vectors: list[Any] = [hashed_vector(text, self.server.scripted.dimensions) for text in texts]
            if body.get("encoding_format") == "base64" and self.server.scripted.knows_base64:
                vectors = [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in vectors]
            return {
                "object": "list",
                "model": body.get("model"),
                "data": [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)],
            } | _usage(reply, len("".join(texts)), None)
        if path.endswith("/rerank"):
            scores = [_overlap(body["query"], str(document)) for document in body["documents"]]
            order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[: body.get("top_n")]
            results = [{"index": i, "relevance_score": scores[i]} for i in order]
            return {
                "id": "rerank-scripted",
                "results": results,
                "meta": {"billed_units": {"search_units": 1}},
            }
        message = {"role": "assistant", "content": reply.text}
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        head = _head(request) | {"object": "chat.completion", "choices": [choice] if reply.choices else []}
        return head | _usage(reply, len(request.prompt), len(reply.text or ""))

    def _send(self, reply: Reply, body: bytes) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: reply.cut_after] if reply.cut_after is not None else body)
        self.close_connection = reply.cut_after is not None

    def _stream(self, reply: Reply, request: Request) -> None:
        """Server-sent events in HTTP chunks; cutting leaves out the last chunk, as a broken line does."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for number, event in enumerate(self._events(reply, request)):
                if reply.cut_after is not None and number >= reply.cut_after:
                    self.close_connection = True
                    return
                if number == reply.stall_after:
                    self.server.scripted.wait(3600)
                if number and reply.chunk_delay:
                    self.server.scripted.wait(reply.chunk_delay)
                data = f"data: {event}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.scripted.closed_early += 1
            self.close_connection = True

    @staticmethod
    def _events(reply: Reply, request: Request) -> Iterator[str]:
        head = _head(request) | {"object": "chat.completion.chunk"}
        text = reply.text or ""

        def event(delta: dict[str, Any], finish_reason: str | None = None) -> str:
            return json.dumps(
                head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}
            )

        yield event({"role": "assistant", "content": ""})
        for start in range(0, len(text), reply.chunk_size):
            yield event({"content": text[start : start + reply.chunk_size]})
        if reply.finish_reason is not None:
            yield event({}, reply.finish_reason)
        if reply.usage and (request.body.get("stream_options") or {}).get("include_usage"):
            yield json.dumps(head | {"choices": []} | _usage(reply, len(request.prompt), len(text)))
        yield "[DONE]"


def _head(request: Request) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "created": 1_700_000_000, "model": request.body.get("model")}


def _usage(reply: Reply, read: int, written: int | None) -> dict[str, Any]:
    """Token counts as a quarter of the characters, rounded up; nothing when the reply tells none."""
    if not reply.usage:
        return {}
    counts = {"prompt_tokens": -(-read // 4)}
    if written is not None:
        counts["completion_tokens"] = -(-written // 4)
    return {"usage": counts | {"total_tokens": sum(counts.values())}}


def _error(reply: Reply) -> bytes:
    return json.dumps({"error": {"message": reply.text, "type": "scripted", "code": None}}).encode()
