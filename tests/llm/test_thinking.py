"""What a model thinks is removed, whole or piece by piece."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.llm.cache import ResponseCache
from graphrag_rdf.llm.model import ThinkingFilter, starts_inside, without_thinking
from tests.support.scripted_server import Reply

HELLO = [{"role": "user", "content": "Hello, who are you?"}]

CASES = [
    ("no tags [1]", "no tags [1]"),
    ("<think>a draft</think>\n\nThe answer.", "The answer."),
    ("<thinking>a\nb</thinking>The answer.", "The answer."),
    ("\n<THINK>a</Think> The answer.", "\nThe answer."),
    ("[THINK]a[/THINK]The answer. [1]", "The answer. [1]"),
    ("One. <think>hm</think>Two.", "One. Two."),
    ("<think>a</think>One.\n<think>b</think>Two.", "One.\nTwo."),
    ("<think>a <think> in prose</think>The answer.", "The answer."),
    ("<think>never closed, The answer.", ""),
    ("One.\n<think>never closed", "One.\n"),
    ('{"evidence": "The tag <think> opens."}', '{"evidence": "The tag <think> opens."}'),
    ("the tag was in the prompt</think>\nThe answer.", "The answer."),
    ("a < b, <b>c</b>, <thin", "a < b, <b>c</b>, <thin"),
    ("<think></think>", ""),
    ("", ""),
]


@pytest.mark.parametrize(("raw", "text"), CASES)
def test_without_thinking(raw, text):
    assert without_thinking(raw) == text


@given(
    st.lists(
        st.sampled_from(
            [
                "<think>",
                "</think>",
                "<thinking>",
                "[THINK]",
                "[/THINK]",
                "<",
                "/",
                "a",
                " ",
                "\n",
                "[1]",
                "think>",
            ]
        ),
        max_size=12,
    ).map("".join),
    st.integers(1, 7),
)
def test_pieces_give_what_the_whole_gives(raw, size):
    thinking = ThinkingFilter(inside=starts_inside(raw))
    pieces = [thinking.feed(raw[at : at + size]) for at in range(0, len(raw), size)]
    assert "".join(pieces) + thinking.end() == without_thinking(raw)


@given(st.text(alphabet="ab <[\n"))
def test_text_without_tags_stays_as_it_is(text):
    assert without_thinking(text) == text


@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_streams_hold_thinking_back(make_gateway, scripted_server, tmp_path, size):
    raw = "<think>Was it [9]? No.</think>\n\nIt was Ada. [1]"
    scripted_server.script(Reply(raw, chunk_size=size))
    with ResponseCache(tmp_path / "llm.sqlite") as cache:
        gateway = make_gateway(cache=cache)
        stream = gateway.stream(HELLO, purpose="test")
        assert "".join(stream) == stream.completion.text == "It was Ada. [1]"
        assert stream.completion.raw == raw
        again = gateway.chat(HELLO, purpose="test")
        assert (again.text, again.raw, again.cached) == ("It was Ada. [1]", raw, True)


def test_thinking_that_the_server_separated_is_kept_beside_the_answer(make_gateway, scripted_server):
    body = (
        b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, '
        b'"finish_reason": "stop", "message": {"role": "assistant", "content": "It was Ada.", '
        b'"reasoning_content": "Who?"}}]}'
    )
    scripted_server.script(Reply(raw=body))
    done = make_gateway().chat(HELLO, purpose="test")
    assert (done.text, done.raw) == ("It was Ada.", "<think>Who?</think>It was Ada.")


def test_a_stream_knows_that_the_server_leaves_out_the_opening_tag(make_gateway, scripted_server):
    """The first call shows it; in a stream the text before the closing tag could not be taken back."""
    scripted_server.script(
        "hm</think>ok", Reply("Was it Bob? No.</think>\nIt was Ada.", chunk_size=4), "Plain."
    )
    gateway = make_gateway()
    assert gateway.chat(HELLO, purpose="concepts").text == "ok"
    assert "".join(gateway.stream(HELLO, purpose="answer")) == "It was Ada."
    assert "".join(gateway.stream(HELLO, purpose="answer")) == "Plain."


def test_an_answer_of_nothing_but_thinking_is_empty(make_gateway, scripted_server):
    scripted_server.script(Reply("<think>and so on", finish_reason="length"), "<think>and so on")
    gateway = make_gateway()
    done = gateway.chat(HELLO, purpose="test")
    assert (done.text, done.truncated) == ("", True)
    assert list(gateway.stream(HELLO, purpose="test")) == []
