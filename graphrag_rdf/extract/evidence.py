"""Finding a quote in a text, or the sentence of a fact without a quote.

A span is found exactly, or after folding both sides (white space, hyphens, quotation marks, case, width)
with a map back to the text, or by approximate matching above a threshold. Nothing else gets offsets.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from typing import Literal

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.llm.model import FENCE

from .lexicon import all_stopwords

Method = Literal["exact", "normalised", "fuzzy"]

MIN_SCORE = 0.85
"""Least similarity (normalised indel, 0 to 1) of an approximate match."""
_MIN_FUZZY = 12  # folded characters; shorter quotes match something anywhere


@dataclass(frozen=True, slots=True)
class Located:
    """A place in a text.

    Args:
        offset: start, code points.
        length: code points.
        method: how it was found.
        score: similarity, 0 to 1; 1 for exact and normalised matches.
    """

    offset: int
    length: int
    method: Method
    score: float


def locate(quote: str, text: str) -> Located | None:
    """The span of `text` that `quote` repeats.

    Ellipses stand for left-out text: the span then reaches from the first fragment to the last if all
    are found in order, else it is that of the longest fragment that is found.

    Args:
        quote: as a model or a person repeats it.
        text: the chunk's text.

    Returns:
        the span, or None if nothing is close enough.
    """
    needle = quote.strip()
    if not needle:
        return None
    exact = _exact(needle, text)
    if exact is not None:
        return exact
    parts = _ELLIPSIS.split(needle) if any(mark in needle for mark in _ELLIPSES) else [needle]
    fragments = [part for part in parts if _TWO_LETTERS(part)]
    if len(fragments) > 1:
        return _locate_fragments(fragments, text)
    return _locate_plain(fragments[0], text) if fragments else None


def locate_by_content(
    quote: str | None,
    subject: str,
    predicate: str,
    object: str,  # noqa: A002 - it is the object of the triple
    text: str,
    sentences: Sequence[Sentence],
    *,
    topic: str | None = None,
) -> Located | None:
    """The sentence that says a fact whose quote is missing, or not in the text.

    It is the sentence, or two neighbouring ones, with most of the quote's words, if these are at least
    three in five; else what `locate_fact` finds.

    Args:
        quote: as the model gave it, if it gave one.
        subject, predicate, object, text, sentences, topic: see `locate_fact`.
    """
    wanted = _words_of(quote) if quote else frozenset()
    if len(wanted) > 1:
        words = [_words_of(text[s.offset : s.offset + s.length]) for s in sentences]
        for count in (1, 2):
            groups = zip(*(words[first:] for first in range(count)), strict=False)
            shared = [len(wanted & frozenset().union(*group)) for group in groups]
            best = max(range(len(shared)), key=lambda i: (shared[i], -i), default=None)
            if best is not None and shared[best] >= _SHARED * len(wanted):
                return _sentences_at(sentences, best, count, round(shared[best] / len(wanted), 4))
    return locate_fact(subject, predicate, object, text, sentences, topic=topic)


def locate_fact(
    subject: str,
    predicate: str,
    object: str,  # noqa: A002 - it is the object of the triple
    text: str,
    sentences: Sequence[Sentence],
    *,
    topic: str | None = None,
) -> Located | None:
    """The sentence, or the two neighbouring sentences, that a fact without a quote rests on.

    The smallest such place wins, in this order: subject and object in one sentence; the object where
    the subject is the topic or a pronoun; both in two neighbouring sentences; the words of the object and of
    the predicate, in any order.

    Args:
        subject: as in the triple.
        predicate: as in the triple.
        object: as in the triple.
        text: the chunk's text.
        sentences: its sentences.
        topic: the document's title: what sentences without a subject of their own are about.

    Returns:
        the place, with a score that says how much of the fact it holds, or None.
    """
    subject_folded, object_folded = _fold(subject).text.strip(), _fold(object).text.strip()
    if not subject_folded or not object_folded:
        return None
    folded = [_fold(text[s.offset : s.offset + s.length]).text for s in sentences]
    words = [_content_words(line) for line in folded]
    names_object = _holding(folded, object_folded)
    names_subject = _holding(folded, subject_folded)
    about = {subject_folded, _TRAILING_BRACKET.sub("", subject_folded)}
    silent = subject_folded in _PRONOUNS or (topic is not None and _fold(topic).text.strip() in about)
    if topic is not None and not silent:
        silent = _TRAILING_BRACKET.sub("", _fold(topic).text.strip()) in about
    predicate_words = _content_words(_fold(predicate).text)
    object_words, subject_words = _content_words(object_folded), _content_words(subject_folded)

    def best(candidates: list[int]) -> int:
        """Of several sentences, the first that has most of the predicate's words."""
        return max(candidates, key=lambda i: (len(predicate_words & words[i]), -i))

    both = [i for i in range(len(folded)) if names_object[i] and names_subject[i]]
    if both:
        return _sentences_at(sentences, best(both), 1, 1.0)
    holding = [i for i, there in enumerate(names_object) if there]
    if silent and holding:
        return _sentences_at(sentences, best(holding), 1, 0.95)
    for i in range(len(folded) - 1):
        if (names_subject[i] and names_object[i + 1]) or (names_object[i] and names_subject[i + 1]):
            return _sentences_at(sentences, i, 2, 0.9)
    naming = [i for i in holding if _most(subject_words, words[i]) or predicate_words & words[i]]
    if naming:
        return _sentences_at(sentences, best(naming), 1, 0.85)
    loose = [
        i
        for i, line in enumerate(words)
        if _most(object_words, line) and (silent or names_subject[i] or _most(subject_words, line))
    ]
    if loose:
        return _sentences_at(sentences, best(loose), 1, 0.8)
    for i, (first, second) in enumerate(pairwise(words)):
        if _most(object_words, first | second) and (names_subject[i] or names_subject[i + 1]):
            return _sentences_at(sentences, i, 2, 0.75)
    return None


