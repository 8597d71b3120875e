"""`/ask`, `/retrieve` and `/ask/ws`, without a model."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from tests.support.commands import environment, program
from tests.support.endpoint import READ, Endpoint, eventually
from tests.support.scripted_server import Reply, Request, ScriptedServer, number_of, offered, shown
from tests.support.tools import over_http, talk

QUESTION = "Who founded the Tarnay Electric Light Company?"
EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture
def client(answering: Endpoint) -> Iterator[httpx.Client]:
    """A client of a server over two ingested documents; a stranger to it."""
    with answering.client() as found:
        yield found


def events(response: httpx.Response) -> list[dict[str, Any]]:
    """The data of a stream's events."""
    found = []
    for block in response.read().decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append(json.loads(fields["data"]))
            assert fields["event"] == found[-1]["kind"]
    return found


def test_an_answer_as_json(client: httpx.Client) -> None:
    found = client.post("/ask", json={"question": QUESTION})
    assert found.status_code == 200
    answer = found.json()
    assert "Walter Pennock" in answer["answer"]
    assert answer["citations"][0]["sources"][0]["quote"]
    assert {warning["type"] for warning in answer["warnings"]} >= {"no_llm"}
    assert found.headers["graphrag-commit"]


def test_only_text_of_a_period(client: httpx.Client) -> None:
    answer = client.post("/ask", json={"question": QUESTION, "from": "2019-05", "to": "2019"}).json()
    assert not answer["answered"]
    assert "no_documents_of_period" in {warning["type"] for warning in answer["warnings"]}
    wrong = client.post("/retrieve", json={"question": QUESTION, "from": "May"})
    assert wrong.status_code == 422
    assert "from: not a date" in wrong.json()["detail"]
    assert client.post("/retrieve", json={"question": QUESTION, "dates": False}).json()["results"]


def test_an_empty_question_asks_for_an_overview(client: httpx.Client) -> None:
    answer = client.post("/ask", json={"question": " "}).json()
    assert "Walter Pennock" in answer["answer"]
    assert answer["pipeline"] == "overview"


def test_a_question_goes_on_with_a_session_of_this_collection(client: httpx.Client) -> None:
    first = client.post("/ask", json={"question": QUESTION, "collection": "default"}).json()["question_iri"]
    for name in ("session", "session_id"):
        asked = {"question": "Where did he live?", name: first}
        assert "Port Merrin" in client.post("/ask", json=asked).json()["answer"]
    refused = client.post("/ask", json={"question": QUESTION, "session_id": "last"})
    assert refused.json()["detail"] == "session_id: give the question_iri of an answer, or its UUID"
    refused = client.post("/ask", json={"question": QUESTION, "collection": "fleet"})
    assert refused.status_code == 404
    assert refused.json()["detail"] == "there is no collection 'fleet' on this server, which has 'default'"


def test_a_client_may_name_a_new_session(client: httpx.Client) -> None:
    """As TrustGraph's do; an empty name is none."""
    name = str(uuid.uuid4())
    first = client.post("/ask", json={"question": QUESTION, "session_id": name}).json()
    assert first["question_iri"] == f"urn:trustgraph:question:{name}"
    second = client.post("/ask", json={"question": "Where did he live?", "session_id": name}).json()
    assert second["question_iri"] != first["question_iri"]
    assert "Port Merrin" in second["answer"], "the first question is known"
    unnamed = client.post("/ask", json={"question": QUESTION, "session_id": ""})
    assert unnamed.status_code == 200, unnamed.text
    assert unnamed.json()["question_iri"] != first["question_iri"]


def test_two_questions_at_once_do_not_share_a_new_session(client: httpx.Client) -> None:
    asked = {"question": QUESTION, "session_id": str(uuid.uuid4())}
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: client.post("/ask", json=asked).json(), range(4)))
    assert len({answer["question_iri"] for answer in answers}) == 4


