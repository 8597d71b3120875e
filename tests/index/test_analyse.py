from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.index.analyse import analyse, match_key, primary_language, stop_words, words_with


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("en", "The houses of Emily’s friends", ["hous", "emili", "friend"]),
        ("en-GB", "running", ["run"]),
        ("de", "Die Häuser der Straße", ["haus", "strass"]),
        ("fr", "L’été des étudiantes", ["ete", "etudi"]),
        ("es", "las canciones", ["cancion"]),
        (None, "The houses", ["the", "houses"]),
        ("xx", "The houses", ["the", "houses"]),
        ("zh", "東京タワー", ["东京", "京タ", "タワ", "ワー"]),
        ("zh", "京", ["京"]),
        ("en", "Version 2.0 of 東京 towers", ["version", "2", "0", "东京", "tower"]),
        ("hi", "हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("en", "snake_case", ["snake", "case"]),
        ("en", "co\u00adoperate ﬁne", ["cooper", "fine"]),
        ("en", "São Paulo", ["sao", "paulo"]),
        ("en", "", []),
        ("en", "who is it?", []),
    ],
)
def test_terms(language: str | None, text: str, terms: list[str]) -> None:
    assert analyse(text, language) == terms


@pytest.mark.parametrize("language", sorted(stop_words()))
def test_stop_words_are_dropped_and_written_as_folded(language: str) -> None:
    assert analyse(" ".join(stop_words()[language]), language) == []
    assert all(match_key(word) == word for word in stop_words()[language])


@given(st.text(), st.sampled_from([None, "en", "de", "zh", "hi", "ru"]))
def test_any_text_gives_terms_that_a_blank_can_part(text: str, language: str | None) -> None:
    terms = analyse(text, language)
    assert " ".join(terms).split() == terms
    assert analyse(text, language) == terms


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_case_does_not_matter(text: str) -> None:
    assert analyse(text.casefold(), "en") == analyse(text, "en")


@pytest.mark.parametrize(
    ("one", "other"),
    [("ACME  Corp", "acme corp"), ("Straße", "STRASSE"), ("ＡＢＣ", "abc"), (" a\tb ", "A B")],
)
def test_labels_that_are_the_same_name(one: str, other: str) -> None:
    assert match_key(one) == match_key(other)


def test_primary_language() -> None:
    assert [primary_language(tag) for tag in ("en-GB", "DE", "zh_Hant", None, "")] == [
        "en", "de", "zh", "und", "und",
    ]  # fmt: skip


def test_traditional_and_simplified_chinese_are_the_same_words_and_names() -> None:
    assert analyse("石川大橋位於臺北", "zh") == analyse("石川大桥位于台北", "zh")
    assert match_key("國立故宮博物院") == match_key("国立故宫博物院")


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("一九一一年十一月十四日", "1911年11月14日"),
        ("二〇〇三年十二月", "2003年12月"),
        ("民國四十八年三月二十二號", "1959年3月22日"),
        ("八月十五日", "8月15日"),
    ],
)
def test_dates_in_chinese_numerals_are_those_in_digits(written: str, digits: str) -> None:
    assert analyse(f"桥于{written}建成", "zh") == analyse(f"桥于{digits}建成", "zh")


def test_chinese_numerals_that_are_no_dates_stay() -> None:
    assert analyse("三个月", "zh") == ["三个", "个月"]


@pytest.mark.parametrize(
    ("text", "language", "terms", "words"),
    [
        (
            "Who sold the Lighthouses in spring, and the lighthouse?",
            "en",
            {"lighthous", "sell"},
            ["sold", "Lighthouses", "lighthouse"],
        ),
        ("谁设计了火车站？", "zh", {"火车", "车站"}, ["火车站"]),
        ("誰設計了LiHua的火車站？", "zh", {"设计", "火车", "lihua"}, ["設計", "LiHua", "火車"]),
        ("Wer leitete die Untersuchung?", "de", set(), []),
    ],
)
def test_words_with_terms_stand_as_written(
    text: str, language: str, terms: set[str], words: list[str]
) -> None:
    assert words_with(terms, text, language) == words
