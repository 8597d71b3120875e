"""`tune weights`: from evaluation sets; shown, kept, and restored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from tests.support.commands import Run

TOWNS = ("Arnhythe", "Belden", "Corrow", "Dunmar", "Eskell", "Farrow", "Gorsey", "Hallin", "Inver", "Jarrow",
         "Kelmar", "Lorden")  # fmt: skip
WEIGHTS = "graph_rag.exploration.passage_"
SKEWED = {"entities": "0", "words": "1"}
"""Words alone, which the passages below lead astray."""


def passages() -> list[dict[str, str]]:
    """Who founded what; and for each a passage that repeats the words of the question."""
    out = []
    for town in TOWNS:
        text = f"{town} Mill stands by the river. Mona {town} set it up in 1901, and her son sold it."
        out.append({"title": f"{town} Mill", "text": text})
    for town in TOWNS:
        whose = "nobody knows who founded what: who founded the mill, who founded the school"
        text = f"In {town} {whose} in {town}."
        out.append({"title": f"Founders and mills, mill by mill: {town}", "text": text})
    return out


def questions() -> list[dict[str, object]]:
    return [
        {"id": str(n), "q": f"Who founded {town} Mill?", "answers": [f"Mona {town}"], "gold": [n]}
        for n, town in enumerate(TOWNS)
    ]


@pytest.fixture
def evalset(folder: Path) -> Path:
    path = folder / "mills.json"
    path.write_text(json.dumps({"name": "mills", "corpus": passages(), "questions": questions()}))
    return path


@pytest.fixture
def mills(folder: Path) -> Path:
    """A store with the same passages, whose weights are wrong."""
    documents = folder / "documents"
    documents.mkdir()
    for n, passage in enumerate(passages()):
        (documents / f"{n:02}.md").write_text(f"# {passage['title']}\n\n{passage['text']}\n")
    with Engine.open(config=Settings(store=str(folder / "graphrag-store"))) as engine:
        engine.ingest([documents])
        engine.live.change({f"{WEIGHTS}{name}": float(value) for name, value in SKEWED.items()}, "skewed")
    return folder / "graphrag-store"


def in_force(run: Run) -> dict[str, float]:
    found = {name: run("config", "get", f"{WEIGHTS}{name}").out.strip() for name in SKEWED}
    return {name: float(value) for name, value in found.items()}


def test_too_little_changes_nothing(run: Run, store: Path, evalset: Path) -> None:
    few = json.loads(evalset.read_text())
    evalset.write_text(json.dumps({**few, "questions": few["questions"][:9]}))
    found = run("tune", "weights", "--evalset", evalset, "--apply")
    assert found.code == 1
    assert "9 questions" in found.err
    assert run("config", "history", "--format", "json").json == []
    assert run("tune", "weights").code == 2


@pytest.mark.slow
def test_from_an_evaluation_set(run: Run, mills: Path, evalset: Path) -> None:
    """Shown first, then kept, then taken back; what else the store keeps stays."""
    run("config", "set", "graph_rag.synthesis.max_sentences", "3")
    before = in_force(run)
    shown = run("tune", "weights", "--evalset", evalset, "--format", "json").json
    assert shown["applied"] is False
    assert in_force(run) == before
    kept = run("tune", "weights", "--evalset", evalset, "--apply", "--format", "json").json
    assert kept["applied"] is True
    assert kept["measures"] == shown["measures"]  # it does the same every time
    placing = kept["measures"]["placing"]
    assert placing["gain"] > 0.05
    assert placing["before_ci95"][0] <= placing["before"] <= placing["before_ci95"][1]
    assert {"recall_2", "recall_5"} <= kept["measures"].keys()
    after = in_force(run)
    assert after == {name: weight["after"] for name, weight in kept["weights"].items()}
    assert after["entities"] > 0
    history = run("config", "history", "--format", "json").json
    assert history[0]["version"] == kept["version"]
    assert history[0]["reason"].startswith("tune weights: from 12 questions of")
    assert run("config", "restore", history[1]["version"]).code == 0
    assert in_force(run) == before
    assert run("config", "get", "graph_rag.synthesis.max_sentences").out.strip() == "3"


def test_without_a_store_a_set_is_measured_all_the_same(run: Run, evalset: Path, folder: Path) -> None:
    found = run("tune", "weights", "--evalset", evalset)
    assert found.code == 0, found.err
    assert "held out" in found.out
    assert list(folder.iterdir()) == [evalset]
    assert run("tune", "weights", "--evalset", evalset, "--apply").code == 2


@pytest.mark.slow
def test_the_weights_of_the_composite_score(run: Run, mills: Path, evalset: Path) -> None:
    """Of whichever signals there are, also those that count nothing yet."""
    run("config", "set", "hybrid_rag.exploration.weight_activation", "0")
    found = run(
        "tune", "weights", "--pipeline", "hybrid_rag", "--evalset", evalset, "--apply", "--format", "json"
    )
    assert found.code == 0, found.err
    weights = found.json["weights"]
    assert {"words", "activation"} <= weights.keys()
    assert "causes" not in weights  # no model said so of anything
    assert found.json["applied"] is True
    assert weights["activation"]["after"] > 0
    kept = run("config", "get", "hybrid_rag.exploration.weight_activation").out
    assert float(kept) == weights["activation"]["after"]
    assert in_force(run)["words"] == 1


def test_another_pipeline_is_refused(run: Run, store: Path, evalset: Path) -> None:
    assert run("tune", "weights", "--evalset", evalset, "--pipeline", "nothing").code == 2
    found = run("tune", "weights", "--evalset", evalset, "--pipeline", "hops_rag")
    assert found.code == 2
    assert "hybrid_rag" in found.err
