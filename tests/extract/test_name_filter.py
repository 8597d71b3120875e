"""Which capitalised words are names; names derived from others, and the name that a chunk is about."""

from __future__ import annotations

import pytest

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.model import Mention
from graphrag_rdf.extract.name_filter import topic_of, topics_of, with_derived_names
from graphrag_rdf.wings.rules.extractor import RuleExtractor


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


# --- derived names and topics --------------------------------------------------------------------------


def named(*names: str, topic: str | None = None) -> list[tuple[int, str]]:
    """(place, name) of all that mentions one after another stand for."""
    mentions = [Mention(number * 100, len(name), name) for number, name in enumerate(names)]
    return [(m.offset // 100, m.name) for m in with_derived_names(mentions, topic, "en")]


@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("Ada Moor of Blue Harbour", ["Ada Moor", "Blue Harbour"]),
        ("University of Tarnay", ["Tarnay"]),
        ("Museum of the Sound", []),
        ("Terms of Use", []),
        ("Isle of dreams", []),
        ("Bank of the Isle of Skell", []),
    ],
)
def test_both_sides_of_an_of_are_named_too(name: str, within: list[str]) -> None:
    assert named(name) == [(0, name), *((0, part) for part in within)]


def test_a_short_name_stands_for_the_only_long_one() -> None:
    assert named("Ada Moor", "Moor", "Ada") == [
        (0, "Ada Moor"),
        (1, "Moor"),
        (1, "Ada Moor"),
        (2, "Ada"),
        (2, "Ada Moor"),
    ]


def test_of_two_it_stands_for_the_topic_or_for_none() -> None:
    assert (2, "Ada Moor") not in named("Ada Moor", "Jan Moor", "Moor")
    assert (2, "Jan Moor") in named("Ada Moor", "Jan Moor", "Moor", topic="Jan Moor")


def test_places_stay() -> None:
    (first, second, third) = with_derived_names([Mention(7, 24, "Ada Moor of Blue Harbour")], None, None)
    assert {(m.offset, m.length) for m in (first, second, third)} == {(7, 24)}


NAMES = (Mention(0, 6, "Lilith"), Mention(10, 5, "Gallu"))
LONG = "An inquiry into the many causes of the failure of Gallu and other demons of the plain"


@pytest.mark.parametrize(
    ("title", "given", "topic"),
    [
        ("Lilu (mythology)", True, "Lilu"),
        ("The Heron", True, "The Heron"),
        (LONG, True, "Gallu"),
        (LONG.replace("Gallu", "two"), True, None),
        ("Passage 17", False, "Lilith"),
        ("Gallu", False, "Gallu"),
    ],
)
def test_a_title_names_the_topic_unless_it_is_only_the_files_name(
    title: str, given: bool, topic: str | None
) -> None:
    assert topic_of(title, NAMES, titled=given) == topic


def test_without_names_a_files_name_is_no_topic() -> None:
    assert topic_of("Passage 17", (), titled=False) is None


@pytest.mark.parametrize(
    ("title", "given", "topics"),
    [
        ("The Heron", True, ("The Heron", "Heron")),
        ("Gallu, Ohio", True, ("Gallu, Ohio", "Gallu")),
        ("Come, Gallu", True, ("Come, Gallu",)),
        ("The", True, ("The",)),
        ("Gallu Inc. — Form 10-Q — quarterly period ended July 2, 2023", True, ("Gallu Inc.",)),
        ("Passage 17", False, ("Lilith",)),
        (LONG.replace("Gallu", "two"), True, ()),
    ],
)
def test_a_title_is_also_written_without_its_article_and_its_place(
    title: str, given: bool, topics: tuple[str, ...]
) -> None:
    assert topics_of(title, NAMES, titled=given) == topics
