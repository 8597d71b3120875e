"""Calls over a real wire to the scripted server."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from graphrag_rdf.errors import LlmError
from graphrag_rdf.llm.budget import Budget, LlmUsage
from graphrag_rdf.llm.cache import ResponseCache
from graphrag_rdf.llm.library import load_litellm
from tests.support.scripted_server import HTML_ERROR, HTML_PAGE, Reply

KEY = "sk-planted-7f3a9c"
HELLO = [{"role": "user", "content": "Hello, who are you?"}]


@pytest.fixture
def cache(tmp_path):
    with ResponseCache(tmp_path / "llm.sqlite") as made:
        yield made


# --- what is sent and what comes back


def test_chat(make_gateway, scripted_server):
    scripted_server.script("I am a script.")
    done = make_gateway().chat(HELLO, purpose="test")
    assert (done.text, done.model, done.finish_reason) == ("I am a script.", "openai/test-model", "stop")
    assert (done.in_tokens, done.out_tokens, done.cost_usd) == (5, 4, None)
    assert (done.cached, done.attempts) == (False, 1)
    assert len(done.prompt_hash) == 64
    (request,) = scripted_server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "test-model", "messages": HELLO, "temperature": 0.0}


def test_parameters(make_gateway, scripted_server):
    gateway = make_gateway(seed=7, max_tokens=100, temperature=0.5)
    gateway.chat(HELLO, purpose="test", json_mode=True, max_tokens=50, model="openai/other")
    body = scripted_server.requests[0].body
    assert body["model"] == "other"
    assert (body["seed"], body["max_tokens"], body["temperature"]) == (7, 50, 0.5)
    assert body["response_format"] == {"type": "json_object"}


def test_a_purpose_may_have_a_temperature_of_its_own(make_gateway, scripted_server):
    gateway = make_gateway(temperatures={"relations": 0.2})
    for purpose in ("relations", "extract"):
        gateway.chat(HELLO, purpose=purpose, use_cache=False)
    assert [request.body["temperature"] for request in scripted_server.requests] == [0.2, 0.0]


def test_functions_need_no_package_beyond_ours(make_gateway, scripted_server, monkeypatch):
    """litellm's search for tools of its own MCP gateway imports `mcp`, which we do not depend on."""
    monkeypatch.setitem(sys.modules, "litellm.responses.mcp.chat_completions_handler", None)
    function = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}}
    gateway = make_gateway(model="openai/gpt-4.1")
    assert gateway.chat(HELLO, purpose="test", functions=[function]).text == "ok"
    (request,) = scripted_server.requests
    assert request.body == {
        "model": "gpt-4.1",
        "messages": HELLO,
        "temperature": 0.0,
        "tools": [function],
    }


def test_the_prompt_hash_covers_messages_model_and_parameters(make_gateway):
    gateway = make_gateway()
    hashes = {
        gateway.chat(HELLO, purpose="a").prompt_hash,
        gateway.chat(HELLO, purpose="a", model="openai/other").prompt_hash,
        gateway.chat(HELLO, purpose="a", json_mode=True).prompt_hash,
        gateway.chat([*HELLO, *HELLO], purpose="a").prompt_hash,
    }
    assert len(hashes) == 4
    assert gateway.chat(HELLO, purpose="b").prompt_hash in hashes


def test_usage_that_nobody_tells_is_unknown(make_gateway, scripted_server):
    scripted_server.script(Reply(usage=False))
    gateway = make_gateway(model="openai/gpt-4o-mini")
    done = gateway.chat(HELLO, purpose="test")
    assert (done.in_tokens, done.out_tokens, done.cost_usd) == (None, None, None)
    assert gateway.usage == LlmUsage(calls=1)


def test_cost_of_a_model_with_a_price(make_gateway, scripted_server):
    answer = " ".join(map(str, range(1000)))[:4000].ljust(4000, ".")
    scripted_server.script(answer, answer)
    gateway = make_gateway(model="openai/gpt-4o-mini")
    done = gateway.chat(HELLO, purpose="test")
    assert done.cost_usd == pytest.approx(0.0006, rel=0.01)
    stream = gateway.stream(HELLO, purpose="test")
    assert "".join(stream) == done.text
    assert stream.completion.cost_usd == pytest.approx(done.cost_usd)
    assert gateway.usage.cost_usd == pytest.approx(2 * done.cost_usd)


