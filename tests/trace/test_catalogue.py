"""Which traces there are, and finding one."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.trace.catalogue import count_outcomes, find_trace, list_traces
from graphrag_rdf.trace.recorder import TraceRecorder
from tests.trace.conftest import Sample, nest, record


def test_nothing_is_an_empty_list(sample: Sample) -> None:
    assert list_traces(sample.store, 10) == []


def test_newest_first(sample: Sample) -> None:
    runs = [record(sample, f"Question {number}?") for number in range(4)]
    found = list_traces(sample.store, 3)
    assert [summary.iri for summary in found] == [run.session.value for run in runs[:0:-1]]


def test_what_a_line_says(sample: Sample, run: TraceRecorder) -> None:
    (summary,) = list_traces(sample.store, 10)
    assert to_json(summary).keys() >= {"iri", "kind", "question", "time", "steps", "seconds"}
    assert (summary.kind, summary.question, summary.steps) == ("graph_rag", "Who founded the mill?", 4)
    assert (summary.outcome, summary.parent) == ("completed", None)
    assert summary.seconds is not None


def test_an_unfinished_run_is_listed(sample: Sample) -> None:
    record(sample, closed=False)
    (summary,) = list_traces(sample.store, 10)
    assert (summary.outcome, summary.seconds) == (None, None)


def test_sub_traces_follow_their_parent_and_do_not_count(sample: Sample) -> None:
    old = record(sample, "Old?")
    parent, first, second = (record(sample, name) for name in ("Parent?", "First?", "Second?"))
    nest(sample, first, parent)
    nest(sample, second, parent, "focus")
    newest = record(sample, "Newest?")
    found = list_traces(sample.store, 2)
    assert [summary.question for summary in found] == ["Newest?", "Parent?", "First?", "Second?"]
    assert [summary.parent for summary in found] == [None, None, parent.session.value, parent.session.value]
    assert len(list_traces(sample.store, 10)) == 5
    assert {newest.session.value, old.session.value} < {s.iri for s in list_traces(sample.store, 10)}


def test_one_kind(sample: Sample) -> None:
    record(sample)
    agent = record(sample, "What now?", pipeline="agent")
    assert [summary.iri for summary in list_traces(sample.store, 10, "agent")] == [agent.session.value]
    assert list_traces(sample.store, 10, "drift") == []


@pytest.mark.parametrize(
    "name",
    [
        "urn:trustgraph:session:{run}",
        "<urn:trustgraph:session:{run}>",
        "urn:trustgraph:question:{run}",
        "urn:trustgraph:prov:focus:{run}",
        "{run}",
        "{upper}",
        "{prefix}",
        "last",
    ],
)
def test_a_trace_has_many_names(sample: Sample, run: TraceRecorder, name: str) -> None:
    text = name.format(run=run.run, upper=run.run.upper(), prefix=run.run[:6])
    assert find_trace(sample.store, text) == run.session


def test_the_beginning_of_a_uuid_finds_its_trace_only(sample: Sample, run: TraceRecorder) -> None:
    record(sample)

    def found(prefix: str) -> set[NamedNode]:
        rows = sample.store.select("trace/find", prefix=prefix, limit=50)
        return {row["session"] for row in rows}  # type: ignore[misc]

    assert len(found("")) > 1
    assert run.session in found(run.run[:4])
    for prefix in ("s", "session", "session:", "urn", run.run[1:]):  # of every IRI, and no beginning
        assert found(prefix) == set()


def test_last_is_the_newest(sample: Sample, run: TraceRecorder) -> None:
    newest = record(sample)
    assert find_trace(sample.store, "last") == newest.session


def test_the_last_of_traces_that_started_one_another_is_one_of_them(sample: Sample) -> None:
    runs = [record(sample), record(sample)]
    nest(sample, runs[0], runs[1])
    nest(sample, runs[1], runs[0])
    assert find_trace(sample.store, "last") in {run.session for run in runs}


def test_more_than_its_id_is_no_name_of_a_trace(sample: Sample, run: TraceRecorder) -> None:
    for name in (f"{run.run}xyz", f"x{run.run}", f"{run.run}0", f"urn:trustgraph:session:{run.run}xyz"):
        with pytest.raises(UsageError):
            find_trace(sample.store, name)


@pytest.mark.parametrize(
    "name", ["", "zz", "abc", "0000", "urn:nothing", "not an iri:", '"', iris.name_uuid("none")]
)
def test_an_unknown_name_is_an_error(sample: Sample, name: str) -> None:
    with pytest.raises(UsageError):
        find_trace(sample.store, name)


def test_no_trace_at_all_says_how_to_make_one(sample: Sample) -> None:
    with pytest.raises(UsageError, match="no trace yet"):
        find_trace(sample.store, "last")


def test_an_ambiguous_beginning_lists_the_candidates(sample: Sample) -> None:
    runs = []
    for last in "ab":
        recorder = TraceRecorder(sample.store, sample.blobs)
        recorder.run = f"12345678-0000-4000-8000-00000000000{last}"
        recorder.session, recorder.question = iris.session(recorder.run), iris.question(recorder.run)
        begin = recorder.begin("?", pipeline="p", label="P", parameters={}, model=None)
        assert [recorder.written(message).kind for message in begin] == ["session", "question"]
        runs.append(recorder)
    with pytest.raises(UsageError, match=f"several traces: .*{runs[0].run}"):
        find_trace(sample.store, "12345678")
    assert find_trace(sample.store, runs[1].run) == NamedNode(runs[1].session.value)


def test_parts_of_the_list_follow_each_other(sample: Sample) -> None:
    for number in range(4):
        parent, child = (record(sample, f"{name} {number}?") for name in ("Parent", "Child"))
        nest(sample, child, parent)
    pages = [list_traces(sample.store, 3, offset=offset) for offset in (0, 3, 6)]
    assert [[summary.question for summary in page if not summary.parent] for page in pages] == [
        ["Parent 3?", "Parent 2?", "Parent 1?"],
        ["Parent 0?"],
        [],
    ]
    assert [summary for page in pages for summary in page] == list_traces(sample.store, 10)


def test_by_outcome_and_words(sample: Sample) -> None:
    record(sample, "Who founded the mill?")
    record(sample, "Who sold it?", closed=False)
    assert [s.question for s in list_traces(sample.store, 9, outcome="unfinished")] == ["Who sold it?"]
    assert [s.question for s in list_traces(sample.store, 9, match="FOUND")] == ["Who founded the mill?"]
    assert list_traces(sample.store, 9, outcome="failed") == []
    assert count_outcomes(sample.store) == {"completed": 1, "unfinished": 1}
