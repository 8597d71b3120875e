"""A name in traditional and in simplified characters is one entity by a decision; either finds both."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.decisions import read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES
from graphrag_rdf.wings.merging.joins import SCRIPTS_RULE
from tests.ingest.conftest import MakeEngine
from tests.wings.merging.ingest.test_synonyms import canonical

SIMPLIFIED = "林淑贞访问了台湾。陈立文是台湾的工程师。\n"
TRADITIONAL = "林淑貞離開了臺灣。林淑貞訪問了法國。\n"
ANOTHER = "許文輝訪問了台灣。\n"
FILES = {"a.txt": SIMPLIFIED, "b.txt": TRADITIONAL, "c.txt": ANOTHER}
TAIWAN = ("台湾", "臺灣", "台灣")


def filled(docs: Path, engine: Engine, names: tuple[str, ...]) -> Engine:
    for path in docs.iterdir():
        path.unlink()
    for name in names:
        (docs / name).write_text(FILES[name], encoding="utf-8")
        engine.ingest([docs])
    return engine


@pytest.mark.parametrize("order", list(permutations(FILES)))
def test_the_simplified_name_represents_the_others_whatever_the_order(
    docs: Path, engine_of: MakeEngine, order: tuple[str, ...]
) -> None:
    engine = filled(docs, engine_of(), order)
    links = canonical(engine)
    assert [links[name] for name in TAIWAN] == ["台湾"] * 3
    assert [links[name] for name in ("林淑贞", "林淑貞")] == ["林淑贞"] * 2
    assert links["法國"] == "法國"
    assert {decision.by for decision in read_decisions(engine.store, ENTITIES)} == {SCRIPTS_RULE}
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_without_a_simplified_name_the_traditional_ones_are_one(docs: Path, engine_of: MakeEngine) -> None:
    links = canonical(filled(docs, engine_of(), ("c.txt", "b.txt")))
    assert links["臺灣"] == links["台灣"]


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("林淑贞离开了哪里？", "林淑貞離開了臺灣。"),
        ("林淑貞訪問了臺灣嗎？", "林淑贞访问了台湾。"),
        ("谁是臺灣的工程師？", "陈立文是台湾的工程师。"),
    ],
)
def test_a_question_in_one_script_finds_the_other(
    docs: Path, engine_of: MakeEngine, question: str, quote: str
) -> None:
    *_, last = filled(docs, engine_of(), ("a.txt", "b.txt")).ask(question)
    assert last.answer is not None
    assert quote in last.answer["answer"], "as it is written"


def test_an_undone_decision_stays_undone(docs: Path, engine_of: MakeEngine) -> None:
    engine = filled(docs, engine_of(), ("a.txt", "b.txt"))
    undo(engine, read_decisions(engine.store, ENTITIES))
    (docs / "c.txt").write_text("臺灣和林淑貞很好。林淑貞訪問了日本。", encoding="utf-8")
    engine.ingest([docs])
    links = canonical(engine)
    assert (links["臺灣"], links["林淑貞"]) == ("臺灣", "林淑貞")


def test_entities_of_different_types_and_names_that_only_look_alike_stay_apart(
    docs: Path, engine_of: MakeEngine
) -> None:
    engine = engine_of()
    (docs / "a.txt").write_text("《臺灣》的作者是陈立文。林淑贞访问了台湾和台北。", encoding="utf-8")
    engine.ingest([docs])
    links = canonical(engine)
    assert (links["臺灣"], links["台湾"], links["台北"]) == ("臺灣", "台湾", "台北")