def test_a_lone_surrogate_in_a_document_does_not_break_the_call(make_gateway, scripted_server):
    assert (
        make_gateway().chat([{"role": "user", "content": "broken \ud800 text"}], purpose="test").text == "ok"
    )
    assert scripted_server.requests[0].prompt == "broken ? text"


def test_cut_at_the_token_limit(make_gateway, scripted_server):
    scripted_server.script(Reply("half an ans", finish_reason="length"), Reply(None, finish_reason="length"))
    gateway = make_gateway()
    assert gateway.chat(HELLO, purpose="test").truncated
    done = gateway.chat(HELLO, purpose="test")
    assert (done.text, done.truncated) == ("", True)


def test_without_a_model(make_gateway):
    with pytest.raises(LlmError, match="no model is set") as caught:
        make_gateway(model=None).chat(HELLO, purpose="test")
    assert caught.value.kind == "model"


# --- failures

FAILURES = [
    (Reply("no", status=400), "bad_request", "refused the request"),
    (Reply("Incorrect API key provided", status=401), "auth", "OPENAI_API_KEY"),
    (Reply("no", status=403), "auth", "OPENAI_API_KEY"),
    (Reply("no such model", status=404), "model", "openai/test-model"),
    (Reply("no", status=422), "bad_request", "refused"),
    (Reply("slow down", status=429), "rate_limit", "slow down"),
    (Reply("oops", status=500), "server", "oops"),
    (HTML_ERROR, "server", "Bad Gateway"),
    (Reply("busy", status=503), "server", "busy"),
    (Reply("x" * 500, cut_after=60), "connection", "closed connection"),
    (Reply(raw=b"\x00\xff{{{"), "server", "failed on a request"),
    (HTML_PAGE, "server", "address of a model's API"),
    (Reply(choices=False), "server", "without choices"),
    (Reply(None), "server", "without text"),
    (Reply(None, finish_reason="content_filter"), "bad_request", "content filter"),
]


@pytest.mark.parametrize(("reply", "kind", "words"), FAILURES)
def test_failures_are_told_by_kind(make_gateway, scripted_server, reply, kind, words):
    scripted_server.script(reply)
    with pytest.raises(LlmError) as caught:
        make_gateway(max_retries=0).chat(HELLO, purpose="test")
    error = caught.value
    assert error.kind == kind
    told = f"{error.message} {error.hint}"
    assert words in told
    assert "openai/test-model" in told
    assert scripted_server.base_url in told


@pytest.mark.parametrize(("reply", "kind", "words"), FAILURES)
def test_passing_failures_are_tried_again(make_gateway, scripted_server, slept, reply, kind, words):
    scripted_server.script(reply, "second try")
    gateway = make_gateway()
    if kind in LlmError.RETRYABLE:
        done = gateway.chat(HELLO, purpose="test")
        assert (done.text, done.attempts) == ("second try", 2)
        assert len(slept) == 1
        assert gateway.usage.calls == 1
    else:
        with pytest.raises(LlmError):
            gateway.chat(HELLO, purpose="test")
        assert len(scripted_server.requests) == 1


def test_max_retries_and_nothing_of_litellms_own(make_gateway, scripted_server, slept):
    scripted_server.answer_with(lambda _: Reply("busy", status=503))
    with pytest.raises(LlmError):
        make_gateway(max_retries=3).chat(HELLO, purpose="test")
    assert len(scripted_server.requests) == 4
    assert len(slept) == 3


def test_retry_after_is_kept(make_gateway, scripted_server, slept):
    scripted_server.script(Reply("slow down", status=429, headers={"Retry-After": "7"}))
    make_gateway().chat(HELLO, purpose="test")
    assert 7.0 <= slept[0] <= 7.5


