"""The talk with readers: whole frames, however the bytes come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.server.execution import wire
from graphrag_rdf.server.execution.evaluate import Job, Wanted

KINDS = st.sampled_from([wire.HEAD, wire.DATA, wire.END, wire.FAIL])


@given(
    st.lists(st.tuples(KINDS, st.binary(max_size=50)), max_size=10), st.lists(st.integers(1, 20), max_size=60)
)
def test_frames_come_whole(frames: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    data = b"".join(wire.frame(kind, payload) for kind, payload in frames)
    reader, found = wire.Frames(), []
    for cut in [*cuts, len(data)]:
        found += reader.feed(data[:cut])
        data = data[cut:]
    assert found == frames


def test_a_job_survives_the_way() -> None:
    import json

    job = Job(
        text="ASK {}",
        default_graphs=("urn:g",),
        named_graphs=(),
        graph=Wanted("text/turtle", "text/turtle; version=1.1", triple_terms=False),
        target="",
    )
    back = Job.from_json(json.loads(json.dumps(job.as_json())))
    assert back.graph == job.graph
    assert back.results is None
    assert list(back.default_graphs or ()) == ["urn:g"]
    assert back.named_graphs is not None
    assert back.target == ""
