"""Parts of speech by HanTa (LGPL-3.0-or-later; English, German, Dutch).

HanTa: C. Wartena (2019), "A Probabilistic Morphology Model for German Lemmatization", KONVENS. A model is
loaded once per process, at first use, in about 0.15 s; tagging only reads it, so threads share it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

from .lexicon import TAGGED_LANGUAGES, base_language
from .numbers import month_words

_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
# the analysis of an unknown word takes time that grows with the square of its length
_LONGEST_WORD = 32
_CACHED_WORDS = 50_000
_NAME_TAGS = ("NP0", "NE", "N(eigen", "SPEC", "UNKNOWN")  # English, German, Dutch
_HARDLY = 4.0  # by how much the logarithm of another tag is greater than that of a name
_GUESSED = -20.0  # the logarithm is less if the model guesses by the letters alone
_DERIVED = 8
_SUFFIXES = ("tion", "tions", "ment", "ments", "ness", "ity", "ities", "ology", "ism", "ive", "ives", "able")
_START = 1  # the model's number for the state before a sentence
_BEAM = 5  # states followed beyond the best ones, as in HanTa's decoder
_FLOOR = -1e6

_TOKEN = re.compile(
    r"(?:[A-Z]\.){2,}"  # U.S.
    r"|\d+(?:[.,:]\d+)*(?:st|nd|rd|th|s)?(?![^\W\d_])"
    r"|[^\W\d_]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b"
    r"|[ODLodl]['’][^\W\d_]{3,}"  # O'Brien, d'Artagnan, o'clock
    r"|[^\W_]+(?:[-‐‑&./_][^\W_]+)*"
    r"|--+|\.{3}|[^\w\s]|_"
)
_QUOTE_MARKS = str.maketrans("’‘“”„«»–", '\'\'"""""-')


class Tagger:
    """A part-of-speech tagger of one language; get it from `tagger_for`.

    Args:
        language: one of `TAGGED_LANGUAGES`.
    """

    def __init__(self, language: str) -> None:
        from HanTa.HanoverTagger import HanoverTagger

        self.language = language
        self._model: Any = HanoverTagger(_MODELS[language])
        # words recur: what each can be is worked out once
        self._candidates = lru_cache(maxsize=_CACHED_WORDS)(self._tags_of)
        self._common = lru_cache(maxsize=_CACHED_WORDS)(self._is_common)

    def tag_words(self, tokens: Sequence[str]) -> list[str]:
        """The part of speech of each word.

        Args:
            tokens: the words and marks of one sentence, none empty.

        Returns:
            a tag of the model's tag set for each token.
        """
        words = [token[-_LONGEST_WORD:].translate(_QUOTE_MARKS) for token in tokens]
        return self._best_path(words) if words else []

    def is_common(self, word: str) -> bool:
        """Whether a word is hardly ever a name in the language, so that its capital alone means nothing.

        Args:
            word: as written; of a compound with hyphens, the last part counts.
        """
        month = word.lower().removesuffix("s") in month_words()
        return word.isdigit() or month or self._common(word.rsplit("-", 1)[-1])

    def is_name(self, word: str) -> bool:
        """Whether the model knows a word as a name."""
        known = self._model.cache.get(self._model.normalize(word), ())
        return any(self._model.int2tag[tag].startswith(_NAME_TAGS) for tag, _ in known)

    def may_name(self, word: str) -> bool:
        """Whether the model knows a word as a name, or does not know it."""
        if self.is_name(word) or not word.isalpha():
            return True
        return all(p < _GUESSED for _, p in self._candidates(word[-_LONGEST_WORD:], False))

    def _is_common(self, word: str) -> bool:
        cache, plain = self._model.cache, self._model.normalize(word)
        known = cache.get(plain) or cache.get(plain.removesuffix("s"), ())
        if not known and self.language == "en":
            return self._is_derived(word)
        least = max((p for _, p in known), default=0.0) - _HARDLY
        return bool(known) and not any(
            p > least and self._model.int2tag[tag].startswith(_NAME_TAGS) for tag, p in known
        )

    def _is_derived(self, word: str) -> bool:
        """Whether a word that is unknown to the model is an adjective, or derived from known words."""
        found = sorted(self._candidates(word[-_LONGEST_WORD:], False), key=lambda item: -item[1])
        if not found or not word.isalpha():
            return False
        tag, guessed = str(self._model.int2tag[found[0][0]]), found[0][1] < _GUESSED
        long = len(word) >= _DERIVED and (word.endswith(_SUFFIXES) or (tag.startswith("VV") and not guessed))
        return tag != "UNC" and not tag.startswith(_NAME_TAGS) and (long or (tag == "AJ0" and not guessed))

    def _tags_of(self, word: str, inner: bool) -> list[tuple[int, float]]:
        """The tags that a word can have, with log-probabilities; none if the model knows nothing of it.

        Args:
            inner: it does not begin its sentence, so a capital tells something.
        """
        found = self._model._tag_word(word, cutoff=5, casesensitive=inner, conditional=True)
        unknown = self._model.tag2int["UNKNOWN"]
        return [(tag, p) for tag, p in found if tag != unknown]

    def _best_path(self, words: Sequence[str]) -> list[str]:
        """Viterbi decoding of the model's second-order HMM.

        Gives the tags that HanTa's own decoder gives, four times faster: it tries the few tags that a word
        can have rather than all of the tag set. A state is the pair (tag before, tag).
        """
        model = self._model
        start = (model.tag2int["EMPTY"], _START)
        row: dict[tuple[int, int], float] = {start: 0.0}
        back: list[dict[tuple[int, int], tuple[int, int]]] = []
        all_transitions = model.LP_trans_word
        for position, word in enumerate(words):
            candidates = self._candidates(word, position > 0)
            if not candidates:  # a word that the model can say nothing about: every tag is possible
                return list(model.tag_sent(words, taglevel=0))
            bound = sorted(row.values(), reverse=True)[_BEAM] - 1 if len(row) > _BEAM else _FLOOR
            following: dict[tuple[int, int], float] = {}
            origin: dict[tuple[int, int], tuple[int, int]] = {}
            for state, score in row.items():
                if score < bound:
                    continue
                transitions = all_transitions[state]
                before = state[1]
                for tag, p in candidates:
                    if tag not in transitions:
                        continue
                    total = score + transitions[tag] + p
                    target = (before, tag)
                    if total > following.get(target, _FLOOR):
                        following[target] = total
                        origin[target] = state
            if not following:
                return list(model.tag_sent(words, taglevel=0))
            back.append(origin)
            row = following
        end = model.tag2int["END"]
        state = max(row, key=lambda item: row[item] + model.LP_trans_word[item].get(end, _FLOOR))
        path = []
        for origin in reversed(back):
            path.append(model.int2tag[state[1]])
            state = origin[state]
        return path[::-1]


_LOCK = Lock()
_TAGGERS: dict[str, Tagger] = {}


def tagger_for(language: str | None) -> Tagger | None:
    """The tagger of a language, loaded at first use; None if there is none.

    Args:
        language: BCP 47; only the primary subtag counts.
    """
    base = base_language(language)
    if base not in TAGGED_LANGUAGES:
        return None
    with _LOCK:
        if base not in _TAGGERS:
            _TAGGERS[base] = Tagger(base)
    return _TAGGERS[base]


def tokenise(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Words and marks as (start, end) in `text`; clitics such as `'s` and `n't` stand alone.

    Args:
        text: running text.
        start: where to begin.
        end: where to stop; the end of the text if None.
    """
    return [match.span() for match in _TOKEN.finditer(text, start, len(text) if end is None else end)]