_ELLIPSIS = re.compile(r"\s*(?:…|\.{3,}|\. \. \.|\[\s*(?:…|\.{3})\s*\])\s*")
_ELLIPSES = ("…", "...", ". . .")  # one of them is in each
_TRAILING_BRACKET = re.compile(r"\s*\([^()]*\)$")
_PRONOUNS = frozenset(["he", "she", "it", "they", "this", "that", "these", "those"])
_WORDS = re.compile(r"\w+")
_HAN = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]+")
_SHARED = 0.6  # of the words of a quote
_WORDS_BETWEEN = re.compile(r"(\w+)")
_TWO_LETTERS = re.compile(r"[^\W_].*?[^\W_]", re.DOTALL).search


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _find(needle: str, text: str) -> tuple[int, bool]:
    """The first occurrence that begins and ends at word boundaries, or the first at all, and which it is."""
    first = start = text.find(needle)
    while start >= 0:
        if _on_boundaries(text, start, start + len(needle)):
            return start, True
        start = text.find(needle, start + 1)
    return first, False


def _exact(needle: str, text: str) -> Located | None:
    start, _ = _find(needle, text)
    return Located(start, len(needle), "exact", 1.0) if start >= 0 else None


def _on_boundaries(text: str, start: int, end: int) -> bool:
    inside_left = start > 0 and text[start - 1].isalnum() and text[start : start + 1].isalnum()
    inside_right = end < len(text) and text[end - 1].isalnum() and text[end].isalnum()
    return not (inside_left or inside_right)


def _locate_fragments(fragments: list[str], text: str) -> Located | None:
    places: list[Located] = []
    position = 0
    for fragment in fragments:
        place = _locate_plain(fragment, text[position:])
        if place is None:
            places = []
            break
        places.append(replace(place, offset=place.offset + position))
        position = places[-1].offset + places[-1].length
    if places:
        start = places[0].offset
        score = min(place.score for place in places)
        return Located(start, position - start, "fuzzy" if score < 1 else "normalised", score)
    longest = max(fragments, key=len)
    return _locate_plain(longest, text) if _letters(longest) >= _MIN_FUZZY else None


def _locate_plain(needle: str, text: str) -> Located | None:
    return _exact(needle.strip(), text) or _locate_one(needle, text)


def _locate_one(needle: str, text: str) -> Located | None:
    """By folding, then approximately."""
    haystack = _fold(text)
    folded = _EDGE.sub("", _fold(needle).text)
    if not _TWO_LETTERS(folded):
        return None
    start, whole = _find(folded, haystack.text)
    if start >= 0 and (whole or len(folded) >= _MIN_FUZZY):
        offset, end = haystack.span(start, start + len(folded))
        return Located(offset, end - offset, "normalised", 1.0)
    return _fuzzy(folded, haystack, text)


def _fuzzy(needle: str, haystack: _Folded, text: str) -> Located | None:
    """Approximate match by rapidfuzz around the place that shares most words with the quote."""
    if len(needle) < _MIN_FUZZY or len(needle) > len(haystack.text) * 1.1:
        return None
    window = _window(needle, haystack.text)
    if window is None:
        return None
    from rapidfuzz import fuzz

    low, high = window
    match = fuzz.partial_ratio_alignment(needle, haystack.text[low:high], score_cutoff=100 * MIN_SCORE)
    if match is None or match.dest_end - match.dest_start < 0.7 * len(needle):
        return None
    offset, end = haystack.span(low + match.dest_start, low + match.dest_end)
    offset, end = _snap(text, offset, end)
    return Located(offset, end - offset, "fuzzy", round(match.score / 100, 4))


