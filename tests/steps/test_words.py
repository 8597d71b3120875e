"""Which words of a question count, and which of them a text has."""

from __future__ import annotations

import pytest

from graphrag_rdf.steps.words import QuestionWords


def test_a_common_word_of_another_language_is_not_spoken_of() -> None:
    """ "To die" of an English question is not the article of a German sentence."""
    words = QuestionWords.of("Where did Agathe Hollerbach die?", "en", None)
    assert "die" not in words.spoken_of("Agathe Hollerbach leitet die Brauerei seit 1878.")
    assert "die" in words.spoken_of("She did die in Korbach.", "Agathe Hollerbach died.")
    german = QuestionWords.of("Wer leitet die Brauerei?", "de", None)
    assert german.coverage("Agathe Hollerbach leitet die Brauerei seit 1878.") == pytest.approx(1)


@pytest.mark.parametrize(
    ("question", "language", "weighed"),
    [
        ("What happened in 1869?", "en", {"1869"}),
        ("What happened to the Petrel in 1911?", "en", {"petrel", "1911"}),
        ("Was geschah 1869?", "de", {"1869"}),
        ("Wat gebeurde er in 1869?", "nl", {"1869"}),
        ("What happened?", "en", {"happen"}),
        ("How many people drowned?", "en", {"person", "drown"}),
    ],
)
def test_what_asks_for_anything_is_no_word_to_be_found(
    question: str, language: str, weighed: set[str]
) -> None:
    assert set(QuestionWords.of(question, language, None).weights) == weighed


@pytest.mark.parametrize(
    ("question", "language", "things"),
    [
        ("When did Rhoda Tennant die?", "en", 2),
        ("Who insured the Petrel?", "en", 2),
        ("Wer war der Vater von Elspeth Marwick?", "de", 2),
    ],
)
def test_a_name_of_several_words_is_one_thing(question: str, language: str, things: int) -> None:
    assert QuestionWords.of(question, language, None).things == things


@pytest.mark.parametrize(
    ("question", "language", "with_it", "without"),
    [
        ("When did she retire?", "en", "She retired on a Monday.", "She retired to the harbour."),
        ("When was it opened?", "en", "It was opened in 1936.", "It was opened before two thousand people."),
        ("How many men drowned?", "en", "Five men drowned.", "Some men drowned."),
        ("Wie viele Männer ertranken?", "de", "Fünf Männer ertranken.", "Einige Männer ertranken."),
        ("模型有多长？", "zh", "模型长二十六米。", "模型在大厅里。"),
        # a date is no count
        ("How many men drowned?", "en", "By 1911 1500 men drowned.", "Men drowned on 3 May 1911."),
        ("How many men drowned?", "en", "1911: Men drowned 1500.", "Men drowned in the 1890s."),
        ("Wie viele Männer ertranken?", "de", "1900 Männer ertranken.", "Im Jahr 1900 ertranken Männer."),
        ("公司有几艘船？", "zh", "1911年公司有七艘船。", "公司于1911年购买了船。"),
        ("Combien d'hommes moururent ?", "fr", "Cinq hommes moururent.", "Les hommes moururent en 1911."),
        ("How many years did he rule?", "en", "He ruled from 1902 to 1919.", "He ruled Kelm."),
    ],
)
def test_what_asks_for_a_figure_is_not_answered_without_one(
    question: str, language: str, with_it: str, without: str
) -> None:
    words = QuestionWords.of(question, language, None)
    assert words.lacks_figure(without)
    assert not words.lacks_figure(with_it)
    assert not QuestionWords.of("Who drowned?", "en", None).lacks_figure(without)


def test_a_pronoun_leaves_open_who_it_was() -> None:
    asked = QuestionWords.of("Who designed the dam?", "en", None)
    assert asked.leaves_open("She designed the dam.")
    assert not asked.leaves_open("Sheila Orr designed the dam.")
    assert not QuestionWords.of("When was the dam built?", "en", None).leaves_open("It was built in 1901.")