@pytest.mark.parametrize("pipeline", ["doc_rag", "basic"])
def test_document_rag(client: httpx.Client, pipeline: str) -> None:
    """Its answer has the IRIs of TrustGraph's Document RAG, and a page."""
    answer = client.post("/ask", json={"question": QUESTION, "pipeline": pipeline}).json()
    assert answer["question_iri"].startswith("urn:trustgraph:docrag:")
    assert answer["citations"]
    run = answer["question_iri"].rpartition(":")[2]
    page = client.get(f"/traces/{run}", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "by words" in page.text
    found = client.post("/ask", json={"question": QUESTION, "pipeline": pipeline, "edge_limit": 3})
    assert found.status_code == 400
    assert "hops_rag" in found.json()["hint"]


def test_an_answer_as_events(client: httpx.Client) -> None:
    """The messages in their order; what is explained is in the store before it is seen."""
    with client.stream("POST", "/ask", json={"question": QUESTION}, headers=EVENTS) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        found = events(response)
    kinds = [message["kind"] for message in found]
    assert kinds[:5] == ["session", "question", "grounding", "exploration", "focus"]
    assert kinds[-2:] == ["synthesis", "final"]
    assert found[-1]["end_of_session"] is True
    assert "Walter Pennock" in found[-1]["answer"]["answer"]
    last = found[-2]["explain_id"]
    query = f"ASK {{ GRAPH <urn:graph:retrieval> {{ <{last}> ?p ?o FILTER(true) }} }}"  # by a reader
    assert client.get("/sparql", params={"query": query}).json()["boolean"] is True


def test_who_asks_sees_the_trace_at_once(client: httpx.Client) -> None:
    """A reader's snapshot may be a quarter of a second old, but not for who was told of the answer."""
    for number in range(5):
        answer = client.post("/ask", json={"question": f"{QUESTION} {number}"}).json()
        iri = answer["steps"][-1]["iri"]
        query = f"ASK {{ GRAPH <urn:graph:retrieval> {{ <{iri}> ?p ?o FILTER(true) }} }}"
        assert client.get("/sparql", params={"query": query}).json()["boolean"] is True


def test_the_first_event_comes_at_once(client: httpx.Client) -> None:
    """The bar is 100 ms, measured on a machine at rest; here only that it does not wait for the answer."""
    client.post("/ask", json={"question": QUESTION})
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        with client.stream("POST", "/ask", json={"question": QUESTION}, headers=EVENTS) as response:
            assert next(response.iter_lines()).startswith("id: 0")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"question": "", "pipeline": "doc_rag"}, 400),
        ({"question": "x" * 20_001}, 422),
        ({"question": QUESTION, "model": "openai/gpt-4"}, 422),
        ({"question": QUESTION, "store": "/etc"}, 422),
        ({"question": QUESTION, "pipeline": "../../etc"}, 422),
        ({"question": QUESTION, "pipeline": "nothing"}, 400),
        ({"question": QUESTION, "edge_limit": 100_000}, 422),
        ({"question": QUESTION, "edge_limit": 10, "max_path_length": 1}, 400),
        ({"question": QUESTION, "settings": {"exploration.use": "hops"}}, 422),
        ({"question": QUESTION, "include": ["nobody at all"]}, 400),
        ([QUESTION], 422),
        ("no object", 422),
    ],
)
def test_what_clients_may_not_say(body: Any, status: int, client: httpx.Client) -> None:
    """No model, store, path or template; unknown fields are refused, by name."""
    for headers in ({}, EVENTS):
        found = client.post("/ask", json=body, headers=headers)
        assert found.status_code == status, found.text
        assert found.headers["content-type"] == "application/problem+json"


