"""Numbers and dates compared by value, across the ways of writing them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.steps.figures import figures, known_figures


def missing(claim: str, source: str, language: str | None = "en") -> list[str]:
    known = known_figures(source)
    return [figure.text for figure in figures(claim, language) if not known.supports(figure)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It had 1,200 lamps", "1200 lamps"),
        ("It had 1200 lamps", "1,200 lamps"),
        ("It had 1,200 lamps", "1.200 Lampen"),
        ("It had 1,200 lamps", "1 200 lampes"),
        ("It had 1,200 lamps", "1\u202f200 lampes"),
        ("It had 1,200 lamps", "1'200 Lampen"),
        ("It had 1200 lamps", "1.2 thousand lamps"),
        ("It had 1.2 thousand lamps", "1200 lamps"),
        ("It cost 3 million", "3,000,000 crowns"),
        ("It cost 3,500,000 crowns", "3,5 Millionen Kronen"),
        ("有1.2万人", "12000 people"),
        ("1,20,000 rupees", "120000 rupees"),
        ("It grew 12%", "12 per cent"),
        ("It grew 12 percent", "um 12 % gewachsen"),
        ("It grew 12%", "a share of 0.12"),
        ("It is 2.50 m", "2.5 m"),
        ("It is 2.5 m", "2,5 m"),
        ("in 1911", "on 1911-11-17"),
        ("in 1911", "am 17. November 1911"),
        ("on 17 November 1911", "1911-11-17"),
        ("on 1911-11-17", "on November 17, 1911"),
        ("in November 1911", "1911-11-17"),
        ("on 17 November 1911", "on the 17th; the year was 1911"),
        ("in the 19th century", "the nineteenth century"),
        ("12 men", "twelve men"),
        ("21 men", "twenty-one men"),
        ("1 200 men", "1,200 men"),
        ("It is 6:30", "18 h 30"),
        ("75 %", "three quarters"),
        ("300 men", "three hundred men"),
        ("12 men", "zwölf Männer"),
        ("in the 1990s", "the 1990s"),
        ("from 1911 to 1915", "1911–1915"),
        ("1. Ada\n2. Bob", "Ada and Bob"),
        ("H2O and T-34", "water and a tank"),
        ("on 14 August 2026", "20260814_1500"),
        ("in fiscal 2024", "Q2 of FY2024"),
        ("8月31日", "2009年8月31日"),
        ("2009年8月31日", "2009 年 8 月 31 日"),
        ("no number", "none"),
    ],
)
def test_supported(claim: str, source: str) -> None:
    language = "zh" if "万" in claim else "en"
    assert missing(claim, source, language) == []


@pytest.mark.parametrize(
    ("claim", "source", "lost"),
    [
        ("in 1844", "in 1843", ["1844"]),
        ("1,200 lamps", "1.2 lamps", ["1,200"]),
        ("1.2 lamps", "1200 lamps", ["1.2"]),
        ("3 million", "3 lamps", ["3 million"]),
        ("12%", "13%", ["12%"]),
        ("on 18 November 1911", "1911-11-17", ["18 November 1911"]),
        ("in December 1911", "on 17 November 1912", ["December 1911"]),
        ("pre-1914", "1915", ["1914"]),
        ("12 and 13", "12", ["13"]),
        ("20 men", "twenty-three men", ["20"]),
        ("8 June 2011", "2011-08-06", ["8 June 2011"]),
        ("1,000,000 men", "3 million men", ["1,000,000"]),
    ],
)
def test_unsupported(claim: str, source: str, lost: list[str]) -> None:
    assert missing(claim, source) == lost


def test_a_claim_is_read_as_its_language_writes() -> None:
    assert figures("1.200", "de")[0].values == {Decimal(1200)}
    assert figures("1.200", "en")[0].values == {Decimal("1.2")}
    assert figures("1.200", None)[0].values == {Decimal(1200), Decimal("1.2")}
    assert missing("3,5 m", "3.5 m", "de") == []


@given(st.integers(0, 10**12))
def test_any_whole_number_is_supported_however_it_is_grouped(number: int) -> None:
    ways = [str(number), f"{number:,}", f"{number:,}".replace(",", "."), f"{number:,}".replace(",", " ")]
    for source in ways:
        assert missing(f"It had {number:,} lamps.", source) == []
        assert missing(f"Es hatte {ways[2]} Lampen.", source, "de") == []


@given(st.integers(0, 10**12), st.integers(0, 99))
def test_any_amount_is_supported_however_it_is_written(whole: int, cents: int) -> None:
    pointed = f"{whole:,}.{cents:02}"
    with_comma = pointed.translate(str.maketrans(",.", ".,"))
    for source in (pointed, with_comma):
        assert missing(f"It cost {pointed}.", source, "en") == []
        assert missing(f"Es kostete {with_comma}.", source, "de") == []


@given(st.text("0123456789.,' ", max_size=20), st.sampled_from(["en", "de", None]))
def test_any_figures_support_themselves(text: str, language: str | None) -> None:
    assert missing(text, text, language) == []


@given(st.text(max_size=80), st.sampled_from(["en", "de", None]))
def test_any_text_supports_itself(text: str, language: str | None) -> None:
    assert missing(text, text, language) == []
