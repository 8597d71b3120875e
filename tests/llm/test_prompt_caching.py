"""Prompts that providers can cache: the same beginning for every chunk, marked where that is needed."""

from __future__ import annotations

import json

import pytest

from graphrag_rdf.documents.chunk import Context
from graphrag_rdf.extract.llm import LlmExtractor
from graphrag_rdf.extract.model import ChunkContext
from graphrag_rdf.resources import folder
from tests.support.scripted_server import Reply

PROMPTS = folder("pipelines") / "ingest"
NOTHING = '{"entities": [], "relations": []}'
CHUNKS = (
    ("Mary Hale opened the mill.", "en", "A history", ChunkContext()),
    ("| Reed Mill | 1,200 |", None, "", ChunkContext(columns=("Mill", "Looms"))),
    ("Sie blieb.", "de", "Chronik", ChunkContext(preceding=Context(("1851",), "Mary Hale kam nach Tarn."))),
)


def read_all(gateway, model):
    extractor = LlmExtractor(PROMPTS, model=model)
    return [
        extractor.extract(text, language=language, title=title, gateway=gateway, context=context)[1][0]
        for text, language, title, context in CHUNKS
    ]


def test_anthropic_gets_marks_after_what_all_prompts_share(make_gateway, scripted_server):
    usage = {"input_tokens": 90, "cache_read_input_tokens": 1500, "output_tokens": 7}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    body = head | {"content": [{"type": "text", "text": NOTHING}], "usage": usage}
    scripted_server.answer_with(lambda _: Reply(raw=json.dumps(body).encode()))
    model = "anthropic/claude-sonnet-4-5"
    done = read_all(make_gateway(model=model, api_base=scripted_server.host_url), model)
    sent = [request.body["messages"][0]["content"] for request in scripted_server.requests]
    assert len(sent) == len(CHUNKS)
    assert [[block.get("cache_control") for block in blocks] for blocks in sent] == [
        [{"type": "ephemeral"}, None]
    ] * len(CHUNKS)
    assert len({blocks[0]["text"] for blocks in sent}) == 1
    for (text, *_), blocks in zip(CHUNKS, sent, strict=True):
        assert text in blocks[1]["text"]
        assert len(blocks[0]["text"]) > 4 * len(blocks[1]["text"])
    assert {(one.in_tokens, one.out_tokens, one.cached_in_tokens) for one in done} == {(1590, 7, 1500)}


def test_other_servers_get_plain_texts_with_the_same_beginning(make_gateway, scripted_server):
    details = {"prompt_tokens_details": {"cached_tokens": 1408}}
    usage = {"prompt_tokens": 1600, "completion_tokens": 7, "total_tokens": 1607} | details
    choice = {"index": 0, "message": {"role": "assistant", "content": NOTHING}, "finish_reason": "stop"}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    scripted_server.answer_with(lambda _: Reply(raw=json.dumps(head | {"usage": usage}).encode()))
    gateway = make_gateway()
    done = read_all(gateway, "openai/test-model")
    sent = [request.body["messages"][0]["content"] for request in scripted_server.requests]
    same = next(at for at, letters in enumerate(zip(*sent, strict=False)) if len(set(letters)) > 1)
    assert same > 4096
    assert "cache_control" not in json.dumps([request.body for request in scripted_server.requests])
    assert {one.cached_in_tokens for one in done} == {1408}
    assert gateway.usage.cached_in_tokens == 3 * 1408


@pytest.mark.parametrize("name", ["select.j2", "answer.j2", "concepts.j2"])
def test_prompts_of_questions_begin_with_what_never_varies(name):
    """The instruction stands before question and evidence."""
    source = (folder("pipelines") / "graph_rag" / name).read_text("utf-8")
    assert source.index("{{ question }}") > 0.4 * len(source)
