"""A page shows five sources of a citation, and the others on demand."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.messages import SOURCES_SHOWN
from graphrag_rdf.trace.model import Selected
from graphrag_rdf.trace.page import evidence_for, render_page
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.recorder import TraceRecorder
from tests.support.pages import Page
from tests.trace.conftest import Sample


def _source(number: int) -> Source:
    return Source(document=f"urn:doc:{number}", title="T", uri="u", chunk="urn:c", quote=f"Quote {number}.")


@given(st.lists(st.integers(0, 9), max_size=8))
def test_no_source_is_lost_and_at_most_five_are_shown_first(counts: list[int]) -> None:
    selections = [Selected(sources=tuple(map(_source, range(count)))) for count in counts]
    found = evidence_for(1, selections)
    assert sum(len(sources) or 1 for _, sources in found.shown) <= SOURCES_SHOWN
    total = sum(count or 1 for count in counts)
    assert found.hidden == max(0, total - SOURCES_SHOWN)
    for one in selections:
        pieces = [sources for own, sources in (*found.shown, *found.more) if own is one]
        assert pieces
        assert tuple(chain.from_iterable(pieces)) == one.sources


def test_the_page_of_a_trace_folds_the_sources_after_the_fifth(sample: Sample, run: TraceRecorder) -> None:
    trace = read_trace(sample.store, run.session, sample.blobs)
    cited = next(one for one in trace.selections if one.marker == 1)
    (first, *_) = cited.sources
    cited.sources = tuple(replace(first, quote=f"Quote {number}.") for number in range(8))
    html = render_page(sample.store, trace)
    item = html.partition('id="cite-1"')[2].partition("</li>")[0]
    before, _, after = item.partition("<details>")
    assert before.count("<blockquote") == 5
    assert "<summary>3 more</summary>" in after
    assert [f"Quote {number}." in after for number in range(8)] == [False] * 5 + [True] * 3
    assert Page(html).ids.count("cite-1") == 1


def test_the_page_of_an_answer_that_is_not_kept_folds_them_too() -> None:
    quotes = [{"quote": f"Quote {n}.", "stated": None, "name": "Notes", "address": "/x"} for n in range(7)]
    html = render(
        "conversation",
        trace=None,
        earlier=[],
        conversations=[],
        token=False,
        model=None,
        stored=False,
        pipelines=[],
        pipeline="graph_rag",
        run_name="",
        question="Who?",
        answer={"answer": "Ada [1]", "citations": [1], "passages": [], "warnings": []},
        quotes=[{"marker": "[1]", "shown": quotes[:5], "more": quotes[5:]}],
    )
    before, _, after = html.partition("<aside")[2].partition("<details>")
    assert before.count("Quote ") == 5
    assert "<summary>2 more of [1]</summary>" in after
    assert after.count("Quote ") == 2
