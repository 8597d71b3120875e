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
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import to_python

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
    given = {"exploration.use": "activation"} | {f"exploration.{k}": str(v) for k, v in settings.items()}
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
        if RAG.activation in node
    }


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_activation_is_its_origins_times_the_similarity_of_the_carrier(
    samples: Engine, question: str
) -> None:
    found = reached(samples, question, threshold=0, rounds=6)
    passed_on = [entity for entity in found.values() if entity.round > 1]
    assert passed_on
    for entity in passed_on:
        assert entity.carrier is not None
        assert entity.origin is not None
        assert entity.similarity is not None
        assert 0 <= entity.similarity <= 1
        assert entity.value == pytest.approx(found[entity.origin.value].value * entity.similarity, abs=1e-9)
    seeds = [entity for entity in found.values() if entity.round == 1]
    assert seeds
    assert all((e.carrier, e.origin, e.similarity) == (None, None, None) for e in seeds)


@pytest.mark.parametrize("question", QUESTIONS)
def test_carriers_mention_both_ends(samples: Engine, question: str) -> None:
    found = reached(samples, question)
    for iri, entity in found.items():
        if entity.carrier is not None and entity.origin is not None:
            rows = samples.store.select("retrieval/mentioned-entities", sentences=[entity.carrier])
            mentioned = {str(row["entity"]) for row in rows}
            assert {f"<{iri}>", str(entity.origin)} <= mentioned


def test_activation_is_repeatable(samples: Engine) -> None:
    assert reached(samples, QUESTIONS[1]) == reached(samples, QUESTIONS[1])


def test_without_rounds_only_the_seeds_are_active(samples: Engine) -> None:
    assert {entity.round for entity in reached(samples, QUESTIONS[0], rounds=0).values()} == {1}


HUB = "http://trustgraph.ai/e/mill-harbour"
BEYOND = "http://trustgraph.ai/e/olga-brandt"


@pytest.fixture
def harbour(tmp_path: Path) -> Iterator[Engine]:
    """Tilda Voss is beside Mill Harbour, which is in many sentences, one of them with Olga Brandt."""
    lines = ["Tilda Voss visited Mill Harbour."]
    lines += [f"Mill Harbour has the pier number {n}." for n in range(1, 7)]
    lines += ["Olga Brandt whistled in Mill Harbour."]
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "harbour.txt").write_text("\n\n".join(lines) + "\n")
    with Engine.open(":memory:", config=Settings()) as engine:
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
    assert wide[BEYOND].round > 2, "by way of what every sentence speaks of"
    narrow = reached(harbour, ASKED, FROM, threshold=0, hub_limit=3)
    assert HUB in narrow
    assert BEYOND not in narrow


def test_a_hub_that_the_question_names_passes_on_by_its_best_sentence(harbour: Engine) -> None:
    """However many sentences mention it and wherever the best one stands among them."""
    found = reached(harbour, "Who whistled in Mill Harbour?", threshold=0, hub_limit=1)
    assert found[BEYOND].origin == NamedNode(HUB)
