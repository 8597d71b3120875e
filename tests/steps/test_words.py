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
    ],
)
def test_what_asks_for_anything_is_no_word_to_be_found(
    question: str, language: str, weighed: set[str]
) -> None:
    assert set(QuestionWords.of(question, language, None).weights) == weighed
