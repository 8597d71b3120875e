"""TrustGraph's protocol at /api/v1, spoken frame by frame. `tests/trustgraph` runs its real clients."""

from __future__ import annotations

import base64
import json
import shutil
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyoxigraph import NamedNode
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.wings.trustgraph.lookups import TriplesRequest, look_up
from tests.steps.conftest import sample_folder, samples
from tests.support.endpoint import TOKENS, WRITE, Endpoint, eventually
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine
from tests.support.trustgraph import (
    LABEL,
    PROV,
    RETRIEVAL,
    SOURCE,
    TG,
    TYPE,
    Socket,
    greeted,
    iri,
    plain,
    value,
)
from tests.wings.agents.pipeline.test_agent import QUESTION as AGENTS_QUESTION
from tests.wings.agents.pipeline.test_agent import team

__all__ = ["sample_folder", "samples"]

QUESTION = "Who founded the Tarnay Electric Light Company?"
NUMBERS = {
    "entity-limit": 50,
    "triple-limit": 30,
    "max-subgraph-size": 150,
    "max-path-length": 2,
    "edge-limit": 25,
}
PENNOCK = "http://trustgraph.ai/e/walter-pennock"


@pytest.fixture
def socket(answering: Endpoint) -> Iterator[Socket]:
    """A client of a server over two documents, without a model."""
    with greeted(answering) as found:
        yield found


