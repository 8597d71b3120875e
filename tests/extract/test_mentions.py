"""Where texts name things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.mentions import Gazetteer, find_mentions


def names(
    text: str, language: str | None = "en", known: list[str] | None = None, title: str | None = None
) -> list[str]:
    spans = find_mentions(
        text, split_sentences(text, language), language=language, names=known or (), title=title
    )
    return [mention.name for mention in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The editor is Jan Philip Solovej of the University of Copenhagen.",
            ["Jan Philip Solovej", "University of Copenhagen"],
        ),
        ("However, Ada Venn's bridge at Stratford-upon-Avon stood.", ["Ada Venn", "Stratford-upon-Avon"]),
        (
            "He met Ludwig van der Rohe, Omar al-Karim and Juan de la Cruz.",
            ["Ludwig van der Rohe", "Omar al-Karim", "Juan de la Cruz"],
        ),
        ("Dr. J. R. R. Orrin wrote it in May 1871.", ["J. R. R. Orrin"]),
        (
            "It was shown at the 2018 Winter Olympics, a 1969 British invention.",
            ["2018 Winter Olympics", "British"],
        ),
        ("She wrote “The Long Bridge” and said “I do not know it”.", ["The Long Bridge"]),
        (
            "Springer Science+Business Media, AT&T and the Institute of Mathematics & Physics",
            ["Springer Science+Business Media", "AT&T", "Institute of Mathematics & Physics"],
        ),
        ("Men's Studies Press printed it.", ["Men's Studies Press"]),
        ("Apollo 11 flew; a iPhone did not. In 1905 it ended.", ["Apollo 11", "iPhone"]),
        (
            "Professor Li Yujie of Henan University spoke on Monday.",
            ["Professor Li Yujie", "Henan University"],
        ),
        (
            "He ruled with Nicholas I under the Harbour Act of 1869.",
            ["Nicholas I", "Harbour Act of 1869"],
        ),
        ("It wrote to the Fish and Harbour Commission.", ["Fish and Harbour Commission"]),
        ("As Note 12A and Article 17A say, it ended on Monday June 3.", ["Article 17A"]),
        ("In World War I the Harbour burned.", ["World War I", "Harbour"]),
        ("Under King Charles I the English rebelled.", ["King Charles I", "English"]),
        ("It follows the Five Good Emperors and the Very Bad Day.", ["Five Good Emperors", "Very Bad Day"]),
        ("Five ships sailed. Very old maps helped. Was Ada Venn there?", ["Ada Venn"]),
        ("It was signed on 3 May 1871 by nobody.", []),
        ("I don't know. You're late.", []),
    ],
)
def test_capitalised_spans(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_dictionary_reads_lower_case_text() -> None:
    known = ["Ada Venn", "Kelm Institute", "Orrin"]
    assert names("who is ada venn at the kelm institute on the orrin?", known=known) == known


def test_single_words_keep_their_case_in_cased_text() -> None:
    assert names("Perhaps it may rain in May.", known=["May"]) == ["May"]


def test_the_longest_dictionary_name_wins() -> None:
    assert names("the long bridge of kelm", known=["bridge", "long bridge", "long bridge of kelm"]) == [
        "long bridge of kelm"
    ]


def test_chinese_and_japanese() -> None:
    text = "他在東京讀《紅樓夢》，研究DNA。"
    assert names(text, "zh", ["東京"]) == ["東京", "紅樓夢", "DNA"]


def test_german_nouns_are_no_names() -> None:
    assert names("Die Brücke in Kelm wurde von der Orrin Brückenbau GmbH gebaut.", "de") == [
        "Kelm",
        "Orrin Brückenbau GmbH",
    ]


def test_the_title_is_a_name_without_its_bracket() -> None:
    text = "Culture, Society and Rivers was a journal."
    assert names(text, title="Culture, Society and Rivers (journal)") == ["Culture, Society and Rivers"]


def test_the_dictionary_does_not_depend_on_order() -> None:
    text = "ada venn came"
    assert Gazetteer(["Ada Venn", "ADA VENN"]).find(text) == Gazetteer(["ADA VENN", "Ada Venn"]).find(text)


@given(st.text(), st.lists(st.text(min_size=1, max_size=8), max_size=5))
def test_spans_lie_in_the_text_and_apart(text: str, known: list[str]) -> None:
    end = 0
    for mention in find_mentions(text, split_sentences(text), language=None, names=known, title=None):
        assert mention.offset >= end
        end = mention.offset + mention.length
        assert mention.offset < end <= len(text)
        assert mention.name.strip()
