"""Messages that were stored in one language and are shown in another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphrag_rdf import i18n

QUOTED = "No language model is configured: this answer quotes the documents."


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    i18n.set_process_language("en")


def in_chinese(message: str, **values: object) -> str:
    i18n.set_process_language("zh-CN")
    return i18n.tr(message).format(**values)


def test_a_constant_message_in_both_directions() -> None:
    chinese = in_chinese(QUOTED)
    assert chinese != QUOTED
    assert i18n.stored(QUOTED) == chinese
    i18n.set_process_language("en")
    assert i18n.stored(chinese) == QUOTED
    assert i18n.stored(QUOTED) == QUOTED


def test_values_are_kept_and_messages_among_them_translated() -> None:
    message = "{key} had no effect: {why}"
    english = message.format(key="graph_rag.focus.limit", why=QUOTED)
    chinese = in_chinese(message, key="graph_rag.focus.limit", why=in_chinese(QUOTED))
    assert i18n.stored(english) == chinese
    i18n.set_process_language("en")
    assert i18n.stored(chinese) == english


def test_other_texts_stay() -> None:
    in_chinese(QUOTED)
    for text in ("", "what a model wrote", "{key}", "a had no effect: " * 500):
        assert i18n.stored(text) == text