def _window(needle: str, haystack: str) -> tuple[int, int] | None:
    """The stretch of `haystack`, some larger than the quote, where most words of it stand together.

    Every word of the quote votes for where the quote would begin; the fullest neighbourhood wins. Text that
    shares under a third of the words is not searched at all.
    """
    words = list(_placed_words(needle))
    places = _word_places(haystack)
    votes = sorted([place - at for word, at in words for place in places.get(word, ())])
    slack = max(20, len(needle) // 4)
    # a window that only grows: it slides on by one vote where it would become too wide
    low = best_start = 0
    for vote in votes:
        if vote - votes[low] > slack:
            low += 1
        else:
            best_start = votes[low]
    if not votes or (len(votes) - low) * 3 < len(words):
        return None
    return max(0, best_start - slack), min(len(haystack), best_start + len(needle) + 2 * slack)


@lru_cache(maxsize=8)
def _word_places(haystack: str) -> Mapping[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for word, start in _placed_words(haystack):
        places[word].append(start)
    return places


def _placed_words(text: str) -> Iterator[tuple[str, int]]:
    """Words with their offsets: in bulk, as a match object for each word costs more than all the rest."""
    parts = _WORDS_BETWEEN.split(text)
    return zip(parts[1::2], islice(accumulate(map(len, parts), initial=0), 1, None, 2), strict=False)


def _snap(text: str, start: int, end: int) -> tuple[int, int]:
    """Widens a span to whole words and takes white space off its ends."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


_EDGE = re.compile(r"^[^\w]+|[^\w]+$")
_HYPHENS = frozenset("-‐‑‒–—―−\u00ad")
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff")
_SINGLE = frozenset("'’‘‚‛`´′")
_DOUBLE = frozenset('"“”„‟«»″〝〞')


@dataclass(frozen=True, slots=True)
class _Folded:
    """A folded text and, for each of its characters, where it came from.

    Args:
        text: folded.
        places: offset in the source of each folded character.
    """

    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self.places[start], self.places[end - 1] + 1


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if character in _HYPHENS or character in _INVISIBLE:
        return ""
    if character in _SINGLE:
        return "'"
    if character in _DOUBLE:
        return '"'
    if character.isspace():
        return " "
    if character == FENCE:
        return "<"
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())


@lru_cache(maxsize=512)
def _fold(text: str) -> _Folded:
    """Folds white space, hyphens (gone, with a line end after them), quotation marks, case and width."""
    folded: list[str] = []
    places = array("L")
    after_hyphen = False
    for place, source in enumerate(text):
        character = _fold_character(source)
        if not character:
            after_hyphen = source in _HYPHENS
            continue
        if character == " " and ((after_hyphen and source in "\r\n") or folded[-1:] == [" "]):
            continue
        after_hyphen = after_hyphen and character == " "
        folded.append(character)
        places.extend([place] * len(character))
    return _Folded("".join(folded), places)


def _holding(lines: Sequence[str], phrase: str) -> list[bool]:
    """Which lines hold a phrase; none if it has no letters."""
    clean = _EDGE.sub("", phrase)
    return [bool(clean) and _holds(line, clean) for line in lines]


def _holds(line: str, clean: str) -> bool:
    start = line.find(clean)
    while start >= 0:
        if _on_boundaries(line, start, start + len(clean)) or not clean.isascii():
            return True
        # plural and possessive of the same word
        tail = line[start + len(clean) : start + len(clean) + 2]
        if _on_boundaries(line, start, start + 1) and tail[:1] == "s" and not tail[1:2].isalnum():
            return True
        start = line.find(clean, start + 1)
    return False


@lru_cache(maxsize=512)  # the sentences of a chunk are asked about each of its facts
def _content_words(folded: str) -> frozenset[str]:
    """Words without stop words, cut to six characters so that inflected forms meet."""
    words = _WORDS.findall(folded)
    return frozenset(word[:6] for word in words if word not in all_stopwords()) or frozenset(words)


@lru_cache(maxsize=512)
def _words_of(text: str) -> frozenset[str]:
    """Content words, and pairs of characters of scripts that put no space between words."""
    folded = _fold(text).text
    pairs = {run[i : i + 2] for run in _HAN.findall(folded) for i in range(max(1, len(run) - 1))}
    unpaired = _HAN.sub(" ", folded)
    return _content_words(unpaired) | pairs if unpaired.strip() else frozenset(pairs)


def _most(wanted: frozenset[str], there: frozenset[str]) -> bool:
    return bool(wanted) and len(wanted & there) * 3 >= len(wanted) * 2


def _sentences_at(sentences: Sequence[Sentence], first: int, count: int, score: float) -> Located:
    start, last = sentences[first], sentences[first + count - 1]
    return Located(
        start.offset, last.offset + last.length - start.offset, "normalised" if score == 1 else "fuzzy", score
    )
