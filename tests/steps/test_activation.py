"""Exploration by activation: what the trace holds of it, and what three templates work out from that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import node_of, text_of
from tests.support.stores import open_engine

QUESTIONS = (
    "Who owned the Petrel?",
    "What caused the failure of Gate 4?",
    "When was the Skell Tidal Station opened?",
)


def hits(engine: Engine, question: str, include: Sequence[str] = (), **settings: Any) -> list[Quad]:
    """The hits of a question, read from the triples of its exploration."""
    given = {f"exploration.{k}": str(v) for k, v in settings.items()}
    step = next(m for m in engine.ask(question, settings=given, include=include) if m.kind == "exploration")
    return [quad for quad in step.explain_triples if quad.predicate == RAG.hit]


def reached(
    engine: Engine, question: str, include: Sequence[str] = (), **settings: Any
) -> dict[str, tuple[int, float]]:
    """The entities of a question: round (0 for seeds) and activation."""
    rounds = [RAG.seed, RAG.reached, RAG.reachedLater]
    terms = [quad.object for quad in hits(engine, question, include, **settings)]
    return {
        term.subject.value: (rounds.index(term.predicate), float(term.object.value))
        for term in terms
        if term.predicate in rounds
    }


def exploration(engine: Engine, trace: str) -> NamedNode:
    """The node of a trace that has the hits."""
    rows = engine.store.select("trace/steps", session=NamedNode(trace))
    return next(node_of(row["step"]) for row in rows if "exploration" in text_of(row["step"]))


def test_each_hit_is_one_quad(samples: Engine) -> None:
    found = Counter(quad.object.predicate.value.rpartition("#")[2] for quad in hits(samples, QUESTIONS[0]))
    assert found.keys() >= {"seed", "bm25", "reached", "standing"}
    assert found["bm25"] <= 90


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_templates_give_the_same_again_with_the_exploration_as_their_argument(
    samples: Engine, question: str
) -> None:
    found = samples.retrieve(question, k=10, stored=True)
    node = exploration(samples, found["trace"])
    ranked = samples.store.select("retrieval/ranked", exploration=node, limit=10)
    assert [row["chunk"].value for row in ranked] == [one["chunk"] for one in found["results"]]
    scores = [row["score"] for row in ranked]
    assert scores == pytest.approx([one["score"] for one in found["results"]])
    assert scores == sorted(scores, reverse=True)
    assert samples.store.select("retrieval/evidence", exploration=node, limit=9)


@pytest.mark.parametrize("question", QUESTIONS)
def test_without_a_trace_the_same_templates_rank_by_the_same_hits(samples: Engine, question: str) -> None:
    before = samples.store.commit_number()
    dry = samples.retrieve(question, k=20, preview=True)
    assert samples.store.commit_number() == before
    stored = samples.retrieve(question, k=20, preview=True, stored=True)
    for one, other in zip(dry["results"], stored["results"], strict=True):
        assert one["chunk"] == other["chunk"]
        assert one["signals"] == pytest.approx(other["signals"])
        assert [p["entity"] for p in one["paths"]] == [p["entity"] for p in other["paths"]]
    assert dry["edges"] == stored["edges"]


def test_activation_is_repeatable(samples: Engine) -> None:
    assert reached(samples, QUESTIONS[1]) == reached(samples, QUESTIONS[1])


def test_without_rounds_only_the_seeds_are_active(samples: Engine) -> None:
    assert {number for number, _ in reached(samples, QUESTIONS[0], rounds=0).values()} == {0}


def test_what_is_reached_gets_half_of_what_its_bridge_passes_on(samples: Engine) -> None:
    found = reached(samples, QUESTIONS[0])
    most = max(value for number, value in found.values() if number == 0)
    first = [value for number, value in found.values() if number == 1]
    assert first
    assert all(0 < value <= most / 2 for value in first)
    assert all(value <= max(first) / 2 for number, value in found.values() if number == 2)


HUB = "http://trustgraph.ai/e/mill-harbour"
BEYOND = "http://trustgraph.ai/e/olga-brandt"


@pytest.fixture
def harbour(tmp_path: Path) -> Iterator[Engine]:
    """Tilda Voss is beside Mill Harbour, which many documents mention, one of them with Olga Brandt."""
    lines = ["Tilda Voss visited Mill Harbour."]
    lines += [f"Pier number {n} belongs to Mill Harbour." for n in range(1, 7)]
    lines += ["Olga Brandt whistled in Mill Harbour."]
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, line in enumerate(lines):
        (folder / f"{number}.txt").write_text(line + "\n")
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([folder])
        yield engine


ASKED = "Who whistled?"
FROM = ("Tilda Voss",)


def test_a_bridge_leads_from_the_seed_to_what_else_it_names(harbour: Engine) -> None:
    assert reached(harbour, "Who whistled in Mill Harbour?")[BEYOND][0] == 1


def test_what_is_excluded_is_not_reached(harbour: Engine) -> None:
    step = next(
        m
        for m in harbour.ask("Who whistled in Mill Harbour?", exclude=["Olga Brandt"])
        if m.kind == "exploration"
    )
    found = [quad.object for quad in step.explain_triples if quad.predicate == RAG.hit]
    assert BEYOND not in {term.subject.value for term in found}


def test_what_is_nearer_to_the_question_starts_higher(harbour: Engine) -> None:
    """A seed that many passages mention says less of which passage is meant."""
    found = reached(harbour, "Was Tilda Voss in Mill Harbour?")
    assert found["http://trustgraph.ai/e/tilda-voss"][1] == 1
    assert 0 < found[HUB][1] < 1


# --- what chunks get of it -----------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_shares_add_up_to_the_score(samples: Engine, question: str) -> None:
    for result in samples.retrieve(question, k=10, preview=True)["results"]:
        by_paths = sum(path["share"] for path in result["paths"])
        own = result["weights"]["words"] * result["signals"]["words"]
        assert by_paths + own == pytest.approx(result["score"], abs=1e-9)
        assert 0 <= result["score"] <= 1


def test_paths_lead_from_active_entities(samples: Engine) -> None:
    active = reached(samples, QUESTIONS[1])
    found = samples.retrieve(QUESTIONS[1], k=10, preview=True)["results"]
    paths = [path for result in found for path in result["paths"]]
    assert {path["topic"] for path in paths} == {True, False}
    for path in paths:
        assert path["activation"] == pytest.approx(active[path["entity"]][1])
        assert 1 <= path["number"] <= 25


def test_the_trace_tells_the_shares_that_are_not_stored(samples: Engine) -> None:
    found = samples.retrieve(QUESTIONS[0], k=10, preview=True, stored=True)
    told = {result["chunk"]: result for result in found["results"]}
    step = samples.traces[found["trace"]].steps[2]
    assert step.items["passages"]
    for hit in step.items["passages"]:
        result = told[hit.chunk.value]
        assert hit.recomputed == pytest.approx(result["score"])
        assert [path.share for path in hit.paths] == pytest.approx([p["share"] for p in result["paths"]])
        assert sum(hit.signal_shares.values()) == pytest.approx(result["score"])
    assert {one.entity.value for one in step.items["activated"]} <= reached(samples, QUESTIONS[0]).keys()


def test_without_embeddings_meaning_counts_for_nothing(samples: Engine) -> None:
    result = samples.retrieve(QUESTIONS[0], k=1)["results"][0]
    assert "meaning" not in result["signals"]
    assert result["score"] == pytest.approx(
        sum(result["weights"][name] * value for name, value in result["signals"].items())
    )


# --- what leads on -------------------------------------------------------------------------------


def taught(texts: dict[str, str], folder: Path) -> Engine:
    """A store of documents: name -> text."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text + "\n")
    engine = open_engine(":memory:", config=Settings())
    engine.ingest([folder])
    return engine


