"""What model servers send, as data: answers, malformed outputs, refusals and streams, in their forms.

Each form is that of the server's documentation or source, with words of ours; none was recorded live here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.support.scripted_server import Reply


@dataclass(frozen=True)
class Server:
    """How a server is addressed.

    Attributes:
        model: litellm's name.
        base: what follows the host in `llm.api_base`.
        path: where chats arrive.
    """

    model: str
    base: str
    path: str


SERVERS = {
    "OpenAI": Server("openai/gpt-4.1-mini", "/v1", "/v1/chat/completions"),
    "Anthropic": Server("anthropic/claude-sonnet-4-5", "", "/v1/messages"),
    "Azure": Server("azure/our-deployment", "", "/openai/deployments/our-deployment/chat/completions"),
    "Ollama": Server("ollama_chat/qwen3", "", "/api/chat"),
    "LM Studio": Server("openai/qwen3-8b", "/v1", "/v1/chat/completions"),
    "vLLM": Server("openai/Qwen/Qwen3-8B", "/v1", "/v1/chat/completions"),
    "llama.cpp": Server("openai/qwen3-8b.gguf", "/v1", "/v1/chat/completions"),
}


def _raw(body: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(raw=json.dumps(body).encode(), status=status, headers=headers)


def _openai(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> Reply:
    """An answer in the form of the OpenAI interface, which most servers have."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": finish,
        "logprobs": None,
    }
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return _raw(body | {"usage": usage} | more)


def _error(status: int, message: str, **more: Any) -> Reply:
    headers = {"Retry-After": "1"} if status == 429 else {}
    return _raw({"error": {"message": message, **more}}, status, **headers)


def _events(*events: Any, done: bool = True) -> Reply:
    lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"] * done
    return Reply(raw="".join(lines).encode(), content_type="text/event-stream")


def _delta(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    } | more


_USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def _anthropic(*content: dict[str, Any], stop: str = "end_turn") -> Reply:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    usage = {"input_tokens": 5, "output_tokens": 2}
    return _raw(head | {"content": list(content), "stop_reason": stop, "stop_sequence": None, "usage": usage})


def _anthropic_error(status: int, kind: str, message: str) -> Reply:
    return _raw({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}, status)


def _anthropic_events(*events: dict[str, Any]) -> Reply:
    start = {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 5, "output_tokens": 1},
        },
    }
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in (start, *events)]
    return Reply(raw="".join(lines).encode(), content_type="text/event-stream")


def _block(index: int, kind: str, text: str) -> list[dict[str, Any]]:
    field = "thinking" if kind == "thinking" else "text"
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, field: ""}},
        {"type": "content_block_delta", "index": index, "delta": {"type": f"{field}_delta", field: text}},
        {"type": "content_block_stop", "index": index},
    ]


