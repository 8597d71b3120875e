"""Citations as [1] or as [S1]: in streams, answers, traces and pages, whatever form a model writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.trace.citations import SETTING, cited_numbers, in_style, style_of, whole_citations
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.replay import replay
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import QUESTION, model
from tests.support.pages import Page
from tests.support.scripted_server import Reply, ScriptedServer
from tests.wings.agents.pipeline.test_agent import QUESTION as ASKED_OF_AGENTS
from tests.wings.agents.pipeline.test_agent import model as agent

SAID = "Rhoda Tennant invented the reversing gear."
STYLES = pytest.mark.parametrize(("style", "marker"), [("number", "[1]"), ("source", "[S1]")])


def assert_in_style(engine: Engine, marker: str) -> None:
    """Of the newest trace."""
    trace = engine.traces["last"]
    assert [check for check in verify(engine, trace.iri) if not check.ok] == []
    assert f"cited as {marker}" in render_trace(trace, width=200)
    page = Page(render_page(engine.store, trace))
    assert "cite-1" in page.ids
    assert page.text.count(marker) > 1
    other = "[1]" if marker == "[S1]" else "[S1]"
    assert other not in page.text


@STYLES
@pytest.mark.parametrize("written", ["[1]", "[S1]", "【1†source】", "[ s1 ]"])
def test_a_models_citations_are_streamed_and_stored_in_the_style(
    engine: Engine, scripted_server: ScriptedServer, style: str, marker: str, written: str
) -> None:
    scripted_server.answer_with(model(Reply(f"{SAID} {written} It was [made] in 1999. [2]", chunk_size=1)))
    messages = list(engine.ask(QUESTION, settings={SETTING: style}))
    answer = messages[-1].answer
    assert answer is not None
    second = marker.replace("1", "2")
    assert answer["answer"] == f"{SAID} {marker} It was [made] in 1999. {second}"
    assert "".join(one.response for one in messages if one.kind == "answer") == answer["answer"]
    assert [one["marker"] for one in answer["citations"]] == [marker, second]
    assert answer["citations"][0]["sentence"] == f"{SAID} {marker}"
    assert answer["references"][0] == {"label": marker, "source_id": "S1"}
    assert_in_style(engine, marker)


@STYLES
@pytest.mark.parametrize(
    "said", ["The statements do not mention it. {}", SAID + " [888] Nobody was there. {}"]
)
def test_what_cites_nothing_is_streamed_as_it_is_stored(
    engine: Engine, scripted_server: ScriptedServer, style: str, marker: str, said: str
) -> None:
    scripted_server.answer_with(model(Reply(said.format("[777]"), chunk_size=1)))
    messages = list(engine.ask(QUESTION, settings={SETTING: style}))
    assert messages[-1].answer is not None
    told = said.format(marker.replace("1", "777")).replace("[888]", marker.replace("1", "888"))
    assert messages[-1].answer["answer"] == told
    assert "".join(one.response for one in messages if one.kind == "answer") == told


@STYLES
def test_quotes_are_cited_in_the_style(samples: Engine, style: str, marker: str) -> None:
    *_, last = samples.ask(QUESTION, "hybrid_rag", settings={SETTING: style})
    assert last.answer is not None
    assert marker in last.answer["answer"]
    ids = {one["id"] for one in last.answer["sources"]}
    for one in last.answer["references"] if style == "source" else ():
        assert one["source_id"].partition(".")[0] == one["label"].strip("[]")
        assert one["source_id"] in ids
    assert_in_style(samples, marker)


@STYLES
def test_an_agent_takes_over_citations_in_the_style(
    engine: Engine, scripted_server: ScriptedServer, style: str, marker: str
) -> None:
    scripted_server.answer_with(agent)
    *_, last = engine.ask(ASKED_OF_AGENTS, "agent_react", settings={SETTING: style})
    assert last.answer is not None
    assert last.answer["answer"] == f"{SAID} {marker}"
    assert {one["marker"] for one in last.answer["citations"]} == {marker}
    assert [check for check in verify(engine, "last") if not check.ok] == []
    assert replay(engine, "last").same, "the style is that of the trace"


def test_an_unknown_style_is_refused(samples: Engine) -> None:
    with pytest.raises(ConfigError, match="no style 'roman'"):
        samples.ask(QUESTION, settings={SETTING: "roman"})


@given(st.text("[]S12 a\n"), st.lists(st.integers(1, 5)))
def test_no_citation_is_divided_in_a_stream(text: str, sizes: list[int]) -> None:
    pieces, at = [], 0
    for size in [*sizes, len(text)]:
        pieces.append(text[at : at + size])
        at += size
    cut = list(whole_citations(iter(pieces)))
    assert "".join(cut) == text
    styled = in_style(text, "source")
    assert "".join(in_style(piece, "source") for piece in cut) == styled
    assert cited_numbers(styled) == cited_numbers(text)
    assert style_of(styled) == ("source" if cited_numbers(text) else "number")
