from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphrag_rdf import layout
from graphrag_rdf.errors import SearchIndexError
from graphrag_rdf.index import KINDS, Kind, Record, VectorIndex

DIMENSION = 24


def record(number: int, kind: Kind = "sentence", text: str = "") -> Record:
    return Record(f"urn:{kind}:{number}", kind, text or f"text {number}")


def vector_of(item: Record) -> NDArray[np.float32]:
    """A vector that depends on the content alone."""
    return np.random.default_rng(int(item.content_hash, 16)).normal(size=DIMENSION).astype(np.float32)


def vectors_of(items: Sequence[Record]) -> NDArray[np.float32]:
    return np.stack([vector_of(item) for item in items]) if items else np.empty((0, DIMENSION), np.float32)


def index_of(items: Sequence[Record], **options: int) -> VectorIndex:
    index = VectorIndex(None, model="m", **options)  # type: ignore[arg-type]
    index.apply(items, vectors_of(items))
    index.commit(1)
    return index


QUERY = np.random.default_rng(0).normal(size=DIMENSION)


def cosine(one: NDArray[np.float32], other: NDArray[np.float64]) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.parametrize("k", [0, 1, 10, 500])
def test_search_is_by_cosine_whatever_the_lengths(k: int) -> None:
    items = [record(i) for i in range(300)]
    found = index_of(items).search(QUERY * 7, kind="sentence", k=k)
    expected = sorted(((cosine(vector_of(r), QUERY), r.iri) for r in items), reverse=True)[:k]
    assert [hit.iri for hit in found] == [iri for _, iri in expected]
    assert [hit.score for hit in found] == pytest.approx([score for score, _ in expected], abs=1e-6)
    assert all(-1 <= hit.score <= 1 for hit in found)


def test_ties_are_broken_by_iri_also_at_the_cut() -> None:
    items = [record(i) for i in range(100)]
    index = VectorIndex(None, model="m")
    index.apply(items, np.ones((100, DIMENSION)))
    index.commit(1)
    found = index.search(np.ones(DIMENSION), kind="sentence", k=7)
    assert [hit.iri for hit in found] == sorted(item.iri for item in items)[:7]
    assert [hit.score for hit in found] == pytest.approx([1.0] * 7)


STEP = st.tuples(
    st.lists(
        st.builds(record, st.integers(0, 15), st.sampled_from(KINDS), st.sampled_from(["", "one", "two"])),
        max_size=8,
        unique_by=lambda item: item.iri,
    ),
    st.lists(st.builds("urn:{}:{}".format, st.sampled_from(KINDS), st.integers(0, 15)), max_size=6),
    st.sampled_from(["apply", "commit", "purge", "retain"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, max_size=8), st.booleans())
def test_any_history_equals_a_fresh_build(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[Record], list[str], str]], on_disk: bool
) -> None:
    folder = tmp_path_factory.mktemp("vectors") if on_disk else None
    index = VectorIndex(folder, model="m")
    held: dict[str, Record] = {}
    for number, (upserts, deletes, action) in enumerate(steps):
        index.apply(upserts, vectors_of(upserts), deletes)
        held = {iri: item for iri, item in held.items() if iri not in deletes}
        held.update((item.iri, item) for item in upserts)
        if action == "retain":
            index.commit(number)
            index.retain(upserts)
            held = {item.iri: item for item in upserts}
        if action != "apply":
            index.commit(number, purge=action == "purge")
        assert index.missing([*held.values(), record(99)]) == [record(99)]
    index.commit(99)
    if on_disk:
        index = VectorIndex(folder, model="m")
    fresh = index_of([*held.values()])
    for kind in KINDS:
        assert index.count(kind) == sum(item.kind == kind for item in held.values())
        for k in (2, 50):
            assert index.search(QUERY, kind=kind, k=k) == fresh.search(QUERY, kind=kind, k=k)


def test_missing_is_by_content() -> None:
    index = index_of([record(1), record(2)])
    changed, new = record(2, text="changed"), record(3)
    assert index.missing([record(1), changed, new]) == [changed, new]
    index.apply([changed], vectors_of([changed]), ["urn:sentence:1"])
    assert index.missing([record(1), changed, new]) == [record(1), new]


def test_an_index_is_found_again_and_removed_vectors_leave_the_files(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, model="m")
    items = [record(i) for i in range(20)]
    index.apply(items, vectors_of(items))
    index.commit(7)
    index.apply([], vectors_of([]), ["urn:sentence:3"])
    index.commit(8, purge=True)
    again = VectorIndex(tmp_path, model=None)
    assert (again.commit_number, again.model, again.dimension, again.count("sentence")) == (
        8,
        "m",
        DIMENSION,
        19,
    )
    gone = vector_of(items[3]).astype(np.float64)
    raw = (gone / np.linalg.norm(gone)).astype(np.float32).tobytes()
    assert not any(raw in path.read_bytes() for path in tmp_path.iterdir())


