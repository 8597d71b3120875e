"""Traces in TrustGraph's own forms, today's and older ones: listed, shown, verified, exported, deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad, parse

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import import_file
from graphrag_rdf.lists.declaration import Asked
from graphrag_rdf.lists.table import list_text
from graphrag_rdf.lists.traces import TRACES
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.catalogue import count_outcomes, list_traces, prune
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.replay import replay
from graphrag_rdf.wings.audit.verify import verify
from tests.support.stores import open_engine

FILES = sorted((Path(__file__).parent / "trustgraph").glob("*.t*"))
GRAPHRAG, DOCRAG, REACT, PLAN, SUPERVISOR, SESSION, AGENT, OLD_DOCRAG = (
    f"{digit}{digit * 7}-aaaa-4bbb-8ccc-00000000000{digit}" for digit in "12345678"
)
ALL = (SUPERVISOR, PLAN, REACT, DOCRAG, GRAPHRAG, OLD_DOCRAG, AGENT, SESSION)
"""Newest first."""


def in_their_graphs(path: Path) -> list[Quad]:
    """A file as an update or the Graph Store Protocol puts it into the store."""
    graph = Graphs.RETRIEVAL if path.suffix == ".ttl" else None
    return [Quad(one.subject, one.predicate, one.object, graph or one.graph_name) for one in parse(path=path)]


@pytest.fixture(scope="module", params=["update", "import"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A store with all traces, put there in two ways. Tests only read it."""
    with open_engine(":memory:") as opened:
        if request.param == "import":
            for path in FILES:
                import_file(opened, path)
        else:
            opened.store.commit(Changes(add=[quad for path in FILES for quad in in_their_graphs(path)]))
        yield opened


@pytest.fixture
def own() -> Iterator[Engine]:
    """A store with all traces that a test may change."""
    with open_engine(":memory:") as opened:
        opened.store.commit(Changes(add=[quad for path in FILES for quad in in_their_graphs(path)]))
        yield opened


def test_they_are_listed_with_their_kind_below_what_started_them(engine: Engine) -> None:
    found = list_traces(engine.store, 20)
    assert [one.iri[-36:] for one in found if one.parent is None] == list(ALL)
    kinds = {one.iri[-36:]: one.kind for one in found}
    assert [kinds[one] for one in ALL] == [
        *("agent", "agent", "agent", "docrag", "graphrag", "docrag", "agent", "graphrag")
    ]
    below = {one.question: (one.parent or "")[-36:] for one in found if one.parent}
    assert below == {
        "Describe Upper Mill": SUPERVISOR,
        "Describe Lower Mill": SUPERVISOR,
        "Who built Upper Mill?": REACT,
    }
    steps = {one.iri[-36:]: one.steps for one in found}
    assert [steps[one] for one in ALL] == [5, 4, 6, 4, 4, 2, 3, 3]
    assert found[-1].time == datetime(2024, 1, 15, 10, 30, tzinfo=UTC)
    assert "????" not in list_text(TRACES, to_json(found), Asked(20))


def test_they_are_told_apart_from_ours(own: Engine, tmp_path: Path) -> None:
    (tmp_path / "mill.txt").write_text("Orla Fenn built Upper Mill in 1790.", encoding="utf-8")
    own.ingest([tmp_path / "mill.txt"])
    list(own.ask("Who built Upper Mill?", "graph_rag"))
    ours, *theirs = list_traces(own.store, 20)
    assert ours.outcome != "foreign"
    assert {one.outcome for one in theirs} == {"foreign"}
    assert count_outcomes(own.store) == {str(ours.outcome): 1, "foreign": 11}
    assert list_traces(own.store, 20, outcome="foreign") == theirs
    assert own.traces["last"].form == "graphrag-rdf"
    assert own.traces[GRAPHRAG].form == "trustgraph"
    assert own.traces[SESSION].form == "trustgraph-older"


@pytest.mark.parametrize(
    ("name", "kinds", "shown"),
    [
        (
            GRAPHRAG,
            ["grounding", "exploration", "focus", "synthesis"],
            [
                *("Where does the builder of Upper Mill live?", "tokens 212 in, 9 out", "concept: builder"),
                *("(Upper Mill, built by, Orla Fenn)", "Score: 0.937", "Concept: builder"),
                *("Source: Chunk 1 → Page 1 → Mills of the Hask valley", "in TrustGraph's form"),
            ],
        ),
        (
            DOCRAG,
            ["grounding", "exploration", "focus", "synthesis"],
            ["Chunk: Chunk 1 → Page 1 → Mills of the Hask valley · 0.710", "urn:chunk:00000000-97c4"],
        ),
        (
            REACT,
            ["pattern-decision", "analysis", "observation", "analysis", "observation", "conclusion"],
            [
                *("pattern: react", '{"question": "Who built Upper Mill?"}', "llm_ms: 812", "tool_ms: 1304"),
                *("error: calendar: no such person", "Asked: Who built Upper Mill?", "/i1/thought"),
            ],
        ),
        (
            PLAN,
            ["plan", "step-result", "step-result", "synthesis"],
            ["goals: Find when Upper Mill was built"],
        ),
        (
            SUPERVISOR,
            ["pattern-decision", "decomposition", "finding", "finding", "synthesis"],
            ["goal: Describe Upper Mill", "Asked: Describe Lower Mill"],
        ),
        (
            SESSION,
            ["exploration", "focus", "synthesis"],
            [
                *("edges: 50", "Reason: This edge names the builder.", "(Upper Mill, built by, Orla Fenn)"),
                "in an older form of TrustGraph",
            ],
        ),
        (
            AGENT,
            ["analysis", "analysis", "conclusion"],
            [
                *("thought: The knowledge base may say so.", "observation: Upper Mill has five sails."),
                "answer: It has five sails.",
            ],
        ),
        (OLD_DOCRAG, ["exploration", "synthesis"], ["The wind turns the sails.", "chunk-id-2"]),
    ],
)
def test_they_are_shown_in_order(engine: Engine, name: str, kinds: list[str], shown: Iterable[str]) -> None:
    trace = engine.traces[name]
    assert [step.kind for step in trace.steps] == kinds
    text, page = render_trace(trace, width=200), engine.traces.export(name, "html")
    for part in shown:
        assert part in text
    assert trace.question in page
    assert "None" not in text


