"""Language detection: by script where that decides, else by two methods that have to agree.

The methods are statistics of byte n-grams (py3langid), which always give an answer, and function words, which
tables, code and lists of names lack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from functools import cache

from graphrag_rdf.documents.text import read_data, word_list


def _languages(codes: str) -> tuple[str, ...]:
    return tuple(codes.split())


# letters of a script, the share of a text's letters from which on it is of that script, and the languages
# that are written in it; in order of precedence (Japanese is full of Han). Latin words stand in all others
_SCRIPTS = tuple(
    (re.compile(f"[{letters}]"), share, _languages(languages))
    for letters, share, languages in (
        (r"\u3041-\u30ff\uff66-\uff9d", 0.05, "ja"),
        (r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3", 0.3, "ko"),
        (r"\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff", 0.3, "zh"),
        (r"\u0e01-\u0e4e", 0.3, "th"),
        (r"\u0370-\u03ff\u1f00-\u1fff", 0.3, "el"),
        (r"\u05d0-\u05ea", 0.3, "he"),
        (r"\u0531-\u0587", 0.3, "hy"),
        (r"\u10a0-\u10ff", 0.3, "ka"),
        (r"\u0b80-\u0bff", 0.3, "ta"),
        (r"\u0c00-\u0c7f", 0.3, "te"),
        (r"\u0c80-\u0cff", 0.3, "kn"),
        (r"\u0d00-\u0d7f", 0.3, "ml"),
        (r"\u0a80-\u0aff", 0.3, "gu"),
        (r"\u0a00-\u0a7f", 0.3, "pa"),
        (r"\u0d80-\u0dff", 0.3, "si"),
        (r"\u1780-\u17ff", 0.3, "km"),
        (r"\u0e80-\u0eff", 0.3, "lo"),
        (r"\u1000-\u109f", 0.3, "my"),
        (r"\u0400-\u052f", 0.3, "be bg kk ky mk mn ru sr tg tt uk"),
        (r"\u0620-\u064a\u066e-\u06d3", 0.3, "ar fa ku ps ug ur"),
        (r"\u0900-\u097f", 0.3, "hi mr ne"),
        (r"\u0980-\u09ff", 0.3, "as bn"),
    )
)
_LATIN = _languages(
    "af az ca cs cy da de en es et eu fi fr ga gl hr hu id is it la lt lv ms mt nl no pl pt ro sk sl sq sv "
    "sw tl tr vi"
)
_LETTERS_OF_A_WORD = 4
"""An ideograph counts as so many letters: it stands for a word."""

_ASCII = re.compile(r"[\x00-\x7f]+")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_SHARE = 0.2
_FEWEST_WORDS = 20
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_HEAD = 2000
_MIDDLE = 1000
_FEWEST_LETTERS = 10
_LONG = 20
"""Letters from which on statistics may decide without a function word."""
_SENTENCE = re.compile(
    r"[A-Z\u00c0-\u00de][^\s.]*(?: [^\s.]+)* [a-z\u00df-\u00ff]{3,}(?: [^\s.]+)*\.(?=\s|$)"
)
"""From a capital to a full stop, with a word in small letters between: prose, also without function words."""
_PROSE = 0.5
"""The confidence that is needed of such a sentence."""
_TITLE = 12
"""Words; more of them without a function word are no prose."""
_LEAST_CONFIDENCE = 0.3
_ALONE = 0.9
"""The confidence that is needed without function words; in other scripts than the Latin,"""
_ALONE_ELSEWHERE = 0.75
"""which code and tables are seldom in, it is this."""
_NO_LANGUAGE = frozenset({"zxx", "und", "mul"})


def detect_language(text: str) -> str | None:
    """Recognise the language of a text.

    Long texts are sampled: their first 2,000 characters, and 1,000 from the middle, because a document may
    begin with an English licence. Where neither the script nor English function words decide, py3langid's
    naive Bayes model over byte n-grams does (Lui and Baldwin, 2012), among the languages of the script and
    together with their function words; loading it takes about half a second and 80 MB, once.

    Args:
        text: any text; fewer than 10 letters are recognised by script only.

    Returns:
        ISO 639-1 code (639-3 where there is none), or None if that would be a guess.
    """
    parts = [text[:_HEAD]]
    if len(text) > _HEAD + _MIDDLE:
        parts.append(text[len(text) // 2 :][:_MIDDLE])
    sample = "\n".join(parts).encode("utf-8", "ignore").decode()  # lone surrogates are no letters
    candidates = _written_in(sample)
    if len(candidates) == 1:
        return candidates[0]
    letters = len(_LETTER.findall(sample))
    if letters < _FEWEST_LETTERS:
        return None
    if candidates is _LATIN and all(map(_is_english, parts)):
        return "en"
    own = sample if candidates is _LATIN else _ASCII.sub(" ", sample)  # words of programs tell nothing
    language, confidence = _classify(own, candidates)
    words = _WORD.findall(sample.lower())
    common = function_words().get(language, frozenset())
    if any(map(common.__contains__, words)):
        return language if confidence >= _LEAST_CONFIDENCE else None
    if candidates is not _LATIN:
        return language if confidence >= _ALONE_ELSEWHERE else None
    if letters < _LONG or len(words) > _TITLE:
        return None
    return language if confidence >= (_PROSE if _SENTENCE.match(sample) else _ALONE) else None


@cache
def function_words() -> Mapping[str, frozenset[str]]:
    """Language → words that its texts use, whatever they are about."""
    return {language: frozenset(words.split()) for language, words in read_data("function_words").items()}


def detect_script(text: str) -> str | None:
    """The language of a text whose script hardly any other uses (zh, ja, ko, …); else None."""
    languages = _written_in(text)
    return languages[0] if len(languages) == 1 else None


def _written_in(text: str) -> tuple[str, ...]:
    """The languages that are written in the script of a text."""
    beyond = _ASCII.sub("", text)
    if not beyond:
        return _LATIN
    letters = len(_LETTER.findall(text))
    for script, share, languages in _SCRIPTS:
        of_script = len(script.findall(beyond))
        more = (_LETTERS_OF_A_WORD - 1) * of_script if languages == ("zh",) else 0
        if letters and of_script + more >= share * (letters + more):
            return languages
    return _LATIN


def _is_english(text: str) -> bool:
    """Whether function words alone show that a text is English; False leaves it open."""
    words = _WORD.findall(text.lower())
    english_words = sum(map(word_list("language", "english").__contains__, words))
    return len(words) >= _FEWEST_WORDS and english_words >= _ENGLISH_SHARE * len(words)


def _classify(sample: str, candidates: Collection[str]) -> tuple[str, float]:
    import py3langid

    ranked = [(name, score) for name, score in py3langid.rank(sample) if name in candidates]
    # softmax of the log-likelihoods, tempered by length: their spread grows with it, certainty does not
    temperature = math.sqrt(len(sample.encode()))
    best = ranked[0][1]
    return ranked[0][0], 1 / sum(math.exp((score - best) / temperature) for _, score in ranked)


def normalise_tag(tag: str | None) -> str | None:
    """A declared language as BCP 47 writes it (`EN_us` → `en-US`), or None for an invalid one."""
    cleaned = (tag or "").strip().replace("_", "-")
    if not _TAG.fullmatch(cleaned) or cleaned[:3].lower() in _NO_LANGUAGE:
        return None
    first, *subtags = cleaned.split("-")
    sized = {2: str.upper, 4: str.title}  # region, script
    return "-".join([first.lower(), *(sized.get(len(part), str.lower)(part) for part in subtags)])
