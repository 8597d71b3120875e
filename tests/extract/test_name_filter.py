"""Which capitalised words are names."""

from __future__ import annotations

import pytest

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.rules import RuleExtractor


def names(text: str, title: str | None = None) -> list[str]:
    sentences = split_sentences(text, "en")
    found = RuleExtractor().extract(text, sentences, language="en", title=title, topic=None)
    return [mention.name for mention in found.mentions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Financial Highlights\n\nOrrin Ltd sold two ferries.", ["Orrin Ltd"]),
        ("Johanna Rook Announces Updated Figures", ["Johanna Rook Announces Updated Figures"]),
        ("Kelmar Holdings 37\n\nThey met in Tarnow.", ["Kelmar Holdings", "Tarnow"]),
        ("Jorun Hask March 17\n\nShe sailed to Tarnow.", ["Jorun Hask", "Tarnow"]),
        ("Selkie Selkie Marine Services\n\nIt sails to Tarnow.", ["Selkie Marine Services", "Tarnow"]),
        (
            "Harbour Services\n\nHarbour Services repaired the quay of Tarnow.",
            ["Harbour Services"] * 2 + ["Tarnow"],
        ),
    ],
)
def test_headings_and_labels_name_what_the_language_or_a_sentence_has_as_a_name(
    text: str, expected: list[str]
) -> None:
    assert names(text) == expected


def test_what_the_title_names_is_a_name_in_headings_too() -> None:
    text = "# The Tidal Museum\n\nIt opened in Tarnow."
    assert "Tidal Museum" in names(text, "Tidal Museum: a short guide")
    assert "Tidal Museum" not in names(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He raised the Idea of a ferry, and Ada Venn agreed.", ["Ada Venn"]),
        ("She found the Ghost in Kelm. Ada Venn saw the Ghost too.", ["Ghost", "Kelm", "Ada Venn", "Ghost"]),
        ("She found the Ghost in Kelm, but a ghost is no witness for the Ghost.", ["Kelm"]),
        ("As to Section 4, Ada Venn agreed.", ["Ada Venn"]),
        ("Hollaho! Ada Venn came in.", ["Ada Venn"]),
        ("Good-morning, said Ada Venn.", ["Ada Venn"]),
    ],
)
def test_a_word_of_the_language_is_a_name_where_a_text_has_it_so_twice(
    text: str, expected: list[str]
) -> None:
    assert names(text) == expected


def test_a_heading_before_what_it_heads_names_nothing() -> None:
    assert names("Information Services — The port of Tarnow uses them.") == ["Tarnow"]
    assert names("Ida Venner: the port of Tarnow raised them.") == ["Ida Venner", "Tarnow"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jorun Hask\nQuarterly Figures", ["Jorun Hask"]),
        ("Jorun Hask Director\n\nShe sailed to Tarnow.", ["Jorun Hask", "Tarnow"]),
        ("HMT Harbour Masters of Tarnow", ["Harbour Masters of Tarnow"]),
        ("Selkie Replacement of old pumps 37 41", ["Selkie"]),
        ("Constant: HMT_MAX_SIZE\n\nThey met in Tarnow.", ["HMT_MAX_SIZE", "Tarnow"]),
    ],
)
def test_a_line_names_no_more_than_its_name(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "• Search for the ferry that left the harbour.",
        "(1) Represents the fares that were paid.",
        "Seasonality\n\nThe fares fell.",
        "He said, 'Thankee, sir,' and left.",
        "Good Spirit, he said.",
        "They are told in Note 2A and 2E.",
    ],
)
def test_what_only_opens_a_sentence_is_no_name(text: str) -> None:
    assert names(text) == []
