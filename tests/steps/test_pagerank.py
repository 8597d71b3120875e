"""Personalised PageRank as a second pass of activation: the figure itself, and what it does to passages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.steps.pagerank import rank_by_pagerank
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.export import export_trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.tuning.weights import weights_in_force
from tests.support.stores import open_engine

QUESTIONS = ("Who owned the Petrel?", "What caused the failure of Gate 4?")
ON = {"exploration.passage_ppr": "1"}

links = st.dictionaries(
    st.sampled_from(("a", "b", "c", "d")),
    st.dictionaries(st.sampled_from(("1", "2", "3", "4", "5")), st.floats(0.1, 2), max_size=5),
    min_size=1,
)


def walked(links: dict[str, dict[str, float]], activation: dict[str, float]) -> dict[str, float]:
    """The same by the definition: steps of the walk, until nothing changes (power iteration)."""
    linked = {entity: passages for entity, passages in links.items() if passages}
    total = sum(activation[entity] for entity in linked)
    start = {entity: activation[entity] / total for entity in linked}
    beside: dict[str, dict[str, float]] = {entity: dict(passages) for entity, passages in linked.items()}
    for entity, passages in linked.items():
        for passage, weight in passages.items():
            beside.setdefault(passage, {})[entity] = weight
    at = dict.fromkeys(beside, 0.0) | start
    for _ in range(60):  # what is left after them is 0.5 to the power of 60
        after = {node: 0.5 * start.get(node, 0.0) for node in beside}
        for node, others in beside.items():
            for other, weight in others.items():
                after[other] += 0.5 * at[node] * weight / sum(others.values())
        at = after
    found = {node: at[node] for node in at if node not in linked}
    return {node: value / max(found.values()) for node, value in found.items()}


@given(links, st.lists(st.floats(0.05, 1), min_size=4, max_size=4))
def test_it_is_where_a_walk_that_starts_again_at_active_entities_is(
    links: dict[str, dict[str, float]], values: list[float]
) -> None:
    activation = dict(zip("abcd", values, strict=True))
    found = rank_by_pagerank(links, activation)
    if not any(links.values()):
        assert found == {}
        return
    assert found == pytest.approx(walked(links, activation), abs=1e-6)
    turned = {entity: dict(reversed(links[entity].items())) for entity in reversed(links)}
    assert rank_by_pagerank(turned, activation) == found


def test_where_nothing_is_active_nothing_is_ranked() -> None:
    assert rank_by_pagerank({}, {}) == {}
    assert rank_by_pagerank({"a": {"1": 1.0}}, {"a": 0.0}) == {}


# --- in the score of passages --------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_is_one_more_signal_of_a_score_that_is_computed_again_from_the_trace(
    samples: Engine, question: str
) -> None:
    found = samples.retrieve(question, k=10, preview=True, stored=True, settings=ON)
    session = NamedNode(found["trace"])
    told = {result["chunk"]: result for result in found["results"]}
    assert max(result["signals"]["ppr"] for result in told.values()) == 1
    for result in told.values():
        assert 0 <= result["signals"]["ppr"] <= 1
        assert sum(result["weights"].values()) == pytest.approx(1)
        mean = sum(result["weights"][name] * value for name, value in result["signals"].items())
        assert mean == pytest.approx(result["score"], abs=1e-9)
    rows = samples.store.select("trace/passage-scores", session=session)
    assert len(rows) == len(told) > 3
    for row in rows:
        assert to_python(row["recomputed"]) == pytest.approx(told[text_of(row["chunk"])]["score"], abs=1e-6)
    shares = [
        row
        for row in samples.store.select("trace/passage-shares", session=session)
        if text_of(row["signal"]) == "ppr"
    ]
    assert len(shares) == len(told)
    for row in shares:
        result = told[text_of(row["chunk"])]
        share = result["weights"]["ppr"] * result["signals"]["ppr"]
        assert to_python(row["share"]) == pytest.approx(share, abs=1e-9)


def test_it_changes_scores_and_is_repeatable(samples: Engine) -> None:
    without = samples.retrieve(QUESTIONS[0], k=10)["results"]
    assert all("ppr" not in result["signals"] for result in without)
    found = samples.retrieve(QUESTIONS[0], k=10, settings=ON)["results"]
    assert [result["score"] for result in found] != [result["score"] for result in without]
    assert samples.retrieve(QUESTIONS[0], k=10, settings=ON)["results"] == found


def test_traces_tell_it(samples: Engine) -> None:
    list(samples.ask(QUESTIONS[0], settings=ON))
    session = find_trace(samples.store, "last")
    page = export_trace(samples.store, samples.librarian, session, "html")
    text = render_trace(read_trace(samples.store, session), full=True)
    assert "personalised PageRank" in page
    assert "PageRank 0." in text


def test_what_hubs_link_counts_too(tmp_path: Path) -> None:
    """Of an active entity that passes nothing on, the passages that something else has found."""
    texts = ["Tilda Voss visited Mill Harbour.", *(f"Pier {n} belongs to Mill Harbour." for n in range(1, 7))]
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text + "\n")
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([folder])
        settings = ON | {"exploration.hub_limit": "3"}
        found = engine.retrieve("Did Tilda Voss see the pier?", k=10, preview=True, settings=settings)
    ranks = {result["text"].strip(): result["signals"]["ppr"] for result in found["results"]}
    assert ranks.pop(texts[0]) == 1
    assert ranks
    assert all(0 < rank < 1 for rank in ranks.values())


def test_hybrid_counts_it_as_activation(samples: Engine) -> None:
    use = {"exploration.use": "hybrid"}

    def activation(settings: dict[str, str]) -> list[float]:
        results = samples.retrieve(QUESTIONS[1], k=10, settings=use | settings)["results"]
        return [result["signals"]["activation"] for result in results]

    assert activation({"exploration.passage_ppr": "5"}) != activation({})


# --- without the extra ---------------------------------------------------------------------------


@pytest.fixture
def without_igraph(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the extra was not installed."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "igraph", None)
        yield


@pytest.mark.usefixtures("without_igraph")
def test_a_missing_library_is_named_before_anything_runs(samples: Engine) -> None:
    quads = samples.store.count()
    with pytest.raises(UsageError, match=r"exploration\.passage_ppr needs igraph") as refused:
        list(samples.ask(QUESTIONS[0], settings=ON))
    assert "pip install 'graphrag-rdf[ppr]'" in str(refused.value.hint)
    assert samples.store.count() == quads
    with pytest.raises(UsageError):
        samples.retrieve(QUESTIONS[0], settings=ON)


@pytest.mark.usefixtures("without_igraph")
def test_it_is_not_needed_where_nothing_uses_it(samples: Engine) -> None:
    assert samples.retrieve(QUESTIONS[0])["results"]
    assert list(samples.ask(QUESTIONS[0], settings=ON | {"exploration.use": "hops"}))[-1].answer


def test_its_weight_is_learned_where_it_has_one(sample_folder: Path, tmp_path: Path) -> None:
    store = shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(store, config=Settings()) as engine:
        assert "ppr" not in weights_in_force(engine, "graph_rag").values
        engine.live.change({"graph_rag.exploration.passage_ppr": 0.5}, "test")
        found = weights_in_force(engine, "graph_rag")
    assert found.values["ppr"] == 0.5
    assert found.settings()["exploration.passage_ppr"] == "0.5"
