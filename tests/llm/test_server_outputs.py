"""What each model server sends, over the wire in its own form: read, or reported with a way out."""

from __future__ import annotations

import json

import pytest

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import Found
from tests.llm.server_outputs import ANSWERS, FORMATS, MALFORMED, REFUSALS, SERVERS, STREAMS
from tests.support.scripted_server import Reply

HELLO = [{"role": "user", "content": "Hello, who are you? Answer in JSON."}]


@pytest.fixture
def reach(make_gateway, scripted_server, monkeypatch):
    """Makes a gateway to a server of the table, which tries each call once."""
    for name in ("AZURE_API_VERSION", "AZURE_API_KEY", "AZURE_API_BASE", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def made(name, **settings):
        server = SERVERS[name]
        base = scripted_server.host_url + server.base
        return make_gateway(**{"model": server.model, "api_base": base, "max_retries": 0} | settings)

    return made


def ids(rows):
    return [" ".join(str(cell) for cell in row[:2] if isinstance(cell, str)) for row in rows]


@pytest.mark.parametrize(("server", "what", "reply", "text", "reason"), ANSWERS, ids=ids(ANSWERS))
def test_answers(reach, scripted_server, server, what, reply, text, reason):
    scripted_server.script(reply)
    done = reach(server).chat(HELLO, purpose="test")
    assert (done.text, done.finish_reason) == (text, reason)
    assert (done.in_tokens, done.out_tokens) == ((None, None) if what == "without usage" else (5, 2))
    assert scripted_server.requests[-1].path.partition("?")[0] == SERVERS[server].path


@pytest.mark.parametrize(("server", "what", "reply", "text", "reason"), STREAMS, ids=ids(STREAMS))
def test_streams(reach, scripted_server, server, what, reply, text, reason):
    scripted_server.script(reply)
    stream = reach(server).stream(HELLO, purpose="test")
    if text is None:
        with pytest.raises(LlmError) as caught:
            list(stream)
        assert "litellm" not in caught.value.message, what
        return
    assert "".join(stream) == text == stream.completion.text
    assert stream.completion.finish_reason == reason


@pytest.mark.parametrize(("server", "reply", "kind", "words"), REFUSALS)
def test_refusals(reach, scripted_server, server, reply, kind, words):
    """People read what the server said, not its JSON; what may pass is tried again."""
    scripted_server.script(reply)
    with pytest.raises(LlmError) as caught:
        reach(server).chat(HELLO, purpose="test")
    error = caught.value
    assert (error.kind, words in error.message) == (kind, True)
    assert "{" not in error.message or "detail" in error.message
    assert error.hint
    scripted_server.script(reply, reply)
    before = len(scripted_server.requests)
    with pytest.raises(LlmError):
        reach(server, max_retries=1).chat(HELLO, purpose="test")
    assert len(scripted_server.requests) - before == 1 + error.retryable
    scripted_server.reset()


@pytest.mark.parametrize(("server", "refused", "used"), FORMATS)
def test_formats(reach, scripted_server, server, refused, used):
    """Whatever a server refuses, a call for JSON ends in an answer, and the next one is sent once."""
    answers = [reply for name, what, reply, *_ in ANSWERS if name == server and "thinking" not in what]
    whole = answers[0]
    sent = []

    def reply(request):
        schema = "json_schema" if isinstance(request.body.get("format"), dict) else "json_object"
        asked = request.body.get("response_format") or ({"type": schema} if "format" in request.body else {})
        sent.append(asked.get("type"))
        return refused.get(asked.get("type"), whole)

    scripted_server.answer_with(reply)
    gateway = reach(server)
    for _ in range(2):
        assert gateway.chat(HELLO, purpose="test", json_mode=True).text == "ok"
    assert sent == [*refused, used, used]


def test_json_by_a_tool_of_anthropic(reach, scripted_server):
    """What litellm asks for as a tool comes back as text."""
    block = {"type": "tool_use", "id": "t", "name": "json_tool_call", "input": {"entities": []}}
    usage = {"input_tokens": 5, "output_tokens": 2}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [block]}
    scripted_server.script(Reply(raw=json.dumps(body | {"stop_reason": "tool_use", "usage": usage}).encode()))
    done = reach("Anthropic").chat(HELLO, purpose="test", json_mode=True)
    assert json.loads(done.text) == {"entities": []}


@pytest.mark.parametrize(("server", "what", "output", "names"), MALFORMED, ids=ids(MALFORMED))
def test_malformed_outputs(make_gateway, scripted_server, server, what, output, names):
    """Read through the gateway, then as extraction reads them; nothing is made up of what cannot be read."""
    scripted_server.script(output)
    text = make_gateway().chat(HELLO, purpose="test").text
    found = Found()
    if names is None:
        with pytest.raises(LlmError):
            found.read(text)
    else:
        found.read(text)
    assert [entity.name for entity in found.extraction().entities] == (names or []), what