@pytest.fixture(scope="module")
def open_server(documents_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server over two documents that takes writes from anybody."""
    store = tmp_path_factory.mktemp("open") / "store"
    shutil.copytree(documents_store, store, ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    with Endpoint.start(store, "--anonymous", "write") as endpoint:
        yield endpoint


def asked(frames: list[dict[str, Any]]) -> str:
    """The question of a run."""
    return next(str(one["explain_id"]) for one in frames if one["message_type"] == "explain")


# --- connections ----------------------------------------------------------------------------------------


def test_a_token_gives_its_role(server: Endpoint) -> None:
    with greeted(server, WRITE) as writer:
        assert "error" not in writer.ask("librarian", operation="add-processing")[0].get("response", {})
    address = server.url.replace("http", "ws", 1)
    with connect(f"{address}/api/v1/socket") as socket:
        socket.send(json.dumps({"type": "auth", "token": "wrong-token-for-tests"}))
        refused = json.loads(socket.recv(timeout=30))
    assert refused == {"type": "auth-failed", "error": "the token is not known"}


def test_writing_needs_a_token(server: Endpoint) -> None:
    with greeted(server) as stranger:
        (found,) = stranger.ask("librarian", operation="add-document")
    assert "needs a token of role write" in found["error"]["message"]
    address = server.url.replace("http", "ws", 1)
    with pytest.raises(InvalidStatus), connect(f"{address}/api/v1/flow/default/import/triples"):
        pass


def test_requests_of_a_connection_are_answered_as_they_are_done(socket: Socket) -> None:
    slow = socket.send("graph-rag", query=QUESTION, streaming=True)
    quick = [socket.send("triples", s=iri(PENNOCK), limit=1) for _ in range(3)]
    ends = []
    while len(ends) < 4:
        frame = socket.receive()
        if frame["complete"]:
            ends.append(frame["id"])
    assert sorted(ends) == sorted([slow, *quick])


@pytest.mark.parametrize(
    ("service", "request_", "words"),
    [
        ("nothing", {}, "there is no service 'nothing' here; services: triples, sparql"),
        ("graph-rag", {"query": ""}, "query: it is empty"),
        (
            "graph-rag",
            {"query": "who", "collection": "fleet"},
            "there is no collection 'fleet' on this server",
        ),
        ("graph-rag", {"query": "who", "entity-limit": 100000}, "entity_limit: must be at most"),
        ("agent", {"question": "who", "pattern": "magic"}, "there is no pattern 'magic'; patterns: react"),
        ("agent", {"question": "who"}, "needs a model, and none is set"),
        ("triples", {"s": {"t": "x"}}, "not an RDF term"),
        ("triples", {"s": {"t": "i", "i": "http://[" * 2}}, "not an RDF term"),
        ("sparql", {"query": "SELEC"}, "malformed at line 1"),
        (
            "librarian",
            {"operation": "get-document-content", "document-id": "urn:x"},
            "there is no text of urn:x",
        ),
        ("librarian", {"operation": "juggle"}, "the librarian has no operation 'juggle'"),
    ],
)
def test_a_request_that_cannot_be_served_is_an_error(
    socket: Socket, service: str, request_: dict[str, Any], words: str
) -> None:
    *_, last = socket.ask(service, **request_)
    assert words in last["error"]["message"]
    known = ("graph-rag", "document-rag", "agent")
    assert last["error"]["type"] == (f"{service}-error" if service in known else "request-error")


def test_garbage_ends_the_connection_and_nothing_else(answering: Endpoint) -> None:
    for garbage in ("no JSON", "[1]", b"\x00\x01"):
        with greeted(answering) as socket:
            socket.socket.send(garbage)
            with pytest.raises(ConnectionClosed):
                socket.receive()
    with greeted(answering) as socket:
        assert socket.triples(s=iri(PENNOCK))


# --- triples --------------------------------------------------------------------------------------------


def test_without_a_graph_all_are_asked(socket: Socket) -> None:
    stated = (PENNOCK, LABEL, "Walter Pennock")
    assert stated in socket.triples(s=iri(PENNOCK))
    assert stated in socket.triples(s=iri(PENNOCK), g="*")
    assert stated in socket.triples(s=iri(PENNOCK), g="")
    assert stated not in socket.triples(s=iri(PENNOCK), g=SOURCE)
    graphs = {one.get("g") for one in socket.ask("triples", p=iri(TYPE), limit=500)[0]["response"]}
    assert {None, SOURCE} <= graphs
    assert "urn:graph:system" not in graphs


def test_a_plain_literal_stands_for_its_text(socket: Socket) -> None:
    """The command line sends literals without datatype and language, also inside of statements."""
    dated = [one for one in socket.triples(s=iri(PENNOCK), g="") if not str(one[2]).startswith("http")]
    assert dated
    for s, p, o in dated:
        assert (s, p, o) in socket.triples(s=iri(s), p=iri(p), o=plain(o))
        statement = {"t": "t", "tr": {"s": iri(s), "p": iri(p), "o": plain(o)}}
        found = socket.triples(p=iri(f"{TG}contains"), o=statement, g=SOURCE)
        assert found
        assert {one[2] for one in found} == {(s, p, o)}
    assert socket.triples(o=plain("Walter Pennock"))


def test_streamed_triples_come_in_batches(socket: Socket) -> None:
    whole = socket.triples(p=iri(LABEL), limit=30)
    found = socket.ask("triples", p=iri(LABEL), limit=30, streaming=True, **{"batch-size": 7})
    assert [len(one["response"]) for one in found] == [7, 7, 7, 7, 2][: len(found)]
    assert sum(len(one["response"]) for one in found) == len(whole)
    assert socket.ask("triples", s=iri("urn:nobody"), streaming=True) == [{"response": []}]


def test_sparql_answers_in_their_forms(socket: Socket) -> None:
    query = "SELECT ?s ?n { ?s a tg:Chunk ; tg:charLength ?l . OPTIONAL { ?s rag:nothing ?n } } ORDER BY ?s"
    (found,) = socket.ask("sparql", query=query)
    assert (found["query-type"], found["variables"]) == ("select", ["s", "n"])
    assert [row["values"][1] for row in found["bindings"]] == [None, None]
    assert len(socket.ask("sparql", query=query, streaming=True, **{"batch-size": 1})) == 2
    assert socket.ask("sparql", query="ASK { ?s a tg:Chunk }") == [{"query-type": "ask", "ask-result": True}]
    (made,) = socket.ask("sparql", query="CONSTRUCT { ?s a tg:Page } WHERE { ?s a tg:Chunk }", limit=1)
    assert [value(one["o"]) for one in made["triples"]] == [f"{TG}Page"]


# --- questions ------------------------------------------------------------------------------------------


def test_graph_rag_streams_its_steps_and_its_answer(socket: Socket) -> None:
    frames = socket.ask(
        "graph-rag", query=QUESTION, collection="default", streaming=True, explainable=True, **NUMBERS
    )
    explained = [one for one in frames if one["message_type"] == "explain"]
    steps = ["Question", "Grounding", "Exploration", "Focus", "Synthesis"]
    for step, frame in zip(steps, explained, strict=True):
        said = [one for one in frame["explain_triples"] if value(one["s"]) == frame["explain_id"]]
        assert f"{TG}{step}" in {value(one["o"]) for one in said if value(one["p"]) == TYPE}
        assert {one["g"] for one in said} == {frame["explain_graph"]} == {RETRIEVAL}
        assert frame["explain_triples"][-1] in said, "the last value counts for the client"
        stored = socket.about(frame["explain_id"])
        assert stored[TYPE], "a step is in the store before it is told"
    chunks = [one for one in frames if one["message_type"] == "chunk"]
    assert "Walter Pennock founded" in "".join(one["response"] for one in chunks)
    assert [one["end_of_session"] for one in chunks] == [False] * (len(chunks) - 1) + [True]
    assert frames[-1]["sources"] == [
        {"uri": "https://trustgraph.ai/doc/documents/company.txt", "title": "Company"}
    ]


def test_numbers_without_effect_are_noted_in_the_trace(socket: Socket) -> None:
    frames = socket.ask("graph-rag", query=QUESTION, streaming=True, languages=["en"], **NUMBERS)
    (session,) = socket.about(asked(frames))[f"{PROV}wasGeneratedBy"]
    pipeline = "https://w3id.org/graphrag-rdf/ns#pipeline"
    assert socket.about(session)[pipeline] == ["hops_rag"]
    text = "SELECT ?d { ?s rag:warning ?w . ?w rag:warningType 'setting_ignored' ; rag:detail ?d }"
    (found,) = socket.ask("sparql", query=text)
    assert "hops_rag does not have max-subgraph-size, languages" in str(found["bindings"])


def test_without_streaming_there_is_one_answer(socket: Socket, answering: Endpoint) -> None:
    (found,) = socket.ask(
        "document-rag", query=QUESTION, streaming=False, **{"doc-limit": 5, "fetch-limit": 0}
    )
    assert found["end_of_session"] is True
    assert "Walter Pennock" in found["response"]
    with answering.client() as client:
        path = "/api/v1/flow/default/service/graph-rag"
        posted = client.post(path, json={"query": QUESTION, "workspace": "default", **NUMBERS}).json()
        assert "Walter Pennock" in posted["response"]
        refused = client.post(path, json={"query": ""})
    assert refused.status_code == 200, "clients read no error of another status"
    assert refused.json()["error"]["type"] == "graph-rag-error"


def test_a_session_of_the_clients_name(socket: Socket) -> None:
    name = str(uuid.uuid4())
    frames = socket.ask("graph-rag", query=QUESTION, streaming=True, session_id=name)
    assert asked(frames) == f"urn:trustgraph:question:{name}"
    frames = socket.ask("graph-rag", query=QUESTION, streaming=True, session_id="")
    assert asked(frames).startswith("urn:trustgraph:question:")


def test_a_session_goes_on(socket: Socket) -> None:
    first = asked(socket.ask("graph-rag", query=QUESTION, streaming=True))
    frames = socket.ask("graph-rag", query="Where did he live?", streaming=True, session_id=first)
    assert "Port Merrin" in "".join(one["response"] for one in frames)
    (follow,) = (
        one["explain_id"]
        for one in frames
        if one.get("explain_id", "").startswith("urn:trustgraph:question:")
    )
    listed = [s for s, _, _ in socket.triples(p=iri(f"{TG}query"), g=RETRIEVAL, limit=2)]
    assert listed == [follow, first], "not after them, as the question of a step"
    assert f"{PROV}wasDerivedFrom" not in socket.about(follow), "its client takes what derives for a step"
    assert follow not in followed(socket, first)


# --- traces ---------------------------------------------------------------------------------------------


def test_questions_are_listed_newest_first_without_their_runs(socket: Socket) -> None:
    asked_now = [asked(socket.ask("graph-rag", query=QUESTION, streaming=True)) for _ in range(2)]
    listed = [s for s, _, _ in socket.triples(p=iri(f"{TG}query"), g=RETRIEVAL, limit=2)]
    assert listed == asked_now[::-1]
    all_listed = socket.triples(p=iri(f"{TG}query"), g=RETRIEVAL)
    assert not [s for s, _, _ in all_listed if ":session:" in s]
    about = socket.about(asked_now[0])
    assert about[f"{PROV}startedAtTime"] == about[f"{PROV}generatedAtTime"]
    types = [o for _, _, o in socket.triples(s=iri(asked_now[0]), p=iri(TYPE), g=RETRIEVAL)]
    assert {f"{PROV}Activity", f"{PROV}Entity", f"{TG}Question", f"{TG}GraphRagQuestion"} <= {*types}


def followed(socket: Socket, node: str) -> list[str]:
    """What its client shows after a node: it follows derivations, and shows what it finds each time."""
    found: list[str] = []
    for step, _, _ in socket.triples(p=iri(f"{PROV}wasDerivedFrom"), o=iri(node), g=RETRIEVAL, limit=20):
        found += [step, *followed(socket, step)]
    return found


def test_its_client_finds_each_step_of_a_graph_rag_trace_once(socket: Socket) -> None:
    question = asked(socket.ask("graph-rag", query=QUESTION, streaming=True))
    run = question.rpartition(":")[2]
    steps = ["grounding", "exploration", "focus", "synthesis"]
    assert followed(socket, question) == [f"urn:trustgraph:prov:{step}:{run}" for step in steps]


def test_its_client_finds_the_answer_of_reranked_document_rag(samples: Engine) -> None:
    """It looks for the synthesis after the exploration, where the reranked chunks are."""
    question = "Who designed the Skell Tidal Station?"
    *_, last = samples.ask(question, "doc_rag", settings={"focus.diversity": "mmr"})
    assert last.answer is not None
    exploration = next(step["iri"] for step in last.answer["steps"] if step["type"] == "exploration")
    assert "focus" in [step["type"] for step in last.answer["steps"]]
    pattern = TriplesRequest(p=iri(f"{PROV}wasDerivedFrom"), o=iri(exploration), g=RETRIEVAL)
    (found,) = look_up(samples.store, pattern)
    assert value(found["s"]).endswith("/synthesis")


def test_traces_of_others_are_left_as_they_are(open_server: Endpoint) -> None:
    with open_server.client() as client:
        update = (
            f"PREFIX tg: <{TG}> PREFIX prov: <{PROV}> INSERT DATA {{ GRAPH <{RETRIEVAL}> {{ "
            '<urn:trustgraph:question:theirs> a tg:Question, tg:GraphRagQuestion ; tg:query "Theirs?" ; '
            'prov:startedAtTime "2030-01-01T00:00:00.000000Z" . '
            "<urn:trustgraph:prov:grounding:theirs> prov:wasDerivedFrom <urn:trustgraph:question:theirs> } }"
        )
        client.post("/update", data={"update": update}).raise_for_status()
    with greeted(open_server) as socket:
        assert (
            socket.triples(p=iri(f"{TG}query"), g=RETRIEVAL, limit=1)[0][0]
            == "urn:trustgraph:question:theirs"
        )
        assert len(socket.about("urn:trustgraph:question:theirs")[f"{PROV}startedAtTime"]) == 1
        assert followed(socket, "urn:trustgraph:question:theirs") == ["urn:trustgraph:prov:grounding:theirs"]


def test_texts_of_traces_and_documents_are_given(socket: Socket, answering: Endpoint) -> None:
    frames = socket.ask("graph-rag", query=QUESTION, streaming=True)
    synthesis = [one["explain_id"] for one in frames if one["message_type"] == "explain"][-1]
    (answer,) = socket.about(synthesis)[f"{TG}document"]
    ((chunk, *_),) = socket.triples(p=iri(TYPE), o=iri(f"{TG}Chunk"), g=SOURCE, limit=1)
    document = "https://trustgraph.ai/doc/documents/company.txt"
    with answering.client() as client:
        for thing, words in (
            (answer, "founded the"),
            (synthesis, "founded the"),
            (chunk, "."),
            (document, "Walter"),
        ):
            request = {"operation": "get-document-content", "document-id": thing}
            content = client.post("/api/v1/librarian", json=request).json()["content"]
            assert words in base64.b64decode(content).decode()
            streamed = client.get("/api/v1/document-stream", params={"document-id": thing})
            assert streamed.content == base64.b64decode(content)
        assert client.get("/api/v1/document-stream", params={"document-id": "urn:x"}).status_code == 404
        assert client.get("/api/v1/document-stream").status_code == 400
    about = socket.about(document, SOURCE)
    assert about["http://purl.org/dc/terms/title"] == about[LABEL] == ["Company"]
    assert about["http://purl.org/dc/terms/format"] == ["text/plain"]


# --- agents ---------------------------------------------------------------------------------------------


@pytest.fixture
def agents(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Socket]:
    """A client of a server over the samples, with a scripted model that works in each pattern."""
    scripted_server.answer_with(team)
    shutil.copytree(sample_folder, tmp_path / "store")
    env = {
        "GRAPHRAG_RDF_LLM__MODEL": "openai/test-model",
        "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
        "GRAPHRAG_RDF_LLM__API_KEY": "secret-key-1234567890",
    }
    with Endpoint.start(tmp_path / "store", **env, **TOKENS) as endpoint, greeted(endpoint, WRITE) as socket:
        yield socket


def test_agents_of_each_pattern(agents: Socket, scripted_server: ScriptedServer) -> None:
    patterns = {
        "react": ["i1", "i1/observation", "i2", "final"],
        "plan-then-execute": ["plan", "step/0", "step/1", "plan/2", "step/2", "synthesis"],
        "supervisor": ["decompose", "finding/0", "finding/1", "synthesis"],
        None: ["decompose", "finding/0", "finding/1", "synthesis"],
    }
    for pattern, steps in patterns.items():
        question = AGENTS_QUESTION if pattern == "react" else "Compare the reversing gear and the Petrel."
        frames = agents.ask("agent", question=question, streaming=True, pattern=pattern)
        assert "error" not in frames[-1], frames[-1]
        assert [one.get("end_of_dialog", False) for one in frames].index(True) == len(frames) - 1
        said = "".join(one["content"] for one in frames if one["message_type"] == "answer")
        assert "[1]" in said or "[16]" in said
        kinds = {one["message_type"] for one in frames}
        assert kinds >= {"explain", "observation", "answer"}
        session = asked(frames)
        shown = [step.removeprefix(f"{session}/") for step in followed(agents, session)]
        assert sorted(shown) == sorted(steps), "each step once, whatever it derives from"
        told = [one["explain_id"] for one in frames if one["message_type"] == "explain"]
        assert {f"{session}/{step}" for step in steps} < {*told}
        assert any(":question:" in one for one in told), "steps of runs that tools started are told, too"
    parents = agents.triples(p=iri(f"{TG}query"), g=RETRIEVAL, limit=4)
    assert not [
        s for s, _, _ in parents if agents.triples(s=iri(s), p=iri(f"{PROV}wasDerivedFrom"), g=RETRIEVAL)
    ]
    plans = agents.triples(p=iri(TYPE), o=iri(f"{TG}Plan"), g=RETRIEVAL)
    first = next(agents.about(s) for s, _, _ in plans if s.endswith("/plan"))
    assert first[f"{TG}planStep"] == ["Who invented the reversing gear?", "What else did they invent?"]

    # a thought is not taken for its analysis
    scripted_server.answer_with(lambda request: "Thought: Nothing to look up.\nFinal Answer: I know it.")
    frames = agents.ask("agent", question="What is two and two?", streaming=True, pattern="react")
    kinds = {
        one["explain_id"]: {value(t["o"]) for t in one["explain_triples"] if value(t["p"]) == TYPE}
        for one in frames
        if one["message_type"] == "explain"
    }
    (analysis,) = [iri for iri in kinds if iri.endswith("/i1")]
    assert f"{TG}Analysis" in kinds[analysis]
    assert f"{TG}Reflection" not in kinds[analysis] | kinds.get(f"{analysis}/thought", set()) - {
        f"{TG}Thought"
    }
    assert f"{TG}Thought" in kinds[f"{analysis}/thought"]
    assert "Nothing to look up." in [one.get("content") for one in frames if one["message_type"] == "thought"]


# --- writing --------------------------------------------------------------------------------------------

FLEET = [
    {
        "s": iri("http://example.org/vela"),
        "p": iri("http://example.org/yard"),
        "o": iri("http://example.org/skell"),
    },
    {"s": iri("http://example.org/vela"), "p": iri(LABEL), "o": {"t": "l", "v": "Vela", "ln": "en"}},
    {"s": iri("http://example.org/skell"), "p": iri(LABEL), "o": plain("Skell Yard")},
]


def load(
    endpoint: Endpoint, *messages: dict[str, Any], kind: str = "triples", token: str | None = None
) -> None:
    """Send messages of an import, as a client that reads no answer."""
    address = endpoint.url.replace("http", "ws", 1)
    query = f"?token={token}&workspace=default" if token else "?workspace=default"
    with connect(f"{address}/api/v1/flow/default/import/{kind}{query}") as socket:
        for message in messages:
            about = {"id": "http://example.org/fleet", "metadata": [], "collection": "default"}
            socket.send(json.dumps({"metadata": about, **message}))


def test_loaded_facts_have_a_source_and_are_found(open_server: Endpoint) -> None:
    part = {"s": iri("http://example.org/vela"), "p": iri("http://example.org/part")}
    for name in ("n0a1", "n7ff"):  # the loader names blank nodes anew each time, and sends them as IRIs
        keel = [{**part, "o": iri(name)}, {"s": iri(name), "p": iri(LABEL), "o": plain("keel")}]
        load(open_server, {"triples": FLEET}, {"triples": keel})
        load(open_server, {"entity": iri("http://example.org/vela")}, kind="entity-contexts")
    with greeted(open_server) as socket:
        stated = ("http://example.org/vela", "http://example.org/yard", "http://example.org/skell")
        eventually(lambda: stated in socket.triples(s=iri("http://example.org/vela"), g=""))
        statement = {"t": "t", "tr": FLEET[0]}
        (contained,) = socket.triples(p=iri(f"{TG}contains"), o=statement, g=SOURCE)
        (source,) = socket.about(contained[0], SOURCE)[f"{PROV}wasDerivedFrom"]
        assert socket.about(source, SOURCE)[LABEL] == ["http://example.org/fleet"]
        assert (
            len(socket.triples(s=iri("http://example.org/vela"), p=iri("http://example.org/part"), g="")) == 1
        )

        def answer() -> str:
            frames = socket.ask("graph-rag", query="Which yard has the Vela?", streaming=True)
            return "".join(one["response"] for one in frames)

        eventually(lambda: "Skell Yard" in answer())  # the index is written after the store


def test_triples_of_a_named_graph_are_added_to_it(open_server: Endpoint) -> None:
    load(open_server, {"triples": [{**one, "g": "urn:graph:policy"} for one in FLEET]})
    with greeted(open_server) as socket:
        eventually(lambda: len(socket.triples(g="urn:graph:policy")) == 3)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"triples": [{"s": plain("a"), "p": iri("urn:p"), "o": plain("b")}]}, "not a triple"),
        ({"triples": ["a"]}, "a triple is not a JSON object"),
        ({"triples": 5}, "not a JSON object with metadata and triples"),
        ({"triples": [{**FLEET[0], "g": 5}]}, "'5' is not an absolute IRI"),
        ({"triples": [{**FLEET[0], "g": "no iri"}]}, "is not an absolute IRI"),
        ({"metadata": {"collection": "elsewhere"}, "triples": []}, "there is no collection 'elsewhere'"),
    ],
)
def test_a_refused_import_writes_nothing_and_is_logged(
    open_server: Endpoint, message: dict[str, Any], words: str
) -> None:
    size = commits(open_server)
    load(open_server, message)
    eventually(lambda: any(words in line for line in open_server.log))
    assert commits(open_server) == size


def test_an_import_of_bytes_is_refused(open_server: Endpoint) -> None:
    address = open_server.url.replace("http", "ws", 1)
    with connect(f"{address}/api/v1/flow/default/import/triples") as socket:
        socket.send(b"{}")
        with pytest.raises(ConnectionClosed, match="messages are sent as text"):
            socket.recv(timeout=10)


def commits(endpoint: Endpoint) -> str:
    """The number of the newest commit."""
    return (
        httpx.get(f"{endpoint.url}/health").headers.get("graphrag-commit", "")
        or httpx.get(f"{endpoint.url}/sparql", params={"query": "ASK {}"}).headers["graphrag-commit"]
    )


def test_a_step_and_its_items_name_a_seed_once(socket: Socket) -> None:
    frames = socket.ask("graph-rag", query=QUESTION, streaming=True)
    (explored,) = [one for one in frames if ":exploration:" in one.get("explain_id", "")]
    seeds = [t["o"]["i"] for t in explored["explain_triples"] if t["p"]["i"] == f"{TG}entity"]
    assert len(seeds) == len({*seeds}) > 0


def test_relations_of_other_vocabularies_have_names(socket: Socket) -> None:
    ((_, _, label),) = socket.triples(s=iri(TYPE), p=iri(LABEL), limit=1)
    assert label == "is a"
    assert socket.triples(s=iri("http://example.org/unused"), p=iri(LABEL), limit=1) == []


def test_documents_are_read_when_they_are_added(open_server: Endpoint) -> None:
    text = base64.b64encode(b"# Otter\n\nAda Brook built the cutter Otter in 1903.\n").decode()
    about = {"id": "https://example.org/doc/otter", "kind": "text/markdown", "title": "The Otter, a cutter"}
    with greeted(open_server) as socket:
        request = {"operation": "add-document", "document-metadata": about, "content": text}
        assert socket.ask("librarian", **request) == [{}]
        (listed,) = socket.ask("librarian", operation="list-documents")
        added = [one for one in listed["document-metadatas"] if one["id"] == f"{about['id']}.md"]
        assert [(one["kind"], one["title"]) for one in added] == [("text/markdown", about["title"])]
        processing = {"id": "p", "document-id": about["id"], "flow": "default", "collection": "default"}
        request = {"operation": "add-processing", "processing-metadata": processing}
        assert socket.ask("librarian", **request) == [{}]
        frames = socket.ask("graph-rag", query="Who built the cutter Otter?", streaming=True)
        assert "Ada Brook" in "".join(one["response"] for one in frames)
        request["processing-metadata"] = {"document-id": "https://example.org/doc/nobody"}
        assert "there is no document" in socket.ask("librarian", **request)[0]["error"]["message"]
        for content in ("AA=A", "Straße"):
            (unread,) = socket.ask(
                "librarian",
                **{**request, "operation": "add-document", "document-metadata": about, "content": content},
            )
            assert "content is not Base64" in unread["error"]["message"]


@pytest.mark.slow
def test_a_read_only_server_writes_nothing(documents_store: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(documents_store, store, ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    with Endpoint.start(store, "--read-only", "--anonymous", "write") as endpoint:
        with pytest.raises(InvalidStatus):
            load(endpoint, {"triples": FLEET})
        with greeted(endpoint) as socket:
            (found,) = socket.ask(
                "librarian", operation="add-document", content="", **{"document-metadata": {"id": "a"}}
            )
            assert "--read-only" in found["error"]["message"]
            frames = socket.ask("graph-rag", query=QUESTION, streaming=True)
            assert "Walter Pennock" in "".join(one["response"] for one in frames)


def test_statements_of_other_stores_are_terms(samples: Engine) -> None:
    """Selections in traces are found by the fact that was selected."""
    *_, last = samples.ask("Who founded the Tarnay Electric Light Company?", "hops_rag")
    assert last.answer is not None
    edge = next(one["edge"] for one in last.answer["citations"] if one.get("edge"))
    term = {"t": "t", "tr": {part: iri(NamedNode(edge[part]).value) for part in "spo"}}
    found = look_up(samples.store, TriplesRequest(p=iri(f"{TG}edge"), o=term, g=RETRIEVAL))
    assert any(":edge:" in value(one["s"]) for one in found)


@pytest.fixture
def copied(sample_folder: Path, tmp_path: Path) -> Iterator[Engine]:
    """A store that a test may change."""
    folder = Path(shutil.copytree(sample_folder, tmp_path / "store"))
    with open_engine(folder, config=Settings()) as engine:
        yield engine


def test_the_limit_counts_what_the_subject_has(copied: Engine) -> None:
    """A limit of 1 asks whether something has a statement, also where others have it."""
    query = with_prefixes(
        "SELECT ?s ?p ?o { GRAPH <urn:graph:source> { ?g tg:contains ?f } "
        "BIND(SUBJECT(?f) AS ?s) BIND(PREDICATE(?f) AS ?p) BIND(OBJECT(?f) AS ?o) FILTER(isIRI(?o)) } LIMIT 1"
    )
    (row,) = copied.store.query(query).rows or ()
    term = {"t": "t", "tr": {part: iri(row[part].value) for part in "spo"}}  # type: ignore[union-attr]
    stated = f"<urn:subgraph:zz> tg:contains <<( {row['s']} {row['p']} {row['o']} )>>"
    copied.store.update(with_prefixes(f"INSERT DATA {{ GRAPH <urn:graph:source> {{ {stated} }} }}"))
    asked = TriplesRequest(s=iri("urn:subgraph:zz"), p=iri(f"{TG}contains"), o=term, g=SOURCE, limit=1)
    assert [value(one["s"]) for one in look_up(copied.store, asked)] == ["urn:subgraph:zz"]


def test_its_client_gets_at_most_95_triples_of_a_thing(copied: Engine) -> None:
    """TrustGraph's terms come before ours, and numbered things by number. A larger limit gets all."""
    edges = [f"urn:trustgraph:prov:edge:many:{number}" for number in range(130)]
    said = [f"<urn:many> rag:consideredEdge <{edge}> ; tg:selectedEdge <{edge}> ." for edge in edges]
    inserted = f"INSERT DATA {{ GRAPH <urn:graph:retrieval> {{ <urn:many> a tg:Focus . {' '.join(said)} }} }}"
    copied.store.update(with_prefixes(inserted))
    found = look_up(copied.store, TriplesRequest(s=iri("urn:many"), g=RETRIEVAL, limit=100))
    assert [value(one["p"]) for one in found] == [TYPE, *[f"{TG}selectedEdge"] * 94]
    assert [value(one["o"]) for one in found[1:]] == edges[:94]
    more = look_up(copied.store, TriplesRequest(s=iri("urn:many"), g=RETRIEVAL, limit=1000))
    assert len(more) == 261
    asked = TriplesRequest(s=iri("urn:many"), p=iri(f"{TG}selectedEdge"), g=RETRIEVAL, limit=100)
    assert len(look_up(copied.store, asked)) == 100


def test_steps_that_derive_from_each_other_end(copied: Engine) -> None:
    """A stored trace in which hidden steps derive from each other in a circle, and lie side by side."""
    hidden = [f"<urn:h:{number}-{side}>" for number in range(30) for side in "ab"]
    steps = [*hidden, "<urn:h:x>", "<urn:h:y>", "<urn:h:shown>", "<urn:h:lost>"]
    said = [
        f"{one} prov:wasGeneratedBy <urn:h:run> ; a tg:Decision ; "
        f'prov:generatedAtTime "2026-01-01T00:00:00Z"^^xsd:dateTime .'
        for one in steps
    ]
    said += ["<urn:h:q> prov:wasGeneratedBy <urn:h:run> .", "<urn:h:shown> a tg:Synthesis ."]
    said += ["<urn:h:lost> a tg:Synthesis ; prov:wasDerivedFrom <urn:h:x> ."]
    said += ["<urn:h:x> prov:wasDerivedFrom <urn:h:y> . <urn:h:y> prov:wasDerivedFrom <urn:h:x> ."]
    rows = [["<urn:h:q>"], *([f"<urn:h:{n}-a>", f"<urn:h:{n}-b>"] for n in range(30)), ["<urn:h:shown>"]]
    said += [
        f"{one} prov:wasDerivedFrom {other} ."
        for before, after in pairwise(rows)
        for one in after
        for other in before
    ]
    inserted = f"INSERT DATA {{ GRAPH <urn:graph:retrieval> {{ {' '.join(said)} }} }}"
    copied.store.update(with_prefixes(inserted))
    asked = TriplesRequest(p=iri(f"{PROV}wasDerivedFrom"), o=iri("urn:h:q"), g=RETRIEVAL)
    assert [value(one["s"]) for one in look_up(copied.store, asked)] == ["urn:h:shown"]


def test_questions_are_in_the_order_of_time_within_a_second(copied: Engine) -> None:
    """Times are stored without the zeros at their end, so their texts are in another order."""
    said = " ".join(
        f'<urn:q:{number}> tg:query "?" ; prov:generatedAtTime "2099-01-01T00:00:05{part}Z"^^xsd:dateTime .'
        for number, part in enumerate(("", ".1", ".12", ".123"))
    )
    copied.store.update(with_prefixes(f"INSERT DATA {{ GRAPH <urn:graph:retrieval> {{ {said} }} }}"))
    found = look_up(copied.store, TriplesRequest(p=iri(f"{TG}query"), g=RETRIEVAL, limit=4))
    assert [value(one["s"]) for one in found] == [f"urn:q:{number}" for number in (3, 2, 1, 0)]
