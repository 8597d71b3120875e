"""How near an answer is to the expected ones: exact match, F1 over tokens, and containment.

Exact match and F1 are those of SQuAD (Rajpurkar et al. 2016, `evaluate-v1.1.py`): lower case, without
punctuation, articles and surplus white space; the best of several expected answers counts. Yes and no are
right or wrong as a whole, as in HotpotQA (Yang et al. 2018, `hotpot_evaluate_v1.py`). Chinese, Japanese and
Korean are compared by character, and the articles of German are left out too, as in MLQA (Lewis et al. 2020,
`mlqa_evaluation_v1.py`).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from graphrag_rdf.extract.names import CJK

_ARTICLES = {
    "en": {"a", "an", "the"},
    "de": {*("ein", "eine", "einen", "einem", "eines", "einer"), *("der", "die", "das", "den", "dem", "des")},
}
_YES_NO = frozenset({"yes", "no", "noanswer"})


def tokens_of(text: str, language: str | None = None) -> list[str]:
    """The tokens that answers are compared by.

    Args:
        language: BCP 47 tag, whose articles are left out; None: those of English.
    """
    lower = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(c for c in lower if not unicodedata.category(c).startswith("P"))
    articles = _ARTICLES.get((language or "en").partition("-")[0], set())
    return [token for token in CJK.sub(r" \g<0> ", plain).split() if token not in articles]


def exact_match(answer: str, expected: Sequence[str], language: str | None = None) -> float:
    """1.0 if the answer is one of the expected ones."""
    given = tokens_of(answer, language)
    return float(any(given == tokens_of(text, language) for text in expected))


def token_f1(answer: str, expected: Sequence[str], language: str | None = None) -> float:
    """The harmonic mean of precision and recall of tokens, of the expected answer where it is highest."""
    given = tokens_of(answer, language)
    return max((_f1(given, tokens_of(text, language)) for text in expected), default=0.0)


def _f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    whole = {" ".join(given), " ".join(wanted)}
    if len(whole) == 1:
        return 1.0
    shared = sum((Counter(given) & Counter(wanted)).values())
    if not shared or whole & _YES_NO:
        return 0.0
    precision, recall = shared / len(given), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def contained(texts: Sequence[str], expected: Sequence[str], *, words: bool = False) -> float:
    """1.0 if one of the expected answers stands in the texts, but for case, accents and punctuation.

    Args:
        words: only as whole words, so that 24 does not stand in 2024; of CJK anywhere.
    """
    found = fold(" ".join(texts))
    wanted = filter(None, map(fold, expected))
    return float(
        any(
            text in found if not words or CJK.search(text) else f" {text} " in f" {found} " for text in wanted
        )
    )


def yes_or_no(expected: Sequence[str]) -> bool:
    """Whether the expected answer is yes or no, which no evidence contains."""
    return bool(expected) and {fold(text) for text in expected} <= _YES_NO


def fold(text: str) -> str:
    """Text without differences of case, width, accents and punctuation, for containment."""
    flat = unicodedata.normalize("NFKD", text).casefold()
    flat = "".join(c if c.isalnum() else " " for c in flat if unicodedata.category(c) != "Mn")
    return " ".join(flat.split())
