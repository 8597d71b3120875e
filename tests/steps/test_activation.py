"""Exploration by activation: what the trace says of it can be computed again from the trace alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import text_of, to_python
from tests.support.stores import open_engine

QUESTIONS = (
    "Who owned the Petrel?",
    "What caused the failure of Gate 4?",
    "When was the Skell Tidal Station opened?",
)


@dataclass(frozen=True)
class Reached:
    """An activated entity as the trace tells it; names of what is absent are None."""

    value: float
    round: int
    carrier: NamedNode | None
    origin: NamedNode | None
    similarity: float | None


def reached(
    engine: Engine, question: str, include: Sequence[str] = (), **settings: Any
) -> dict[str, Reached]:
    """The activated entities of a question, read from the step's triples."""
    given = {f"exploration.{k}": str(v) for k, v in settings.items()}
    step = next(m for m in engine.ask(question, settings=given, include=include) if m.kind == "exploration")
    nodes: dict[str, dict[NamedNode, Any]] = {}
    for triple in step.explain_triples:
        nodes.setdefault(str(triple.subject), {})[triple.predicate] = triple.object
    return {
        node[TG.entity].value: Reached(
            float(to_python(node[RAG.activation])),  # type: ignore[arg-type]
            int(to_python(node[RAG.round])),  # type: ignore[arg-type]
            node.get(RAG.carrier),
            node.get(RAG.fromEntity),
            float(to_python(node[RAG.similarity])) if RAG.similarity in node else None,  # type: ignore[arg-type]
        )
        for node in nodes.values()
        if node.get(RDF.type) == RAG.ActivatedEntity
    }


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_activation_is_its_origins_times_the_similarity_of_the_carrier(
    samples: Engine, question: str
) -> None:
    found = reached(samples, question, threshold=0, rounds=6)
    passed_on = [entity for entity in found.values() if entity.round > 0]
    assert passed_on
    for entity in passed_on:
        assert entity.carrier is not None
        assert entity.origin is not None
        assert entity.similarity is not None
        assert 0 <= entity.similarity <= 1
        assert entity.value == pytest.approx(found[entity.origin.value].value * entity.similarity, abs=1e-9)
    seeds = [entity for entity in found.values() if entity.round == 0]
    assert seeds
    assert all((e.carrier, e.origin, e.similarity) == (None, None, None) for e in seeds)


@pytest.mark.parametrize("question", QUESTIONS)
def test_carriers_mention_both_ends(samples: Engine, question: str) -> None:
    found = reached(samples, question)
    for iri, entity in found.items():
        if entity.carrier is not None and entity.origin is not None:
            chunk = NamedNode(entity.carrier.value.partition("#")[0])
            rows = samples.store.select(
                "retrieval/mentioned-entities", sentences=[entity.carrier], chunks=[chunk]
            )
            mentioned = {str(row["entity"]) for row in rows}
            assert {f"<{iri}>", str(entity.origin)} <= mentioned


def test_activation_is_repeatable(samples: Engine) -> None:
    assert reached(samples, QUESTIONS[1]) == reached(samples, QUESTIONS[1])


def test_without_rounds_only_the_seeds_are_active(samples: Engine) -> None:
    assert {entity.round for entity in reached(samples, QUESTIONS[0], rounds=0).values()} == {0}


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


def test_nothing_below_the_threshold_is_reached(harbour: Engine) -> None:
    value = reached(harbour, ASKED, FROM, threshold=0)[BEYOND].value
    assert BEYOND in reached(harbour, ASKED, FROM, threshold=value - 1e-6)
    assert BEYOND not in reached(harbour, ASKED, FROM, threshold=value + 1e-6)


def test_a_hub_is_reached_but_passes_nothing_on(harbour: Engine) -> None:
    wide = reached(harbour, ASKED, FROM, threshold=0, hub_limit=200)
    assert wide[BEYOND].round == 2, "by way of what every document speaks of"
    narrow = reached(harbour, ASKED, FROM, threshold=0, hub_limit=3)
    assert HUB in narrow
    assert BEYOND not in narrow


def test_a_hub_that_the_question_names_passes_on_by_its_best_sentence(harbour: Engine) -> None:
    """However many passages mention it and wherever the best one stands among them."""
    found = reached(harbour, "Who whistled in Mill Harbour?", threshold=0, hub_limit=1)
    assert found[BEYOND].origin == NamedNode(HUB)


