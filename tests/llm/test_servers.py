"""Servers that refuse options of the OpenAI interface, over the wire."""

from __future__ import annotations

import pytest

from graphrag_rdf.errors import LlmError
from graphrag_rdf.llm.cache import ResponseCache
from graphrag_rdf.llm.servers import Servers
from tests.support.scripted_server import Reply

HELLO = [{"role": "user", "content": "Hello, who are you?"}]


def accepting(*accepted, option="response_format", status=400):
    """A server that refuses other forms of an option; of no form it says `None`."""

    def reply(request):
        sent = request.body.get(option)
        form = sent.get("type", "include_usage") if sent else None
        if form in accepted:
            return "ok"
        return Reply(f"'{option}' must be one of {accepted}", status=status)

    return reply


def forms(server):
    return [(request.body.get("response_format") or {}).get("type") for request in server.requests]


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(
    ("accepted", "tried"),
    [
        (("json_object", None), ["json_object"]),
        (("json_schema", "text", None), ["json_object", "json_schema"]),
        ((None,), ["json_object", "json_schema", None]),
    ],
)
def test_the_form_that_the_server_accepts_is_found_once(
    make_gateway, scripted_server, tmp_path, accepted, tried, status
):
    scripted_server.answer_with(accepting(*accepted, status=status))
    with ResponseCache(tmp_path / "llm.sqlite") as cache:
        gateway = make_gateway(cache=cache)
        for number in range(3):
            asked = [{"role": "user", "content": f"as JSON, {number}"}]
            assert gateway.chat(asked, purpose="test", json_mode=True).text == "ok"
        assert forms(scripted_server) == [*tried, tried[-1], tried[-1]]
        assert gateway.usage.calls == 3
    with ResponseCache(tmp_path / "llm.sqlite") as cache:
        make_gateway(cache=cache).chat(HELLO, purpose="test", json_mode=True)
        assert forms(scripted_server)[-1] == tried[-1]
        assert len(scripted_server.requests) == len(tried) + 3
        cache.clear("answers")
        make_gateway(cache=cache, model="openai/other").chat(HELLO, purpose="test", json_mode=True)
        assert forms(scripted_server)[-len(tried) :] == tried


def test_what_was_learnt_is_shared_and_goes_with_the_cache(make_gateway, scripted_server, tmp_path):
    scripted_server.answer_with(accepting("json_schema"))
    with ResponseCache(tmp_path / "llm.sqlite") as cache:
        make_gateway(cache=cache).chat(HELLO, purpose="test", json_mode=True)
        assert cache.stats().entries == 1
        cache.clear()
        make_gateway(cache=cache).chat(HELLO, purpose="test", json_mode=True)
    assert forms(scripted_server) == ["json_object", "json_schema"] * 2


def test_a_server_that_was_replaced_is_asked_anew(make_gateway, scripted_server):
    gateway = make_gateway()
    scripted_server.answer_with(accepting("json_schema"))
    gateway.chat(HELLO, purpose="test", json_mode=True)
    scripted_server.answer_with(accepting("json_object"))
    gateway.chat(HELLO, purpose="test", json_mode=True)
    assert forms(scripted_server) == ["json_object", "json_schema", "json_schema", "json_object"]


def test_other_refusals_are_reported_as_they_are(make_gateway, scripted_server):
    """A prompt that is too long is refused in every form; once a form was accepted it is sent once."""
    too_long = Reply("the prompt has 9000 tokens, the context 4096", status=400)
    gateway = make_gateway()
    scripted_server.answer_with(lambda _: too_long)
    with pytest.raises(LlmError, match="9000 tokens") as caught:
        gateway.chat(HELLO, purpose="test", json_mode=True)
    assert caught.value.kind == "bad_request"
    scripted_server.answer_with(None)
    gateway.chat(HELLO, purpose="test", json_mode=True)
    scripted_server.answer_with(lambda _: too_long)
    before = len(scripted_server.requests)
    with pytest.raises(LlmError, match="9000 tokens"):
        gateway.chat(HELLO, purpose="test", json_mode=True)
    assert len(scripted_server.requests) == before + 1


def test_a_stream_goes_without_token_counts_where_they_are_refused(make_gateway, scripted_server):
    scripted_server.answer_with(accepting(None, option="stream_options"))
    gateway = make_gateway()
    for _ in range(2):
        stream = gateway.stream(HELLO, purpose="test")
        assert "".join(stream) == "ok"
        assert stream.completion.in_tokens is None
    assert [bool(request.body.get("stream_options")) for request in scripted_server.requests] == [
        True,
        False,
        False,
    ]


def test_a_cache_that_cannot_be_written_costs_no_call(make_gateway, scripted_server, tmp_path, caplog):
    scripted_server.answer_with(accepting(None))
    with ResponseCache(tmp_path / "llm.sqlite") as cache:
        cache._db.execute("PRAGMA query_only = ON")
        gateway = make_gateway(cache=cache, servers=Servers(cache))
        for _ in range(2):
            assert gateway.chat(HELLO, purpose="test", json_mode=True).text == "ok"
    assert len(scripted_server.requests) == 4
    assert "cannot be written" in caplog.text
