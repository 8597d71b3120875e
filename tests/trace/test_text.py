"""Traces as text, and nothing but letters in it."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, Quad

from graphrag_rdf.ingest.forget import erase_and_mark
from graphrag_rdf.lists.declaration import Asked
from graphrag_rdf.lists.table import list_text
from graphrag_rdf.lists.traces import TRACES
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import TG, Graphs
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.catalogue import list_traces
from graphrag_rdf.trace.kinds import NodeKind
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.sources import source_fact, source_tree
from graphrag_rdf.trace.text import (
    one_line,
    printable,
    render_fact_sources,
    render_message,
    render_session,
    render_step,
    render_trace,
    render_tree,
)
from tests.trace.conftest import Sample, nest, record

HOSTILE = "Ada\x1b]0;gone\x07 \x1b[2J\x9b31m\u202etxt.exe\u2066 \x00\r\u2028\udcff end"
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=())) | st.text(
    "\x1b[\x9b\u202e\r\n\t\u2028a "
)


@given(ANY_TEXT)
def test_printable_leaves_no_control(text: str) -> None:
    shown = printable(text)
    for letter in shown:
        category = unicodedata.category(letter)
        assert letter == "\n" or category not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(letter) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    shown.encode()


@given(ANY_TEXT)
def test_printable_keeps_offsets_and_settles(text: str) -> None:
    assert len(printable(text)) == len(text)
    assert printable(printable(text)) == printable(text)


@given(st.text(st.characters(categories=("L", "M", "N", "P", "S", "Zs"))))
def test_printable_keeps_every_letter(text: str) -> None:
    assert printable(text) == text


@given(ANY_TEXT)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_all_of_a_trace(sample: Sample, run: TraceRecorder) -> None:
    shown = render_trace(read_trace(sample.store, run.session, sample.blobs))
    for name, iri in (
        ("session", run.session),
        ("question", run.question),
        *(
            (kind, iris.trace_step(kind, run.run))
            for kind in ("grounding", "exploration", "focus", "synthesis")
        ),
    ):
        assert f"[{name}] {iri.value}\n" in shown
    for text in (
        "    Selected 3 edge(s)\n",
        "      Edge: (Ada, founded, mill)\n",
        "        Reason: It names the founder.\n",
        "        Concept: mill\n",
        "        Score: 0.750 (words 0.500, graph 1.000) · hop 1 · cited as [1]\n",
        "        Source: Chunk 1 → A letter (characters 0–29)\n",
        "          “Ada founded the mill in 1903.”\n",
        "        Source: Chunk 1 → Page 1 → Report on the mill (characters 9–30)\n",
        "        Source: Chunk 1 → Page 1 → Report on the mill (quote not found in the\n          text)\n",
        "        Source: Chunk 2 → Page 2 → Report on the mill (characters 41–70)\n",
        "    Selected 1 sentence(s)\n",
        "Ada founded the mill. [1] It stands in Corvane. [2]\n",
        "    Warning: one is not cited\n",
    ):
        assert text in shown


def test_more_when_asked(sample: Sample, run: TraceRecorder) -> None:
    trace = read_trace(sample.store, run.session, sample.blobs)
    brief, full = render_trace(trace), render_trace(trace, full=True)
    for text in (
        "Considered: * 1. (Ada, founded, mill)",
        "Activated: Ada (round 1, activation 0.500)",
        "focus: edge_limit=25 use=rank",
        "Call llm:",
    ):
        assert text in full
        assert text not in brief


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_lines_are_wrapped(sample: Sample, width: int) -> None:
    run = record(sample, reasoning="It says so " * 60, answer="word " * 300 + "[1] and 名前" + "字" * 300)
    shown = render_trace(read_trace(sample.store, run.session, sample.blobs), width=width)
    for line in shown.splitlines():
        if not re.search(r"\[\w+\] urn:|\d+ (edge|sentence|concept|seed)", line):
            cells = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
            assert cells <= max(width, 32), line


def test_nothing_hostile_reaches_the_terminal(sample: Sample) -> None:
    hostile = HOSTILE.replace("\udcff", "")
    run = record(sample, f"Who {hostile}?", reasoning=hostile, answer=f"{hostile} [1] {hostile} [2]")
    trace = read_trace(sample.store, run.session, sample.blobs)
    title = next(
        q
        for q in sample.store.quads(Graphs.SOURCE)
        if q.object == Literal("A letter") and "label" in str(q.predicate)
    )
    sample.edit(remove=[title], add=[Quad(title.subject, title.predicate, Literal(hostile), Graphs.SOURCE)])
    texts = [
        render_trace(trace, full=True),
        render_session(trace),
        listing(sample),
        render_tree(source_tree(sample.store, "ada.txt")),
        render_fact_sources(source_fact(sample.store, "Ada", "founded", "mill")),
    ]
    for text in texts:
        assert not set(text) & {"\x1b", "\x9b", "\x07", "\x00", "\r", "\u202e", "\u2066", "\u2028"}


def test_colour_only_when_asked(sample: Sample, run: TraceRecorder) -> None:
    trace = read_trace(sample.store, run.session, sample.blobs)
    plain, coloured = render_trace(trace), render_trace(trace, colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
    assert coloured.count("\x1b[0m") == coloured.count("\x1b[1m") + coloured.count("\x1b[2m")


def test_messages_are_shown_as_they_come(sample: Sample, run: TraceRecorder) -> None:
    trace = read_trace(sample.store, run.session, sample.blobs)
    for kind, iri in (("session", run.session), ("focus", iris.trace_step("focus", run.run))):
        message = GraphRagResponse("explain", kind, "0", explain_id=iri.value)
        found = trace.step(iri.value)
        expected = render_step(found) if found else render_session(trace)
        assert render_message(sample.store, sample.blobs, message) == expected


def test_the_answer_is_not_shown_twice_while_it_streams(sample: Sample, run: TraceRecorder) -> None:
    message = GraphRagResponse(
        "explain", "synthesis", "0", explain_id=iris.trace_step("synthesis", run.run).value
    )
    shown = render_message(sample.store, sample.blobs, message)
    assert shown.startswith("[synthesis] ")
    assert "Ada founded" not in shown


def test_a_message_of_a_trace_that_is_not_stored_is_a_heading(sample: Sample) -> None:
    recorder = TraceRecorder(sample.store, sample.blobs, stored=False)
    messages = list(recorder.begin("Why?", pipeline="p", label="P", parameters={}, model=None))
    shown = render_message(sample.store, sample.blobs, messages[1])
    assert shown == f"[question] {recorder.question.value}\n"
    assert render_message(sample.store, sample.blobs, recorder.text_chunk("x")) == ""


def test_erased_words_are_named_as_such(sample: Sample, run: TraceRecorder) -> None:
    sample.store.commit(Changes(updates=erase_and_mark([run.session])))
    shown = render_trace(read_trace(sample.store, run.session))
    assert "Edge: (erased)" in shown
    assert "(the text is kept as\n    urn:sha256:" in shown
    assert "a document was forgotten" in shown


def test_an_unknown_kind_of_step_still_shows(sample: Sample, run: TraceRecorder) -> None:
    step = run.step(NodeKind("planning", TG.Plan, "Makes a plan."))
    run.say(step, TG.score, double(1.0))
    run.written(run.finish(step))
    assert "[plan] urn:trustgraph:prov:planning:" in render_trace(read_trace(sample.store, run.session))


def listing(sample: Sample) -> str:
    """The table of the traces."""
    return list_text(TRACES, to_json(list_traces(sample.store, 5)), Asked(5))


def test_the_list_indents_sub_traces(sample: Sample) -> None:
    parent, child = record(sample, "Parent?"), record(sample, "Child?")
    nest(sample, child, parent)
    _, *lines = listing(sample).splitlines()
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 2, 4]
    assert "Child?" in lines[3]


def test_a_document_as_a_tree(sample: Sample) -> None:
    assert render_tree(source_tree(sample.store, "report.pdf")).splitlines() == [
        "Report on the mill",
        "report.pdf · text/plain · en · file:///library/report.pdf",
        "├── Page 1 (characters 0–30)",
        "│   └── Chunk 1 (characters 0–41; also on page 2) “The Mill Ada founded the",
        "│       mill. It burnt d”",
        "│       └── (Ada, founded, mill)",
        "└── Page 2 (characters 31–70)",
        "    └── Chunk 2 (characters 41–70) “own in 1911. Nobody was hurt.”",
        "        └── (mill, burnt down in, 1911)",
    ]