def test_each_round_uses_another_sentence(harbour: Engine) -> None:
    found = reached(harbour, "Who whistled in Mill Harbour?", threshold=0, rounds=8)
    assert "http://trustgraph.ai/e/tilda-voss" in found
    carriers = [entity.carrier for entity in found.values() if entity.origin == NamedNode(HUB)]
    assert len(set(carriers)) > 1


def test_what_is_nearer_to_the_question_starts_higher(harbour: Engine) -> None:
    """A seed that many passages mention says less of which passage is meant."""
    found = reached(harbour, "Was Tilda Voss in Mill Harbour?")
    assert found["http://trustgraph.ai/e/tilda-voss"].value == 1
    assert found[HUB].value < 1


# --- what passages get of it ---------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_score_of_a_passage_is_computed_again_from_its_stored_paths(
    samples: Engine, question: str
) -> None:
    found = samples.retrieve(question, k=10, preview=True, stored=True)
    session = NamedNode(found["trace"])
    rows = samples.store.select("trace/passage-scores", session=session)
    assert len(rows) == len(found["results"]) > 3
    told = {result["chunk"]: result for result in found["results"]}
    for row in rows:
        result = told[text_of(row["chunk"])]
        assert to_python(row["score"]) == pytest.approx(result["score"], abs=1e-9)
        assert to_python(row["recomputed"]) == pytest.approx(result["score"], abs=1e-6)
        assert 0 <= result["score"] <= 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_shares_add_up_to_the_score(samples: Engine, question: str) -> None:
    for result in samples.retrieve(question, k=10, preview=True)["results"]:
        by_paths = sum(path["share"] for path in result["paths"])
        own = sum(result["weights"][name] * result["signals"][name] for name in ("words",))
        assert by_paths + own == pytest.approx(result["score"], abs=1e-9)


def test_paths_lead_from_active_entities_through_what_mentions_them(samples: Engine) -> None:
    found = samples.retrieve(QUESTIONS[1], k=10, preview=True, stored=True)
    rows = samples.store.select("trace/passage-paths", session=NamedNode(found["trace"]))
    active = {
        str(row["entity"]): row
        for row in samples.store.select("trace/activated", session=NamedNode(found["trace"]))
    }
    assert rows
    for row in rows:
        assert row["activation"] == active[str(row["entity"])]["activation"]
        assert ("sentence" in row) == ("similarity" in row) != ("mentions" in row)


def test_with_embeddings_the_meaning_of_a_passage_counts(samples: Engine) -> None:
    """Without them its weight counts nowhere."""
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
    brandt = found[BEYOND]
    assert (brandt.round, brandt.origin, brandt.similarity) == (2, NamedNode(HUB), 1.0)


def test_a_question_that_names_nothing_starts_from_the_sentences_most_like_it(tmp_path: Path) -> None:
    texts = {
        "1": "Tilda Voss forged the oldest anchors.",
        "2": "Mill Harbour is where Tilda Voss was born.",
        "3": "Weather is what everybody speaks of.",
    }
    with taught(texts, tmp_path / "docs") as engine:
        asked = "where was the person born that forged anchors?"
        found = reached(engine, asked)
        told = engine.retrieve(asked, k=3, preview=True, stored=True)
        scores = engine.store.select("trace/passage-scores", session=NamedNode(told["trace"]))
    voss = found["http://trustgraph.ai/e/tilda-voss"]
    assert voss.origin is None
    assert voss.carrier is not None
    assert voss.value == voss.similarity
    assert HUB in found
    assert {result["text"].strip() for result in told["results"][:2]} == {texts["1"], texts["2"]}
    for row in scores:
        assert to_python(row["recomputed"]) == pytest.approx(to_python(row["score"]), abs=1e-6)


def test_a_common_word_is_no_name_because_something_is_called_so(tmp_path: Path) -> None:
    texts = {str(n): f"Ship number {n} was a good ship and sank off the cape." for n in range(8)}
    texts["Sank"] = "Sank is a song by Olga Brandt. Sank was lost."
    with taught(texts, tmp_path / "docs") as engine:
        assert "http://trustgraph.ai/e/sank" in {
            str(s).strip("<>") for s in reached(engine, "Was Sank lost?")
        }
        found = reached(engine, "which one sank off the cape?", rounds=0)
    assert "http://trustgraph.ai/e/sank" not in found
