"""Sentences that say the reverse of a question, and sums of money that it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphrag_rdf.steps.roles import act, is_reversed
from graphrag_rdf.steps.words import QuestionWords
from tests.support.stores import open_engine

TEXT = """Hugh Sandison succeeded Elspeth Marwick as chief engineer of the Skell Works.
The repair of Gate 4 cost £31,750. Its power cost half as much as the power of the Skell tide.
Their only child, Elspeth Marwick, was born in Kelm.
"""


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("Who succeeded Hugh Sandison?", "Hugh Sandison succeeded Elspeth Marwick.", True),
        ("Who succeeded Hugh Sandison?", "Sandison, who later succeeded Marwick, moved.", True),
        ("Who succeeded Elspeth Marwick?", "Hugh Sandison succeeded Elspeth Marwick.", False),
        ("Who succeeded Elspeth Marwick?", "Elspeth Marwick was succeeded by Hugh Sandison.", False),
        ("Who succeeded Ada Venn?", "Ada Venn succeeded Bo Karr, and Cy Dorn succeeded Ada Venn.", False),
        ("Which club defeated the Kelm Rovers?", "The Kelm Rovers defeated Skell in 1912.", True),
        ("Who was Hugh Sandison?", "Hugh Sandison was an engineer.", False),
        ("Who did Ada Venn succeed?", "Ada Venn succeeded Bo Karr.", False),
        ("谁接替了王伟？", "王伟接替李明。", True),
        ("谁接替了李明？", "王伟接替了李明。", False),
        ("Did Elspeth Marwick have children?", "Their only child, Elspeth Marwick, was born in Kelm.", True),
        ("Did Elspeth Marwick have children?", "Elspeth Marwick had two children.", False),
        ("Did Elspeth Marwick have children?", "The children of Elspeth Marwick left.", False),
        ("Did Elspeth Marwick have children?", "Elspeth Marwick was an engineer.", True),
        ("Did Elspeth Marwick have to leave Kelm?", "Elspeth Marwick left.", False),
        ("Has Ada Venn visited Kelm?", "Kelm was visited by Ada Venn.", False),
        ("Hat Ada Venn die Bank gegründet?", "Ada Venn gründete die Bank.", False),
        ("Hatte Ada Venn Kinder?", "Ihr einziges Kind, Ada Venn, wurde in Kelm geboren.", True),
    ],
)
def test_the_reverse_of_a_question(question: str, sentence: str, expected: bool) -> None:
    assert is_reversed(question, sentence) == expected


@pytest.mark.parametrize(
    ("question", "sentence", "lacks"),
    [
        ("How much did the station cost?", "Its power cost half as much.", True),
        ("How much did the station cost?", "The station cost £14,350.", False),
        ("How much did the station cost?", "The station cost 4 million.", False),
        ("How much does the model weigh?", "It weighs 4 tonnes.", False),
        ("Was kostete der Turm?", "Der Turm kostete 300 Mark.", False),
        ("Wie viel hat der Turm gekostet?", "Der Turm wurde 1912 gebaut.", True),
        ("这座桥花了多少钱？", "这座桥耗资三百万元。", False),
    ],
)
def test_a_price_is_a_sum_of_money(question: str, sentence: str, lacks: bool) -> None:
    assert QuestionWords.of(question, None, None).lacks_figure(sentence) == lacks


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who succeeded Elspeth Marwick?", "Hugh Sandison succeeded"),
        ("Who succeeded Hugh Sandison?", "No sentence"),
        ("How much did the repair of Gate 4 cost?", "The repair of Gate 4 cost £31,750"),
        ("How much did the power station cost?", "No sentence"),
        ("Did Elspeth Marwick have children?", "No sentence"),
    ],
)
def test_what_says_something_else_is_no_sure_answer(tmp_path: Path, question: str, answer: str) -> None:
    (tmp_path / "works.md").write_text(TEXT)
    with open_engine(":memory:") as engine:
        engine.ingest([str(tmp_path)])
        *_, last = engine.ask(question)
        assert last.answer is not None
        assert last.answer["answer"].startswith(answer)


@pytest.mark.parametrize(
    ("question", "verb"),
    [
        ("Who commanded the Petrel when it ran aground?", "commanded"),
        ("Wer führte die Petrel, als sie strandete?", "führte"),
        ("Who was in command when the Petrel sank?", ""),
        ("Who commanded the Petrel?", ""),
    ],
)
def test_what_somebody_did_when_something_else_happened(question: str, verb: str) -> None:
    assert act(question) == verb


def test_a_quote_without_what_somebody_did_is_uncertain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "Yesterday the Petrel ran aground on the Grey Bank. The crew was rescued."
    )
    (tmp_path / "b.txt").write_text("Hugh Sandison commanded the Tern. Ada Venn commanded the Skua.")
    with open_engine(":memory:") as engine:
        engine.ingest([str(tmp_path)])
        *_, last = engine.ask("Who commanded the Petrel when it ran aground on the Grey Bank?")
        assert last.answer is not None
        assert last.answer["answered"]
        assert "uncertain_answer" in [warning["type"] for warning in last.answer["warnings"]]