def test_a_server_that_hangs(make_gateway, scripted_server):
    scripted_server.script(Reply(hang=True))
    start = time.monotonic()
    with pytest.raises(LlmError, match="did not answer in time") as caught:
        make_gateway(max_retries=0, timeout=0.3).chat(HELLO, purpose="test")
    assert caught.value.kind == "timeout"
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        (
            {"api_base": "http://127.0.0.1:9/v1"},
            "connection",
            ("127.0.0.1:9", "refused", "that a server is running"),
        ),
        ({"api_base": "http://nowhere.invalid/v1"}, "connection", ("nowhere.invalid",)),
        ({"model": "frobnicate"}, "model", ("no provider", "frobnicate")),
        ({"model": "frob/nicate"}, "model", ("no provider", "frob/nicate")),
        ({"api_key": None}, "auth", ("set OPENAI_API_KEY",)),
        ({"api_key": SecretStr("…")}, "auth", ("has the character …", "set OPENAI_API_KEY")),
        (
            {"model": "anthropic/claude-x", "api_key": None, "api_base": None},
            "auth",
            ("set ANTHROPIC_API_KEY",),
        ),
        (
            {"model": "ollama_chat/qwen3", "api_key": None, "api_base": "http://127.0.0.1:9"},
            "connection",
            ("check that Ollama is running at http://127.0.0.1:9",),
        ),
    ],
)
def test_no_way_to_the_server(make_gateway, settings, kind, words):
    with pytest.raises(LlmError) as caught:
        make_gateway(max_retries=0, **settings).chat(HELLO, purpose="test")
    assert caught.value.kind == kind
    for word in words:
        assert word in f"{caught.value.message} {caught.value.hint}"


def test_no_key_in_any_message(make_gateway, scripted_server, monkeypatch, caplog, capfd):
    """Servers repeat keys in their errors; neither errors nor logs nor prints pass them on."""
    make_gateway().chat(HELLO, purpose="warm")  # what litellm says of its own import is not what is looked at
    monkeypatch.setenv("OTHER_SERVICE_API_KEY", "planted-in-environment")
    said = (
        f"Incorrect API key provided: {KEY}, or planted-in-environment, or sk-proj-abc123def (Bearer tok-456)"
    )
    scripted_server.script(Reply(said, status=401))
    with caplog.at_level(logging.DEBUG), pytest.raises(LlmError) as caught:
        make_gateway().chat(HELLO, purpose="test")
    out, err = capfd.readouterr()
    told = f"{caught.value.message} {caught.value.hint}"
    for secret in (KEY, "planted-in-environment", "sk-proj-abc123def", "tok-456"):
        assert secret not in told
    ours = "".join(
        record.getMessage() for record in caplog.records if record.name.startswith(("graphrag", "LiteLLM"))
    )
    assert KEY not in out + err + ours
    assert out + err == ""


def test_no_password_of_an_address_that_the_server_repeats(make_gateway, scripted_server):
    place = scripted_server.base_url.replace("://", "://me:planted-pw@")
    scripted_server.script(Reply("the login me with planted-pw is wrong", status=401))
    with pytest.raises(LlmError) as caught:
        make_gateway(max_retries=0, api_base=place).chat(HELLO, purpose="test")
    assert "is wrong" in caught.value.message
    assert "planted-pw" not in f"{caught.value.message} {caught.value.hint}"


def test_no_credentials_of_an_address_in_any_message(make_gateway):
    place = "http://me:planted-pw@127.0.0.1:9/v1?api-key=planted-key&v=2"
    with pytest.raises(LlmError) as caught:
        make_gateway(max_retries=0, api_base=place).chat(HELLO, purpose="test")
    told = f"{caught.value.message} {caught.value.hint}"
    assert "127.0.0.1:9" in told
    assert "planted" not in told


# --- streams


def test_stream(make_gateway, scripted_server):
    scripted_server.script("A rather long answer, in pieces.")
    stream = make_gateway().stream(HELLO, purpose="test")
    with pytest.raises(RuntimeError):
        _ = stream.completion
    pieces = list(stream)
    assert len(pieces) == 4
    done = stream.completion
    assert done.text == "".join(pieces) == "A rather long answer, in pieces."
    assert (done.in_tokens, done.out_tokens, done.finish_reason, done.attempts) == (5, 8, "stop", 1)
    assert scripted_server.requests[0].body["stream_options"] == {"include_usage": True}


