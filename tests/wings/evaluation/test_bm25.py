"""The baseline of `eval`: BM25 as its formula says, over words, stems and pairs of characters."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.wings.evaluation.baseline import Bm25
from graphrag_rdf.wings.evaluation.evalset import EvalSet, Passage
from graphrag_rdf.wings.evaluation.retrieval import passages_bm25

WORDS = ("gate", "harbour", "keeper", "lantern", "tide")
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=8)


def by_formula(corpus: list[str], question: str, place: int) -> float:
    """The textbook's sum, k1 1.5, b 0.75."""
    split = [text.split() for text in corpus]
    mean = sum(map(len, split)) / len(split) or 1.0
    score = 0.0
    for word in question.split():
        having = sum(word in words for words in split)
        times = split[place].count(word)
        idf = math.log(1 + (len(split) - having + 0.5) / (having + 0.5))
        score += idf * times * 2.5 / (times + 1.5 * (0.25 + 0.75 * len(split[place]) / mean))
    return score


@given(texts, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join))
def test_texts_are_ranked_by_the_formula(corpus: list[str], question: str) -> None:
    scores = {place: by_formula(corpus, question, place) for place in range(len(corpus))}
    found = Bm25(corpus, None).rank(question, len(corpus))
    assert set(found) == {place for place, score in scores.items() if score > 0}
    ranked = [scores[place] for place in found]
    assert ranked == pytest.approx(sorted(ranked, reverse=True))


def test_words_are_stemmed_and_stop_words_are_not_searched() -> None:
    bm25 = Bm25(["The keepers of the light", "the and of it", "lights"], "en")
    assert bm25.rank("the keeper", 5) == [0]
    assert bm25.rank("lights of it", 5) == [2, 0]


def test_chinese_is_searched_by_pairs_of_characters() -> None:
    assert Bm25(["潮门由钟表匠建造", "灯塔在港口旁边", "钟在塔里"], "zh").rank("谁是钟表匠?", 5) == [0]


def test_the_best_k_texts_are_returned() -> None:
    assert Bm25(["tide gate", "tide", "gate"], "en").rank("tide gate", 1) == [0]


def test_title_and_text_are_one_field_unless_titles_are_hidden() -> None:
    passages = (Passage(title="Tide gate", text="It was opened in spring."), Passage(title="Pier", text=""))
    evalset = EvalSet(name="tiny", corpus=passages, questions=())
    assert passages_bm25(evalset).rank("tide gate opened", 5) == [0]
    assert passages_bm25(evalset, titles=False).rank("gate", 5) == []
    assert passages_bm25(evalset).rank("pier", 5) == []  # a passage without text is not in the store