def test_files_stay_few(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, model="m")
    for number in range(40):
        index.apply([record(number)], vectors_of([record(number)]))
        index.commit(number)
    assert index.count("sentence") == 40
    assert len(list(tmp_path.glob("*.vectors.npy"))) <= 6


def test_another_model_or_dimension_is_named(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, model="small")
    index.apply([record(1)], vectors_of([record(1)]))
    index.commit(1)
    with pytest.raises(SearchIndexError, match=r"'small'.*'large'") as caught:
        VectorIndex(tmp_path, model="large")
    assert caught.value.hint == "graphrag-rdf index rebuild"
    with pytest.raises(SearchIndexError, match="have 24 numbers, not 3"):
        index.apply([record(2)], np.ones((1, 3)))
    with pytest.raises(SearchIndexError, match="have 24 numbers, not 3"):
        index.search(np.ones(3), kind="sentence", k=1)
    layout.remove(tmp_path, layout.VECTOR_INDEX)
    assert VectorIndex(tmp_path, model="large").model == "large"


def test_bad_vectors_are_refused() -> None:
    index = VectorIndex(None, model="m")
    with pytest.raises(SearchIndexError, match="not finite"):
        index.apply([record(1)], np.array([[np.nan, 1.0]]))
    with pytest.raises(SearchIndexError, match="2 records came with 1"):
        index.apply([record(1), record(2)], np.ones((1, 4)))


def test_a_reader_sees_what_was_committed_before_it_opened(tmp_path: Path) -> None:
    writer = VectorIndex(tmp_path, model="m")
    writer.apply([record(1)], vectors_of([record(1)]))
    writer.commit(1)
    reader = VectorIndex(tmp_path, model="m")
    writer.apply([record(2)], vectors_of([record(2)]))
    writer.commit(2)
    assert len(reader.search(QUERY, kind="sentence", k=9)) == 1
    assert len(VectorIndex(tmp_path, model="m").search(QUERY, kind="sentence", k=9)) == 2
    reader.apply([record(3)], vectors_of([record(3)]))
    with pytest.raises(SearchIndexError, match="Another process"):
        reader.commit(3)


@pytest.mark.parametrize("part", ["manifest.json", "000001.vectors.npy", "000001.rows.npy", "000001.iris"])
def test_a_damaged_index_names_the_way_out(tmp_path: Path, part: str) -> None:
    index = VectorIndex(tmp_path, model="m")
    index.apply([record(1)], vectors_of([record(1)]))
    index.commit(1)
    (tmp_path / part).write_bytes(b"{")
    with pytest.raises(SearchIndexError) as caught:
        VectorIndex(tmp_path, model="m")
    assert caught.value.hint == "graphrag-rdf index rebuild"


def test_above_the_limit_a_graph_proposes_and_scores_stay_exact(tmp_path: Path) -> None:
    pytest.importorskip("usearch")
    items = [record(i) for i in range(2000)]
    exact = index_of(items)
    index = VectorIndex(tmp_path, model="m", exact_below=500)
    index.apply(items[:1500], vectors_of(items[:1500]))
    index.commit(1)
    index.apply(items[1500:], vectors_of(items[1500:]), [item.iri for item in items[:100]])
    index.commit(2)
    assert list(tmp_path.glob("*.usearch"))
    index = VectorIndex(tmp_path, model="m", exact_below=500)
    found = index.search(QUERY, kind="sentence", k=10)
    best = [hit for hit in exact.search(QUERY, kind="sentence", k=200) if int(hit.iri[13:]) >= 100]
    assert set(found) <= set(best)  # same scores, to the digit
    assert len(set(found) & set(best[:10])) >= 9


@pytest.mark.embedded
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_kill_in_the_middle_leaves_whole_commits(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        import numpy as np
        from graphrag_rdf.index import Record, VectorIndex
        index = VectorIndex(Path(sys.argv[1]), model="m")
        for number in range(1, 10_000):
            items = [Record(f"urn:s:{number}-{i}", "sentence", "t") for i in range(20)]
            index.apply(items, np.ones((20, 24)), [f"urn:s:{number - 1}-{i}" for i in range(10)])
            index.commit(number)
            print(number, flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout
    for _ in range(5):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    acknowledged = max([5, *map(int, child.stdout.read().split())])
    child.wait()
    child.stdout.close()
    index = VectorIndex(tmp_path, model="m")
    assert index.commit_number in (acknowledged, acknowledged + 1)
    assert index.count("sentence") == 10 * index.commit_number + 10
    index.apply([record(1)], np.ones((1, 24)))
    index.commit(acknowledged + 5)