def test_pieces_come_as_they_are_sent(make_gateway, scripted_server):
    make_gateway().chat(HELLO, purpose="warm up")
    scripted_server.script(Reply("0123456789abcdef", chunk_delay=0.2))
    start = time.monotonic()
    stream = iter(make_gateway().stream(HELLO, purpose="test"))
    next(stream)
    first = time.monotonic() - start
    list(stream)
    assert first < time.monotonic() - start - 0.15


def test_stream_without_usage(make_gateway, scripted_server):
    scripted_server.script(Reply("some words", usage=False))
    stream = make_gateway().stream(HELLO, purpose="test")
    list(stream)
    assert (stream.completion.in_tokens, stream.completion.out_tokens) == (None, None)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (Reply("x" * 80, cut_after=3), "connection"),
        (Reply("x" * 80, finish_reason=None, usage=False), "connection"),
        (Reply("x" * 80, stall_after=3), "timeout"),
    ],
    ids=["cut", "ends without an end", "stalls"],
)
def test_a_stream_that_breaks_after_its_first_piece_is_not_repeated(
    make_gateway, scripted_server, broken, kind
):
    scripted_server.script(broken)
    pieces = []
    gateway = make_gateway(timeout=0.5)
    with pytest.raises(LlmError) as caught:
        pieces.extend(gateway.stream(HELLO, purpose="test"))
    assert caught.value.kind == kind
    assert len(scripted_server.requests) == 1
    assert gateway.usage.calls == 1


@pytest.mark.parametrize(
    "broken",
    [Reply(cut_after=0), Reply(cut_after=1), Reply("busy", status=503), HTML_PAGE],
    ids=["cut at once", "cut before the first piece", "503", "web page"],
)
def test_a_stream_that_breaks_before_its_first_piece_is(make_gateway, scripted_server, broken):
    scripted_server.script(broken, "second try")
    stream = make_gateway().stream(HELLO, purpose="test")
    assert "".join(stream) == "second try"
    assert stream.completion.attempts == 2


def test_closing_a_stream_closes_the_connection(make_gateway, scripted_server):
    before = scripted_server.closed_early
    scripted_server.script(Reply("x" * 4000, chunk_delay=0.02))
    gateway = make_gateway(jobs=1)
    with gateway.stream(HELLO, purpose="test") as stream:
        next(iter(stream))
    deadline = time.monotonic() + 5
    while scripted_server.closed_early == before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert scripted_server.closed_early == before + 1
    assert gateway.chat(HELLO, purpose="the place is free again").text == "ok"


def test_a_stream_that_is_never_read_asks_nothing(make_gateway, scripted_server):
    make_gateway().stream(HELLO, purpose="test").close()
    assert scripted_server.requests == []


# --- cache


def test_cached_answers(make_gateway, scripted_server, cache):
    scripted_server.script("first", "second")
    gateway = make_gateway(cache=cache)
    fresh = gateway.chat(HELLO, purpose="test")
    kept = gateway.chat(HELLO, purpose="test")
    assert (kept.text, kept.cached, kept.attempts, kept.cost_usd) == ("first", True, 0, 0.0)
    assert (kept.in_tokens, kept.prompt_hash) == (fresh.in_tokens, fresh.prompt_hash)
    assert gateway.usage == LlmUsage(1, 1, 5, 2, None)
    stream = gateway.stream(HELLO, purpose="test")
    assert list(stream) == ["first"]
    assert stream.completion.cached
    assert gateway.chat(HELLO, purpose="test", use_cache=False).text == "second"
    assert gateway.chat(HELLO, purpose="test").text == "second"
    gateway.discard(fresh)
    assert gateway.chat(HELLO, purpose="test").text == "ok"


def test_streamed_answers_are_kept_too(make_gateway, scripted_server, cache):
    scripted_server.script("streamed")
    gateway = make_gateway(cache=cache)
    list(gateway.stream(HELLO, purpose="test"))
    assert gateway.chat(HELLO, purpose="test").text == "streamed"