def test_any_node_names_its_trace(engine: Engine) -> None:
    for one in list_traces(engine.store, 20):
        for step in engine.traces[one.iri].steps:
            assert engine.traces[step.iri].iri == one.iri
    assert engine.traces["last"].iri.endswith(SUPERVISOR), "not what it started"


@pytest.mark.parametrize("name", ALL)
def test_they_are_verified_as_far_as_they_go(engine: Engine, name: str) -> None:
    found = {check.check: check for check in verify(engine, name)}
    assert not [check for check in found.values() if check.ok is False]
    assert found["others"].ok is None
    assert found["session"].ok
    assert found["chain"].ok
    stored = [step.values["stored"].value for step in engine.traces[name].steps if "stored" in step.values]
    if name not in (AGENT, OLD_DOCRAG):  # their texts are in the graph
        assert stored[0] in found["answer"].detail


def test_what_is_wrong_with_one_is_found(own: Engine) -> None:
    def remove(*subjects: str, graph: NamedNode = Graphs.RETRIEVAL) -> None:
        gone = [one for one in own.store.quads() if str(one.subject.value) in subjects]
        own.store.commit(Changes(remove=[one for one in gone if one.graph_name == graph]))

    def failed(name: str) -> dict[str, str]:
        return {check.check: check.detail for check in verify(own, name) if check.ok is False}

    remove(f"urn:trustgraph:docrag:{DOCRAG}/exploration")
    assert "focus derives from" in failed(DOCRAG)["chain"]
    remove(f"urn:trustgraph:agent:{AGENT}/final")
    assert failed(AGENT) == {"session": "it has no answer"}
    remove("https://trustgraph.ai/subgraph/7c2f8e1d-3b5a-4f6c-8d7e-9f0a1b2c3d03", graph=Graphs.SOURCE)
    edges = failed(GRAPHRAG)["sources"]
    assert "(Upper Mill, built by, Orla Fenn) leads to no document" in edges


@pytest.mark.parametrize("form", ["trig", "turtle", "nquads", "prov-n", "prov-json"])
def test_they_are_exported_with_their_sources(engine: Engine, form: str) -> None:
    text = engine.traces.export(GRAPHRAG, form)  # type: ignore[arg-type]
    for part in ("synthesis", "chunk:5b1e7d0c", "subgraph", "kg-extract-relationships extraction"):
        assert part in text


def test_they_are_deleted_with_what_they_started(own: Engine) -> None:
    assert own.traces.delete(REACT).traces == 2
    assert prune(own.store, own.blobs, older_than=datetime(2025, 1, 1, tzinfo=UTC)).traces == 3
    assert [one.iri[-36:] for one in list_traces(own.store, 20) if not one.parent] == [
        *(SUPERVISOR, PLAN, DOCRAG, GRAPHRAG)
    ]
    assert prune(own.store, own.blobs, keep=1).traces == 3
    assert prune(own.store, own.blobs, keep=0).traces == 3
    assert not [one for one in own.store.quads() if one.graph_name == Graphs.RETRIEVAL]


def test_one_cannot_be_asked_again(engine: Engine) -> None:
    with pytest.raises(UsageError, match="another program wrote this trace"):
        replay(engine, GRAPHRAG)


def test_an_import_makes_no_facts_of_them(engine: Engine) -> None:
    assert not [check for check in run_checks(engine.store, engine.blobs) if "urn:trustgraph" in check.focus]
    traces = [one for one in engine.store.quads() if str(one.subject).startswith("<urn:trustgraph:")]
    assert {one.graph_name for one in traces} == {Graphs.RETRIEVAL}


def test_the_text_is_shown_where_somebody_stored_it(own: Engine) -> None:
    document = NamedNode(f"urn:trustgraph:synthesis:{GRAPHRAG}")
    content = NamedNode("https://trustgraph.ai/ns/content")
    own.store.commit(Changes(add=[Quad(document, content, Literal("She lives in Hask."), Graphs.RETRIEVAL)]))
    assert own.traces[GRAPHRAG].answer == "She lives in Hask."
    assert "answer" not in {check.check for check in verify(own, GRAPHRAG)}
