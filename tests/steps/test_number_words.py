"""Numbers in words, in several languages."""

from __future__ import annotations

from decimal import Decimal

import pytest

from graphrag_rdf.steps.number_words import worded_numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("twenty-one", [21]),
        ("three hundred and twenty", [320]),
        ("two thousand four hundred", [2400]),
        ("one million two hundred thousand", [1_200_000]),
        ("two and three mills", [2, 3]),
        ("the seventh of twelve", [7, 12]),
        ("three quarters", ["0.75"]),
        ("vierundzwanzig", [24]),
        ("dreihundertfünfundsechzig Tage", [365]),
        ("am dreiundzwanzigsten", [23]),
        ("zweitausend Mark", [2000]),
        ("quatre mille deux cents", [4200]),
        ("quatre-vingt-dix-sept", [97]),
        ("mille neuf cent soixante-quinze", [1975]),
        ("la troisième", [3]),
        ("cuarenta y dos", [42]),
        ("ventiquattro", [24]),
        ("vierentwintig", [24]),
        ("工人一千二百人", [1200]),
        ("三十万元", [300_000]),
        ("五亿三千万", [530_000_000]),
        ("二〇二三年", [2023]),
        ("3 million, 1.2万", []),
        ("Seiten, Enten und unten; the end of a tension", []),
        ("", []),
    ],
)
def test_worded_numbers(text: str, numbers: list[int | str]) -> None:
    found = set(worded_numbers(text))
    assert {Decimal(number) for number in numbers} <= found
    assert numbers or not found