def test_other_calls_have_other_answers(make_gateway, scripted_server, cache):
    gateway = make_gateway(cache=cache)
    gateway.chat(HELLO, purpose="test")
    gateway.chat(HELLO, purpose="test", json_mode=True)
    gateway.chat(HELLO, purpose="test", model="openai/other")
    gateway.chat([{"role": "user", "content": "else"}], purpose="test")
    make_gateway(cache=cache, api_base=scripted_server.base_url + "/").chat(HELLO, purpose="test")
    assert len(scripted_server.requests) == 5


def test_cut_answers_are_not_kept(make_gateway, scripted_server, cache):
    scripted_server.script(Reply("half", finish_reason="length"), "whole")
    gateway = make_gateway(cache=cache)
    gateway.chat(HELLO, purpose="test")
    assert gateway.chat(HELLO, purpose="test").text == "whole"


def test_the_cache_holds_no_key(make_gateway, cache):
    make_gateway(cache=cache).chat(HELLO, purpose="test")
    cache.close()
    assert KEY.encode() not in b"".join(path.read_bytes() for path in cache.path.parent.iterdir())


def test_a_full_disk_does_not_cost_the_answer(make_gateway, cache, caplog):
    cache._db.execute("PRAGMA max_page_count = 5")
    long = [{"role": "user", "content": "word " * 20_000}]
    assert make_gateway(cache=cache).chat(long, purpose="test").text == "ok"
    assert "full" in caplog.text


# --- budget, limits, log


def test_the_budget_ends_a_run(make_gateway, scripted_server):
    gateway = make_gateway(budget=Budget(max_tokens=19))
    gateway.chat(HELLO, purpose="test")
    gateway.chat(HELLO, purpose="test")
    with pytest.raises(LlmError, match="token budget") as caught:
        gateway.chat(HELLO, purpose="test")
    assert caught.value.kind == "budget"
    assert len(scripted_server.requests) == 2


def test_a_cost_limit_needs_a_price(make_gateway, scripted_server):
    with pytest.raises(LlmError, match="price of openai/test-model is not known"):
        make_gateway(budget=Budget(max_cost_usd=1.0)).chat(HELLO, purpose="test")
    assert scripted_server.requests == []
    priced = make_gateway(budget=Budget(max_cost_usd=1e-7), model="openai/gpt-4o-mini")
    with pytest.raises(LlmError, match="USD"):
        priced.chat(HELLO, purpose="test")


def test_jobs(make_gateway, scripted_server):
    """No more calls at once than jobs; and as many."""
    scripted_server.answer_with(lambda _: Reply(delay=0.1))
    gateway = make_gateway(jobs=3)
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda n: gateway.chat(HELLO, purpose=str(n)), range(12)))
    assert scripted_server.most_active == 3
    assert gateway.usage.calls == 12


def test_many_threads(make_gateway, scripted_server, cache):
    scripted_server.answer_with(lambda request: request.prompt[::-1])
    gateway = make_gateway(jobs=8, cache=cache)
    prompts = [f"prompt {n % 20}" for n in range(60)]
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(
            lambda p: gateway.chat([{"role": "user", "content": p}], purpose="t").text, prompts
        )
        assert list(answers) == [prompt[::-1] for prompt in prompts]


def test_requests_per_minute(make_gateway, slept):
    gateway = make_gateway(requests_per_minute=2)
    for _ in range(3):
        gateway.chat(HELLO, purpose="test")
    assert len(slept) == 1
    assert 50 < slept[0] <= 60


# --- embeddings and reranking


def test_embeddings(make_gateway, scripted_server):
    texts = [f"text number {n}" for n in range(200)]
    gateway = make_gateway()
    vectors = gateway.embed(texts)
    assert vectors.shape == (200, scripted_server.dimensions)
    assert vectors.dtype == np.float32
    assert [len(request.body["input"]) for request in scripted_server.requests] == [96, 96, 8]
    np.testing.assert_array_equal(vectors[150], gateway.embed([texts[150]], "openai/test-embedding")[0])
    assert gateway.usage.calls == 4
    assert gateway.usage.in_tokens > 0


def test_embeddings_of_long_texts_go_in_smaller_batches(make_gateway, scripted_server):
    make_gateway().embed([letter * 90_000 for letter in "abcde"])
    assert [len(request.body["input"]) for request in scripted_server.requests] == [2, 2, 1]


