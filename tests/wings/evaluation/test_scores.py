"""Scores of answers: what SQuAD, HotpotQA and MLQA count as the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.wings.evaluation.metrics import contained, exact_match, token_f1, tokens_of, yes_or_no


@pytest.mark.parametrize(
    ("answer", "expected", "language", "exact", "f1"),
    [
        ("The Harbour Board.", ["harbour board"], "en", 1.0, 1.0),
        ("It was built in 1881.", ["1881"], "en", 0.0, 1 / 3),
        ("Orr", ["Walter Pennock", "Andrew Orr"], "en", 0.0, 2 / 3),
        ("Der Hafen", ["Hafen"], "de", 1.0, 1.0),
        ("Der Hafen", ["Hafen"], "en", 0.0, 2 / 3),
        ("灯塔建于一八八一年。", ["一八八一年"], "zh", 0.0, 10 / 14),
        ("Yes, both", ["yes"], "en", 0.0, 0.0),  # yes and no are right or wrong as a whole
        ("No.", ["yes"], "en", 0.0, 0.0),
        ("No", ["no pier"], "en", 0.0, 0.0),
        ("", ["x"], "en", 0.0, 0.0),
    ],
)
def test_exact_match_and_f1(answer: str, expected: list[str], language: str, exact: float, f1: float) -> None:
    assert exact_match(answer, expected, language) == exact
    assert token_f1(answer, expected, language) == pytest.approx(f1)


@given(st.text(), st.lists(st.text(), min_size=1))
def test_scores_are_shares_and_agree(answer: str, expected: list[str]) -> None:
    f1 = token_f1(answer, expected)
    assert 0.0 <= f1 <= 1.0
    assert not exact_match(answer, expected) or f1 == 1.0
    assert token_f1(answer, [*expected, answer]) == 1.0
    assert tokens_of(" ".join(tokens_of(answer))) == tokens_of(answer)


def test_containment() -> None:
    assert contained(["Built in 2024."], ["24"]) == 1.0
    assert contained(["Built in 2024."], ["24"], words=True) == 0.0
    assert contained(["Built in (24)."], ["24"], words=True) == 1.0
    assert contained(["他住在北京市。"], ["北京"], words=True) == 1.0
    assert contained(["anything"], ["—"]) == 0.0
    assert [yes_or_no(texts) for texts in (["Yes"], ["yes", "perhaps"], [])] == [True, False, False]