def _anthropic_end(stop: str = "end_turn") -> list[dict[str, Any]]:
    usage = {"output_tokens": 2}
    return [
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def _ollama(message: dict[str, Any], reason: str = "stop") -> dict[str, Any]:
    counts = {"prompt_eval_count": 5, "eval_count": 2}
    head = {
        "model": "qwen3",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", **message},
    }
    return head | {"done": True, "done_reason": reason} | counts


def _ndjson(*lines: Any) -> Reply:
    body = "".join(json.dumps(line) + "\n" for line in lines)
    return Reply(raw=body.encode(), content_type="application/x-ndjson")


def _part(**message: str) -> dict[str, Any]:
    head = {"model": "qwen3", "created_at": "2026-01-01T00:00:00Z"}
    return head | {"message": {"role": "assistant", **message}, "done": False}


ANSWERS: list[tuple[str, str, Reply, str, str | None]] = [
    ("OpenAI", "plain", _openai({"content": "ok", "refusal": None}), "ok", "stop"),
    ("OpenAI", "cut off", _openai({"content": "o"}, "length"), "o", "length"),
    ("OpenAI", "refused", _openai({"content": None, "refusal": "I can't."}), "I can't.", "stop"),
    ("Anthropic", "plain", _anthropic({"type": "text", "text": "ok"}), "ok", "stop"),
    ("Anthropic", "cut off", _anthropic({"type": "text", "text": "o"}, stop="max_tokens"), "o", "length"),
    (
        "Anthropic",
        "thinking",
        _anthropic({"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "ok"}),
        "ok",
        "stop",
    ),
    (
        "Anthropic",
        "two blocks",
        _anthropic({"type": "text", "text": "o"}, {"type": "text", "text": "k"}),
        "ok",
        "stop",
    ),
    (
        "Azure",
        "with filter results",
        _openai({"content": "ok"}, prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {}}]),
        "ok",
        "stop",
    ),
    ("Ollama", "plain", _raw(_ollama({"content": "ok"})), "ok", "stop"),
    ("Ollama", "cut off", _raw(_ollama({"content": "o"}, "length")), "o", "length"),
    ("Ollama", "thinking", _raw(_ollama({"content": "ok", "thinking": "hm"})), "ok", "stop"),
    ("Ollama", "thinking in the text", _raw(_ollama({"content": "<think>hm</think>ok"})), "ok", "stop"),
    (
        "LM Studio",
        "with statistics",
        _openai({"content": "ok"}, stats={"tokens_per_second": 40.0}),
        "ok",
        "stop",
    ),
    ("LM Studio", "thinking in the text", _openai({"content": "<think>hm</think>\n\nok"}), "ok", "stop"),
    ("vLLM", "plain", _openai({"content": "ok"}), "ok", "stop"),
    ("vLLM", "thinking apart", _openai({"content": "ok", "reasoning_content": "hm"}), "ok", "stop"),
    ("vLLM", "thinking apart, newer", _openai({"content": "ok", "reasoning": "hm"}), "ok", "stop"),
    ("vLLM", "thinking without its first tag", _openai({"content": "hm</think>ok"}), "ok", "stop"),
    (
        "vLLM",
        "nothing but thinking",
        _openai({"content": None, "reasoning_content": "hm"}, "length"),
        "",
        "length",
    ),
    ("llama.cpp", "with timings", _openai({"content": "ok"}, timings={"prompt_n": 5}), "ok", "stop"),
    ("llama.cpp", "without usage", _openai({"content": "ok"}, usage=None), "ok", "stop"),
]
"""(server, what, reply, text, finish reason)."""

STREAMS: list[tuple[str, str, Reply, str | None, str | None]] = [
    (
        "OpenAI",
        "usage at the end",
        _events(
            _delta({"role": "assistant", "content": ""}),
            _delta({"content": "ok"}),
            _delta({}, "stop"),
            _delta({}, usage=_USAGE) | {"choices": []},
        ),
        "ok",
        "stop",
    ),
    (
        "OpenAI",
        "error in the middle",
        _events(
            _delta({"content": "o"}), {"error": {"message": "broke", "type": "server_error"}}, done=False
        ),
        None,
        None,
    ),
    (
        "Anthropic",
        "thinking",
        _anthropic_events(*_block(0, "thinking", "hm"), *_block(1, "text", "ok"), *_anthropic_end()),
        "ok",
        "stop",
    ),
    (
        "Anthropic",
        "cut off",
        _anthropic_events(*_block(0, "text", "o"), *_anthropic_end("max_tokens")),
        "o",
        "length",
    ),
    (
        "Anthropic",
        "with pings",
        _anthropic_events({"type": "ping"}, *_block(0, "text", "ok"), {"type": "ping"}, *_anthropic_end()),
        "ok",
        "stop",
    ),
    (
        "Anthropic",
        "overloaded in the middle",
        _anthropic_events(
            *_block(0, "text", "o"),
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
        ),
        None,
        None,
    ),
    (
        "Azure",
        "filter results first",
        _events(
            {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []},
            _delta({"content": "ok"}),
            _delta({}, "stop"),
        ),
        "ok",
        "stop",
    ),
    (
        "Azure",
        "withheld",
        _events(_delta({"content": "o"}), _delta({}, "content_filter")),
        "o",
        "content_filter",
    ),
    (
        "Ollama",
        "plain",
        _ndjson(_part(content="o"), _part(content="k"), _ollama({"content": ""})),
        "ok",
        "stop",
    ),
    (
        "Ollama",
        "thinking",
        _ndjson(_part(content="", thinking="hm"), _part(content="ok"), _ollama({"content": ""})),
        "ok",
        "stop",
    ),
    (
        "Ollama",
        "thinking in the text",
        _ndjson(
            _part(content="<think>"),
            _part(content="hm</think>"),
            _part(content="ok"),
            _ollama({"content": ""}),
        ),
        "ok",
        "stop",
    ),
    ("Ollama", "cut off", _ndjson(_part(content="o"), _ollama({"content": ""}, "length")), "o", "length"),
    ("Ollama", "error in the middle", _ndjson(_part(content="o"), {"error": "out of memory"}), None, None),
    (
        "LM Studio",
        "thinking in the text",
        _events(
            _delta({"content": "<th"}),
            _delta({"content": "ink>hm</think>"}),
            _delta({"content": "ok"}),
            _delta({}, "stop"),
        ),
        "ok",
        "stop",
    ),
    (
        "LM Studio",
        "error event",
        Reply(
            raw=b'event: error\ndata: {"error":{"message":"the model was unloaded"}}\n\n',
            content_type="text/event-stream",
        ),
        None,
        None,
    ),
    (
        "vLLM",
        "thinking apart",
        _events(_delta({"reasoning_content": "hm"}), _delta({"content": "ok"}), _delta({}, "stop")),
        "ok",
        "stop",
    ),
    (
        "vLLM",
        "usage in each",
        _events(_delta({"content": "o"}, usage=_USAGE), _delta({"content": "k"}, "stop", usage=_USAGE)),
        "ok",
        "stop",
    ),
    (
        "llama.cpp",
        "finish with timings",
        _events(_delta({"content": "ok"}), _delta({}, "stop", timings={"prompt_n": 5}), done=True),
        "ok",
        "stop",
    ),
    ("llama.cpp", "closed without an end", _events(_delta({"content": "o"}), done=False), None, None),
]
"""(server, what, reply, text, finish reason); text None for a failure."""

REFUSALS: list[tuple[str, Reply, str, str]] = [
    (
        "OpenAI",
        _error(401, "Incorrect key", type="invalid_request_error", code="invalid_api_key"),
        "auth",
        "key",
    ),
    (
        "OpenAI",
        _error(404, "no such model", type="invalid_request_error", code="model_not_found"),
        "model",
        "no such",
    ),
    (
        "OpenAI",
        _error(400, "the context is 8192 tokens", code="context_length_exceeded", param="messages"),
        "bad_request",
        "8192",
    ),
    (
        "OpenAI",
        _error(429, "quota is used up", type="insufficient_quota", code="insufficient_quota"),
        "rate_limit",
        "quota",
    ),
    ("OpenAI", _error(500, "had an error", type="server_error"), "server", "had an error"),
    ("Anthropic", _anthropic_error(401, "authentication_error", "invalid x-api-key"), "auth", "x-api-key"),
    ("Anthropic", _anthropic_error(404, "not_found_error", "model: claude-x"), "model", "claude-x"),
    (
        "Anthropic",
        _anthropic_error(400, "invalid_request_error", "prompt is too long: 210000 tokens"),
        "bad_request",
        "too long",
    ),
    ("Anthropic", _anthropic_error(429, "rate_limit_error", "slow down"), "rate_limit", "slow down"),
    ("Anthropic", _anthropic_error(529, "overloaded_error", "Overloaded"), "server", "Overloaded"),
    (
        "Azure",
        _raw({"error": {"code": "DeploymentNotFound", "message": "no such deployment"}}, 404),
        "model",
        "no such deployment",
    ),
    (
        "Azure",
        _raw({"error": {"code": "401", "message": "wrong subscription key"}}, 401),
        "auth",
        "subscription",
    ),
    (
        "Azure",
        _error(
            400,
            "filtered by the content management policy",
            code="content_filter",
            innererror={"code": "ResponsibleAIPolicyViolation"},
        ),
        "bad_request",
        "content management",
    ),
    (
        "Azure",
        _raw({"error": {"code": "429", "message": "retry after 1 second"}}, 429, **{"Retry-After": "1"}),
        "rate_limit",
        "retry after",
    ),
    ("Ollama", _raw({"error": "model 'qwen3' not found"}, 404), "model", "not found"),
    (
        "Ollama",
        _raw({"error": "model requires more system memory (9 GiB) than is available (4 GiB)"}, 500),
        "server",
        "more system memory",
    ),
    ("Ollama", _raw({"error": "server busy, maximum pending requests exceeded"}, 503), "server", "busy"),
    ("Ollama", _raw({"error": "invalid format: expected json"}, 400), "bad_request", "invalid format"),
    (
        "LM Studio",
        _raw({"error": "'response_format.type' must be 'json_schema' or 'text'"}, 400),
        "bad_request",
        "response_format",
    ),
    (
        "LM Studio",
        _error(404, "No models loaded", type="invalid_request_error", code="model_not_found"),
        "model",
        "No models",
    ),
    (
        "LM Studio",
        _raw({"error": "Model was unloaded while the request was in the queue"}, 400),
        "bad_request",
        "unloaded",
    ),
    (
        "vLLM",
        _raw(
            {
                "object": "error",
                "message": "the context is 8192 tokens",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            },
            400,
        ),
        "bad_request",
        "8192",
    ),
    (
        "vLLM",
        _error(404, "The model `m` does not exist.", type="NotFoundError", code=404),
        "model",
        "does not exist",
    ),
    (
        "vLLM",
        _raw(
            {"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}]}, 422
        ),
        "bad_request",
        "not permitted",
    ),
    (
        "llama.cpp",
        _error(503, "Loading model", code=503, type="unavailable_error"),
        "server",
        "Loading model",
    ),
    (
        "llama.cpp",
        _error(
            400,
            "request (4390 tokens) exceeds the context (4096)",
            code=400,
            type="exceed_context_size_error",
            n_ctx=4096,
        ),
        "bad_request",
        "4390",
    ),
    (
        "llama.cpp",
        _error(500, "Context size has been exceeded.", code=500, type="server_error"),
        "server",
        "Context size",
    ),
    (
        "llama.cpp",
        _error(401, "Invalid API Key", code=401, type="authentication_error"),
        "auth",
        "Invalid API Key",
    ),
]
"""(server, reply, kind of failure, words that people are told)."""

_TARN = '{"entities": [{"name": "Tarn"}], "relations": []}'

MALFORMED: list[tuple[str, str, str, list[str] | None]] = [
    ("OpenAI", "fenced", f"```json\n{_TARN}\n```", ["Tarn"]),
    ("OpenAI", "prose around", f"Here is the JSON you asked for:\n\n{_TARN}\n\nLet me know!", ["Tarn"]),
    ("OpenAI", "lines", '{"name": "Tarn", "type": "place"}\n{"name": "Mary Hale"}', ["Tarn", "Mary Hale"]),
    ("OpenAI", "refused in words", "I'm sorry, but I can't help with that.", None),
    ("Anthropic", "tool input as text", json.dumps({"properties": json.loads(_TARN)}), ["Tarn"]),
    ("Anthropic", "tags around", f"<answer>\n{_TARN}\n</answer>", ["Tarn"]),
    ("Azure", "fence never closed", f"```json\n{_TARN}", ["Tarn"]),
    ("Azure", "empty", "", None),
    ("Ollama", "single quotes", _TARN.replace('"', "'"), ["Tarn"]),
    ("Ollama", "comments", _TARN[:-1] + ", // none\n}", ["Tarn"]),
    ("Ollama", "trailing commas", '{"entities": [{"name": "Tarn",},], "relations": [],}', ["Tarn"]),
    ("Ollama", "white space until the limit", _TARN[:29] + "\n\t" * 400, ["Tarn"]),
    ("Ollama", "an object in place of a list", '{"entities": {"name": "Tarn"}}', ["Tarn"]),
    ("Ollama", "an empty object", "{}", None),
    ("LM Studio", "JSON in a string", json.dumps(_TARN), ["Tarn"]),
    ("LM Studio", "special tokens", f"<|channel|>final<|message|>{_TARN}<|end|>", ["Tarn"]),
    (
        "LM Studio",
        "thinking with a draft",
        '<think>{"entities": [{"name": "Bob"}]}</think>' + _TARN,
        ["Tarn"],
    ),
    ("LM Studio", "names alone", '{"entities": ["Tarn"]}', ["Tarn"]),
    (
        "vLLM",
        "thinking without its first tag",
        '{"entities": [{"name": "Bob"}]}\n</think>\n\n' + _TARN,
        ["Tarn"],
    ),
    (
        "vLLM",
        "a tool call in words",
        '<tool_call>{"name": "f", "arguments": ' + _TARN + "}</tool_call>",
        ["Tarn"],
    ),
    ("vLLM", "said twice", f"{_TARN}\n{_TARN}", ["Tarn"]),
    ("vLLM", "replacement characters", _TARN.replace("Tarn", "T\ufffdrn"), ["T\ufffdrn"]),
    ("llama.cpp", "end token", f"{_TARN}<|im_end|>", ["Tarn"]),
    ("llama.cpp", "control characters", _TARN.replace("Tarn", "Ta\trn"), ["Ta rn"]),
    ("llama.cpp", "typographic quotes", "{“entities”: [{“name”: “Tarn”}]}", ["Tarn"]),
]
"""(server, what, output of a model for the extraction prompt, names read from it or None)."""

FORMATS: list[tuple[str, dict[str, Reply], str | None]] = [
    (
        "OpenAI",
        {"json_object": _error(400, "'messages' must contain the word 'json'", param="response_format")},
        "json_schema",
    ),
    ("OpenAI", {}, "json_object"),
    ("Azure", {"json_object": _error(400, "json_object is not supported by this model")}, "json_schema"),
    (
        "Ollama",
        {
            "json_object": _raw({"error": "invalid format"}, 400),
            "json_schema": _raw({"error": "invalid format"}, 400),
        },
        None,
    ),
    (
        "LM Studio",
        {"json_object": _raw({"error": "'response_format.type' must be 'json_schema' or 'text'"}, 400)},
        "json_schema",
    ),
    (
        "vLLM",
        {
            "json_object": _raw(
                {"detail": [{"loc": ["body", "response_format"], "msg": "not permitted"}]}, 422
            ),
            "json_schema": _raw({"object": "error", "message": "no guided decoding", "code": 400}, 400),
        },
        None,
    ),
    (
        "llama.cpp",
        {
            "json_object": _error(400, 'response_format type must be one of "text"', code=400),
            "json_schema": _error(400, "failed to parse grammar", code=400),
        },
        None,
    ),
]
"""(server, its refusals by format, the format that is then used)."""