def test_servers_that_know_no_base64(make_gateway, scripted_server):
    packed = make_gateway().embed(["some words", "others"])
    scripted_server.knows_base64 = False
    np.testing.assert_array_equal(make_gateway().embed(["some words", "others"]), packed)


def test_embedding_nothing(make_gateway, scripted_server):
    assert make_gateway().embed([]).shape == (0, 0)
    assert scripted_server.requests == []


def test_embeddings_are_tried_again(make_gateway, scripted_server, slept):
    scripted_server.script(Reply("busy", status=503))
    assert make_gateway().embed(["a"]).shape == (1, scripted_server.dimensions)
    assert len(slept) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b'{"object": "list", "data": []}',
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}]}',
    ],
)
def test_embeddings_that_do_not_fit(make_gateway, scripted_server, raw):
    scripted_server.script(Reply(raw=raw))
    with pytest.raises(LlmError) as caught:
        make_gateway(max_retries=0).embed(["a", "b"])
    assert caught.value.kind == "server"


def test_rerank(make_gateway, scripted_server):
    documents = ["nothing at all", "a red house", "red"]
    scores = make_gateway(api_base=scripted_server.host_url).rerank("red house", documents)
    assert scores == [0.0, 1.0, 0.5]
    assert make_gateway().rerank("red", []) == []


def test_rerank_that_leaves_documents_out(make_gateway, scripted_server):
    scripted_server.script(Reply(raw=b'{"id": "x", "results": [{"index": 0, "relevance_score": 1.0}]}'))
    with pytest.raises(LlmError, match="1 scores for 2 documents"):
        make_gateway(max_retries=0, api_base=scripted_server.host_url).rerank("q", ["a", "b"])


# --- litellm stays in its place


def test_importing_the_room_does_not_import_litellm():
    program = (
        "import sys, graphrag_rdf.llm.gateway as g; g.LlmGateway(g.LlmSettings(model='openai/x'));"
        "sys.exit(any(name in sys.modules for name in ('litellm', 'openai', 'httpx', 'numpy', 'pydantic')))"
    )
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", program], cwd=root, check=False).returncode == 0


def test_calls_from_threads_that_come_first(make_gateway):
    """Two threads may both be the first to need litellm."""
    gateway = make_gateway()
    threads = [
        threading.Thread(target=gateway.chat, args=(HELLO,), kwargs={"purpose": "t"}) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gateway.usage.calls == 4


def test_vectors_are_kept(make_gateway, scripted_server, cache):
    """Only texts without a vector are sent, each once; of another model none is taken."""
    first = make_gateway(cache=cache).embed(["some words", "others", "some words"])
    assert scripted_server.requests[-1].body["input"] == ["some words", "others"]
    again = make_gateway(cache=cache).embed(["others", "new", "some words"])
    assert scripted_server.requests[-1].body["input"] == ["new"]
    np.testing.assert_array_equal(again[[2, 0]], first[:2])
    assert len(scripted_server.requests) == 2
    make_gateway(cache=cache).embed(["others"], "openai/another")
    assert len(scripted_server.requests) == 3
    assert (cache.stats("answers").entries, cache.stats("embeddings").entries) == (0, 4)


def test_vectors_are_forgotten_with_their_texts(make_gateway, cache):
    make_gateway(cache=cache).embed(["Ada wrote a letter.", "Bob did not."])
    assert cache.forget(["wrote a letter"]) == 1
    assert cache.clear("answers") == 0
    assert cache.clear("embeddings") == 1


def test_a_model_that_somebody_registers_later_is_found(monkeypatch):
    """What litellm's list does not have is not looked for again, as long as the list is what it was."""
    litellm = load_litellm()
    look_up = litellm.main.get_model_info_helper
    for _ in range(2):
        with pytest.raises(Exception, match="late-model"):
            look_up(model="late-model", custom_llm_provider="openai")
    priced = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "litellm_provider": "openai"}
    monkeypatch.setitem(litellm.model_cost, "late-model", {**priced, "mode": "chat"})
    assert look_up(model="late-model", custom_llm_provider="openai")["mode"] == "chat"
