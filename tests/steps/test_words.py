"""What a question asks for, and which of its words a sentence answers."""

from __future__ import annotations

import pytest

from graphrag_rdf.steps.words import QuestionWords, answered_words, shows_what_is_asked


@pytest.mark.parametrize(
    ("question", "sentence", "answered"),
    [
        ("On which date did the Petrel sink?", "The Petrel sank on 14 November 1911.", ["which date"]),
        ("On which date did the Petrel sink?", "The secretary accepted the date.", []),
        ("When was it opened?", "It was opened in 1936.", ["When"]),
        ("How many turbines are there?", "There are 4 turbines.", ["How many"]),
        ("How many turbines are there?", "There are some turbines.", []),
        ("Who designed it?", "Andrew Orr designed it.", ["Who"]),
        ("Where was he born?", "He was born in Arnhythe.", ["Where"]),
    ],
)
def test_a_sentence_that_shows_a_thing_of_the_kind_answers_the_words_that_ask_for_it(
    question: str, sentence: str, answered: list[str]
) -> None:
    assert answered_words(question, sentence) == answered
    assert shows_what_is_asked(question, sentence) == bool(answered)


def test_words_that_are_answered_are_spoken_of() -> None:
    question, sentence = "On which date did the Petrel sink?", "The Petrel sank on 14 November 1911."
    words = QuestionWords.of(question, "en", None)
    assert words.coverage(sentence) < 1
    assert words.coverage(sentence, *answered_words(question, sentence)) == pytest.approx(1)


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
    ],
)
def test_what_asks_for_anything_is_no_word_to_be_found(
    question: str, language: str, weighed: set[str]
) -> None:
    assert set(QuestionWords.of(question, language, None).weights) == weighed