def test_other_bodies_are_refused(client: httpx.Client) -> None:
    assert client.post("/ask", content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
    assert client.post("/ask", content=b"q", headers={"Content-Type": "text/plain"}).status_code == 415
    big = json.dumps({"question": "x" * 300_000})
    assert client.post("/ask", content=big, headers={"Content-Type": "application/json"}).status_code == 413
    deep = "[" * 100_000
    assert client.post("/ask", content=deep, headers={"Content-Type": "application/json"}).status_code == 400
    assert client.put("/ask").status_code == 405


def test_numbers_up_to_their_caps_count(client: httpx.Client) -> None:
    body = {
        "question": QUESTION,
        "pipeline": "hops_rag",
        "edge_limit": 1,
        "max_path_length": 1,
        "entity_limit": 5,
        "max_sentences": 1,
    }
    answer = client.post("/ask", json=body).json()
    assert len({citation["sentence"] for citation in answer["citations"]}) == 1


def test_questions_to_ask_next(client: httpx.Client) -> None:
    found = client.post("/ask", json={"question": QUESTION, "suggestions": 2}).json()
    assert len(found["suggestions"]) == 2
    question = found["suggestions"][0]["question"]
    html = {"Accept": "text/html"}
    page = client.get(f"/traces/{found['question_iri'].rpartition(':')[2]}", headers=html).text
    assert question.replace("'", "&#39;") in page
    assert "from the graph" in page
    link = page.partition("Ask next")[2].partition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert f'value="{question}"' in client.get(link, headers=html).text
    assert client.post("/ask", json={"question": QUESTION, "suggestions": 11}).status_code == 422


def test_many_questions_at_once(answering: Endpoint) -> None:
    """Threads share the engine; every answer is its own question's."""
    questions = ("Who founded the Tarnay Electric Light Company?", "Who designed Drumlaw Head Lighthouse?")
    expected = ("Walter Pennock", "Andrew Orr")

    def ask(number: int) -> bool:
        with answering.client() as client:
            found = client.post("/ask", json={"question": questions[number % 2]}, timeout=60)
        return found.status_code == 200 and expected[number % 2] in found.json()["answer"]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(24)))


def test_retrieval(client: httpx.Client) -> None:
    before = client.get("/health").json()["commit"]
    found = client.post("/retrieve", json={"question": QUESTION, "k": 2, "preview": True}).json()
    assert "Pennock" in found["results"][0]["text"]
    assert len(found["results"]) <= 2
    assert found["seeds"]
    assert client.get("/health").json()["commit"] == before  # it leaves no trace
    assert client.post("/retrieve", json={"question": QUESTION, "k": 1000}).status_code == 422
    preview = client.post("/ranking/preview", json={"question": QUESTION, "k": 2}).json()
    assert {"weights", "signals", "relations"} <= preview["results"][0].keys()
    assert "relates" in preview["results"][0]["weights"], "of hybrid_rag"


def test_a_client_chooses_the_style_of_citations(client: httpx.Client) -> None:
    found = client.post("/ask", json={"question": QUESTION, "citation_style": "source"}).json()
    assert "[S1]" in found["answer"]
    assert found["references"][0] == {"label": "[S1]", "source_id": "S1"}
    run = found["question_iri"].rpartition(":")[2]
    assert 'href="#cite-1">[S1]</a>' in client.get(f"/traces/{run}", headers={"Accept": "text/html"}).text
    assert client.post("/ask", json={"question": QUESTION, "citation_style": "x"}).status_code == 422


def test_the_indexes_follow_what_clients_write(documents_store: Path, tmp_path: Path) -> None:
    """Before the next question, not with each update."""
    left = shutil.ignore_patterns("snapshots", "holder.json")
    shutil.copytree(documents_store, tmp_path / "store", ignore=left)
    with Endpoint.start(tmp_path / "store", "--anonymous", "admin") as endpoint, endpoint.client() as client:

        def up_to_date() -> bool:
            return bool(client.get("/diagnostics").json()["indexes"]["text"]["up_to_date"])

        assert up_to_date()
        update = "INSERT DATA { <urn:s> <http://www.w3.org/2000/01/rdf-schema#label> 'Zorblax' }"
        client.post("/update", data={"update": update}).raise_for_status()
        assert not up_to_date()
        assert client.post("/retrieve", json={"question": QUESTION}).status_code == 200
        assert up_to_date()