def test_the_second_hop_follows_the_words_that_the_first_left_open(tmp_path: Path) -> None:
    """The first says most of the question; of what it leads to, what is still open counts."""
    texts = {
        "1": "Tilda Voss was born in Mill Harbour.",
        "2": "The birthplace of many a Voss, Mill Harbour, is old.",
        "3": "A wooden airship burned down over Mill Harbour, said Olga Brandt.",
    }
    with taught(texts, tmp_path / "docs") as engine:
        found = reached(engine, "What kind of airship burned over the place where Tilda Voss was born?")
    assert found[HUB][0] == 1
    assert found[BEYOND][0] == 2


def test_a_question_that_names_nothing_is_ranked_by_its_words(tmp_path: Path) -> None:
    texts = {"1": "Tilda Voss forged the oldest anchors.", "2": "Weather is what everybody speaks of."}
    with taught(texts, tmp_path / "docs") as engine:
        found = engine.retrieve("which anchors are oldest?", k=3)["results"]
    assert found[0]["text"].strip() == texts["1"]
    assert found[0]["weights"]["entities"] == 0


def test_a_common_word_is_no_name_because_something_is_called_so(tmp_path: Path) -> None:
    texts = {str(n): f"Ship number {n} was a good ship and sank off the cape." for n in range(8)}
    texts["Sank"] = "Sank is a song by Olga Brandt. Sank was lost."
    with taught(texts, tmp_path / "docs") as engine:
        assert "http://trustgraph.ai/e/sank" in reached(engine, "Was Sank lost?")
        found = reached(engine, "which one sank off the cape?", rounds=0)
    assert "http://trustgraph.ai/e/sank" not in found
