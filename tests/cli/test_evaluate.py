"""`eval`: figures of a small set, in a store that nobody sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.pdf import lines, make_pdf

EVALSET = {
    "name": "tiny",
    "corpus": [
        {"title": "Lighthouse", "text": "Andrew Orr designed Drumlaw Head Lighthouse in 1881."},
        {"title": "Company", "text": "Walter Pennock founded the Tarnay Electric Light Company in 1897."},
        {"title": "Society", "text": "Mona Kell founded the Lantern Society in 1901."},
    ],
    "questions": [
        {"id": "1", "q": "Who designed Drumlaw Head Lighthouse?", "answers": ["Andrew Orr"], "gold": [0]},
        {"id": "2", "q": "Who founded the Lantern Society?", "answers": ["Mona Kell"], "gold": [2]},
    ],
}


@pytest.fixture
def evalset(folder: Path) -> Path:
    path = folder / "tiny.json"
    path.write_text(json.dumps(EVALSET))
    return path


def test_retrieval(run: Run, evalset: Path, folder: Path) -> None:
    found = run("eval", "retrieval", evalset, "--k", "1,2", "--format", "json").json
    assert found["name"] == "tiny"
    assert found["n"] == 2
    assert found["recall"] == {"1": 1.0, "2": 1.0}
    assert {"perfect", "mrr", "ci95", "baselines", "seconds_per_question"} <= found.keys()
    assert "bm25" in run("eval", "retrieval", evalset).out
    assert list(folder.iterdir()) == [evalset]


def test_answers(run: Run, evalset: Path) -> None:
    found = run("eval", "answers", evalset, "--format", "json").json
    assert found["contain_accuracy"] == 1.0
    assert {"citation_precision", "abstention"} <= found.keys()
    assert "abstention" in run("eval", "answers", evalset).out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.json"], "nowhere.json"),
        (["tiny.json", "--k", "many"], "--k"),
        (["tiny.json", "--k", "0"], "--k"),
        (["tiny.json", "--extraction", "magic"], "magic"),
        (["tiny.json", "--extraction", "recorded"], "recorded"),
        (["tiny.json", "--pipeline", "nothing"], "nothing"),
    ],
)
def test_wrong_usage(run: Run, evalset: Path, arguments: list[str], told: str) -> None:
    found = run("eval", "retrieval", *arguments)
    assert found.code == 2
    assert told in found.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "not an evaluation set: Input should be"),
        ('{"name": "x", "corpus": [{"text": "a"}], "questions": []}', "corpus.0.title: Field required"),
        ("{", "not an evaluation set: Expecting"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(run: Run, folder: Path, content: str, told: str) -> None:
    (folder / "set.json").write_text(content)
    found = run("eval", "retrieval", "set.json")
    assert found.code == 2
    assert told in found.err


def test_pages(run: Run, folder: Path) -> None:
    texts = ("The tide gate was opened by Ada Moor.", "The pier was built of oak.")
    (folder / "gate.pdf").write_bytes(make_pdf([lines(50, 700, [text]) for text in texts]))
    asked = {"id": "1", "q": "Who opened the tide gate?", "document": "gate.pdf", "pages": [1]}
    (folder / "asked.jsonl").write_text(json.dumps(asked))
    found = run("eval", "pages", ".", "asked.jsonl", "--k", "1", "--format", "json").json
    assert found["found"] == found["document_known"] == {"1": 1.0}
    assert {"bm25_pages", "bm25_chunks"} == found["baselines"].keys()
    assert "bm25 over pages" in run("eval", "pages", ".", "asked.jsonl").out
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4")
    partly = run("eval", "pages", ".", "asked.jsonl")
    assert partly.code == 3
    assert "bad.pdf was not read" in partly.err
    assert run("eval", "pages", "nowhere", "asked.jsonl").code == 2