# --- WebSocket ----------------------------------------------------------------------------------------


def test_questions_over_a_websocket(answering: Endpoint) -> None:
    with connect(f"ws{answering.url[4:]}/ask/ws") as socket:
        for _ in range(2):
            socket.send(json.dumps({"question": QUESTION}))
            kinds = []
            while not kinds or kinds[-1] != "final":
                kinds.append(json.loads(socket.recv(timeout=20))["kind"])
            assert kinds[0] == "session"
        for bad in ("no JSON", "[]", '{"question": 1}', '{"question": "x", "token": "guess"}'):
            socket.send(bad)
            assert json.loads(socket.recv(timeout=20))["error"]["status"] in (400, 401, 422)


@pytest.mark.parametrize("header", ["Origin: https://evil.example", "Host: evil.example"])
def test_websockets_of_other_sites_are_refused(header: str, answering: Endpoint) -> None:
    host = "" if header.startswith("Host") else "Host: HOST\r\n"
    handshake = (
        f"GET /ask/ws HTTP/1.1\r\n{host}{header}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    status, _, _ = answering.raw(handshake.encode())
    assert status == 403


# --- hanging up ---------------------------------------------------------------------------------------


def test_hanging_up_closes_the_trace(answering: Endpoint, client: httpx.Client) -> None:
    """Whoever leaves early leaves a trace that says so, or one that was complete by then."""
    for _ in range(3):
        with client.stream("POST", "/ask", json={"question": QUESTION}, headers=EVENTS) as response:
            next(response.iter_lines())
    open_sessions = (
        "PREFIX prov: <http://www.w3.org/ns/prov#> SELECT ?s { GRAPH <urn:graph:retrieval> "
        "{ ?s prov:startedAtTime ?t FILTER NOT EXISTS { ?s prov:endedAtTime ?e } } }"
    )
    eventually(
        lambda: not client.get("/sparql", params={"query": open_sessions}).json()["results"]["bindings"]
    )


def test_a_server_that_only_reads_answers_and_keeps_nothing(documents_store: Path, tmp_path: Path) -> None:
    """The trace is streamed, with a warning; no file of the store changes."""
    place = tmp_path / "store"
    shutil.copytree(documents_store, place, ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    with Endpoint.start(place, "--read-only") as endpoint, endpoint.client() as client:
        with client.stream("POST", "/ask", json={"question": QUESTION}, headers=EVENTS) as response:
            found = events(response)
        assert found[0]["explain_triples"]
        assert "Walter Pennock" in found[-1]["answer"]["answer"]
        assert "trace_not_stored" in {warning["type"] for warning in found[-1]["answer"]["warnings"]}
        assert client.post("/retrieve", json={"question": QUESTION}).status_code == 200
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


# --- with a model -------------------------------------------------------------------------------------


def agent(request: Request) -> str:
    """It asks the graph once, and answers with what that cites."""
    prompt = request.prompt
    if "step by step" in prompt:
        if "<observation>" not in prompt:
            arguments = json.dumps({"question": QUESTION})
            return f"Thought: Who it was is unknown.\nAction: knowledge-query\nArgs: {arguments}"
        return "Thought: That is enough.\nFinal Answer: Walter Pennock founded it. [1]"
    if "JSON Lines" in prompt:
        return json.dumps({"id": number_of(offered(prompt), "Pennock"), "reasoning": "it says who"})
    if "knowledge graph will be searched" in prompt:
        return "Tarnay Electric Light Company"
    return f"Walter Pennock founded it. [{number_of(shown(prompt), 'Pennock')}]"


@pytest.mark.slow
def test_what_an_agent_says_on_the_way_reaches_every_client(
    documents_store: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    """Events, a WebSocket, the command line and tools; only messages of the kind `answer` are its text."""
    pytest.importorskip("mcp")
    shutil.copytree(documents_store, tmp_path / "store")
    env = {"GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url, "GRAPHRAG_RDF_LLM__API_KEY": "sk-scripted"}
    scripted_server.answer_with(agent)
    question = {"question": QUESTION, "pipeline": "agent_react"}
    answer = "Walter Pennock founded it. [1]"
    with Endpoint.start(
        tmp_path / "store", "--model", "openai/scripted", "--anonymous", "write", **env
    ) as endpoint:
        with (
            endpoint.client() as client,
            client.stream("POST", "/ask", json=question, headers=EVENTS) as response,
        ):
            found = events(response)
        with connect(f"ws{endpoint.url[4:]}/ask/ws") as socket:
            socket.send(json.dumps(question))
            received = [json.loads(socket.recv(timeout=20))]
            while not received[-1]["end_of_session"]:
                received.append(json.loads(socket.recv(timeout=20)))
        assert [message["kind"] for message in received] == [message["kind"] for message in found]
        said = [message for message in found if message["message_type"] == "chunk"]
        assert [message["kind"] for message in said] == [
            *("thought", "action", "observation", "thought", "answer", "final")
        ]
        assert said[0]["response"] == "Who it was is unknown."
        assert "".join(message["response"] for message in said if message["kind"] == "answer") == answer
        assert said[-1]["answer"]["answer"] == answer
        with endpoint.client() as client:
            assert client.post("/ask", json=question).json()["answer"] == answer

        asked = program("ask", "--server", endpoint.url, "--pipeline", "agent_react", QUESTION)
        printed = subprocess.run(asked, capture_output=True, text=True, env=environment(), check=True)
        assert printed.stdout.startswith(answer)
        assert "Thought: Who it was is unknown." in printed.stderr
        assert "Action: knowledge-query" in printed.stderr
        assert printed.stderr.count("Observation:") == 1
        assert "Observation: Walter Pennock" in printed.stderr

        told: list[str] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            del done, total
            told.append(message or "")

        async def work(client: Any) -> Any:
            return (await client.call_tool("ask", question, progress_callback=progress)).structured_content

        assert talk(over_http(endpoint), work)["answer"] == answer
        assert "thought: Who it was is unknown." in told
        assert any(line.startswith("observation: Walter Pennock") for line in told)


@pytest.mark.slow
def test_a_model_takes_a_token_and_who_hangs_up_cancels_its_call(
    documents_store: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    place = tmp_path / "store"
    shutil.copytree(documents_store, place, ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    env = {
        "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
        "GRAPHRAG_RDF_LLM__API_KEY": "sk-scripted",
        "GRAPHRAG_RDF_SERVER__READ_TOKEN": READ,
    }
    question = {"question": "Who founded the Tarnay Electric Light Company?"}
    with Endpoint.start(place, "--model", "openai/scripted", **env) as endpoint:
        with endpoint.client() as stranger:
            assert stranger.post("/ask", json=question).status_code == 401
            assert stranger.post("/retrieve", json=question).status_code == 401
        assert not scripted_server.requests

        def answer(request: Request) -> Reply:
            if request.body.get("stream"):
                return Reply("Walter Pennock founded it [1]. " * 40, chunk_delay=0.2)
            return Reply('{"concepts": ["Tarnay Electric Light Company"]}')

        scripted_server.answer_with(answer)
        with endpoint.client(READ) as client:
            with client.stream("POST", "/ask", json=question, headers=EVENTS) as response:
                for line in response.iter_lines():
                    if line == "event: answer":
                        break
            outcome = (
                "PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> "
                "SELECT ?o { GRAPH <urn:graph:retrieval> { ?s rag:outcome ?o } }"
            )

            def cancelled() -> bool:
                found = client.get("/sparql", params={"query": outcome})
                assert found.status_code == 200, found.text
                rows = found.json()["results"]["bindings"]
                return "cancelled" in {row["o"]["value"].rpartition("#")[2] for row in rows}

            eventually(cancelled, seconds=20)
