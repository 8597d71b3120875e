"""Finding names in a text: capitalised spans, quoted titles, and the names of a dictionary.

Retrieval walks from mention to mention, so documents and questions are read in the same way. Only Chinese
needs a tagger. Dates and bare numbers are not mentions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from graphrag_rdf.documents.model import Sentence

from .chinese import names_in
from .lexicon import base_language, read_table, stopwords
from .model import Mention
from .names import CJK, WORD, Word, has_capitals, is_acronym, is_chinese, match_key, mostly_cjk, words_of
from .numbers import month_words

_QUOTED = re.compile(r"“([^“”\n]{2,80})”|\"([^\"\n]{2,80})\"|„([^„“”\n]{2,80})[“”]|«\s?([^«»\n]{2,80}?)\s?»")
_CJK_QUOTED = re.compile(
    r"《([^《》\n]{1,60})》|「([^「」\n]{1,60})」|『([^『』\n]{1,60})』|【([^【】\n]{1,60})】"
)
_LATIN_IN_CJK = re.compile(r"[A-Za-zÀ-ɏ][0-9A-Za-zÀ-ɏ]*(?:[ .&'’+-][0-9A-Za-zÀ-ɏ]+)*[+#]*")
_YEAR = re.compile(r"(?:1\d|20|21)\d\d$")
_JOINERS = re.compile(r"[ \u00a0]|[ \t]*\r?\n[ \t]*")  # one space, or one line end
_CONTRACTED = re.compile(r"n?['’](?:ll|re|ve|d|m|t|s)$")
_BRACKETED = re.compile(r"\s*\([^()]*\)$")
_ROMAN = re.compile(r"[IVXL]+$")
_NUMBER = re.compile(r"\d+[A-Z]?")
_TELLING = 3  # characters of a Chinese name that is found again without what is beside it


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    table = read_table("names")
    words = {name: frozenset(value.split()) for name, value in table["particles"].items()}
    return words | {f"german_{name}": frozenset(value.split()) for name, value in table["german"].items()}


@lru_cache(maxsize=1)
def _amount() -> re.Pattern[str]:
    """What goes on after the first digits of a number that is no part of a name: 12,400 or 12 crowns."""
    units = read_table("dates")["other"]["units"].split()
    long = "|".join(re.escape(unit) for unit in units if len(unit) > 3)  # no “Team 1 v Team 2”
    return re.compile(rf"[,\u00a0\u202f]\d|\s?%|\s(?:{long})\b")


def find_mentions(
    text: str,
    sentences: Sequence[Sentence],
    *,
    language: str | None,
    names: Iterable[str] | Gazetteer = (),
    title: str | None = None,
) -> tuple[Mention, ...]:
    """The mentions of a text, in text order, not overlapping.

    Names of the dictionary win over capitalised spans that they contain or equal, and the other way
    round for spans that contain them; the longest reaches furthest.

    Args:
        text: a chunk's text, or a question.
        sentences: its sentences; spans do not cross them.
        language: BCP 47. Chinese has names of its own kind (`chinese`). Without capitals (Japanese, Korean,
            lower-case text) only the dictionary, quoted titles and Latin words name things.
        names: known names; pass a `Gazetteer` when there are many and several texts.
        title: the document's title; its words are trusted as names at sentence starts.
    """
    gazetteer = names if isinstance(names, Gazetteer) else Gazetteer(names)
    chinese = is_chinese(text, language)
    mentions = [*_quoted_titles(text)]
    words = words_of(text)
    if chinese or mostly_cjk(text):
        mentions += _latin_in_cjk(text)
    elif has_capitals(text):
        lines = _lines(text, sentences, words)
        mentions += _capitalised(text, lines, base_language(language) or "en", title)
    mentions += gazetteer.find(text, words)
    if chinese:
        mentions += _chinese(text, sentences)
    if title:
        mentions += _titles(text, title)
    return _longest_apart(mentions)


@lru_cache(maxsize=256)
def _title_pattern(title: str) -> re.Pattern[str] | None:
    """Finds the title without the part in brackets that tells homonyms apart: `Lilu (mythology)`.

    One word is left to the capitals, and a title as long as a sentence is no name.
    """
    words = _BRACKETED.sub("", title).split()
    if not 2 <= len(words) <= 12:
        return None
    return re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)", re.IGNORECASE)


def _titles(text: str, title: str) -> list[Mention]:
    pattern = _title_pattern(title)
    if pattern is None:
        return []
    return [Mention(m.start(), len(m.group()), " ".join(m.group().split())) for m in pattern.finditer(text)]


def _lines(text: str, sentences: Sequence[Sentence], words: list[Word]) -> list[list[Word]]:
    """The words of each sentence; read again if the sentence does not stand between white space."""
    lines = []
    for sentence in sentences:
        start, end = sentence.offset, sentence.offset + sentence.length
        if (start == 0 or text[start - 1].isspace()) and (end >= len(text) or text[end].isspace()):
            lines.append(words[bisect_left(words, (start,)) : bisect_left(words, (end,))])
        else:
            lines.append(words_of(text, start, end))
    return lines


def _quoted_titles(text: str) -> list[Mention]:
    titles = []
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 1
        inner = match.group(group)
        clean = inner.rstrip(",.;: ")
        words = clean.split()
        # a title begins with a capital and is short; a sentence is not
        speech = clean[-1:] in {"!", "?"} or "I" in words
        if (
            not speech
            and clean[:1].isupper()
            and len(words) <= 8
            and sum(w[0].isupper() for w in words) * 2 >= len(words)
        ):
            titles.append(Mention(match.start(group), len(clean), clean))
    for match in _CJK_QUOTED.finditer(text):
        group = match.lastindex or 1
        titles.append(Mention(match.start(group), len(match.group(group)), match.group(group)))
    return [mention for mention in titles if mention.name.strip() == mention.name]


def _latin_in_cjk(text: str) -> list[Mention]:
    """Latin words among CJK characters: names of things, mostly (`DNA`, `iPhone 15`)."""
    return [
        Mention(match.start(), len(match.group()), match.group())
        for match in _LATIN_IN_CJK.finditer(text)
        if len(match.group()) > 1 and not match.group().islower()
    ]


def _chinese(text: str, sentences: Sequence[Sentence]) -> Iterator[Mention]:
    """The names in the sentences, and each longer one wherever else it stands: what is once told by the words
    beside it (船长赵永年) is later named alone.
    """
    again: dict[str, None] = {}
    for sentence in sentences:
        words = text[sentence.offset : sentence.offset + sentence.length]
        for name in names_in(words):
            surface = words[name.start : name.end]
            yield Mention(sentence.offset + name.start, len(surface), surface)
            if len(surface) >= _TELLING:
                again[surface] = None
    if again:
        longest_first = sorted(again, key=len, reverse=True)
        for match in re.finditer("|".join(map(re.escape, longest_first)), text):
            yield Mention(match.start(), len(match.group()), match.group())


def _capitalised(
    text: str, lines: Sequence[Sequence[Word]], language: str, title: str | None
) -> list[Mention]:
    table = _table()
    if language == "de":
        table = table | {"inside": table["inside"] - table["german_not_inside"]}
    stop = stopwords(language)
    trusted = {word.lower for word in words_of(title)} if title else set()
    inner = {word.lower for words in lines for word in words[1:] if word.capital}
    lower = {word.lower for words in lines for word in words if not word.capital}
    mentions: list[Mention] = []
    for words in lines:
        capitals = [word for word in words if word.capital]
        if not capitals:
            continue
        shouting = sum(word.text.isupper() for word in capitals) * 2 > len(words) > 3
        for first, last in _runs(words, text, table):
            first_, last_ = _trim(words, first, last, stop, table)
            span = words[first_ : last_ + 1]
            if not span or (shouting and all(word.text.isupper() for word in span)):
                continue
            if len(span) == 1 and not _names_something(
                span[0], words, first_, language, trusted | inner, lower, table
            ):
                continue
            start, end = span[0].start, span[-1].end
            mentions.append(Mention(start, end - start, " ".join(text[start:end].split())))
    return mentions


def _runs(words: Sequence[Word], text: str, table: dict[str, frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Maximal runs of capitalised words with particles and numbers between or after them."""
    position, count = 0, len(words)
    while position < count:
        if not words[position].capital:
            position += 1
            continue
        last = position
        while True:
            reach = _next_in_run(words, position, last, text, table)
            if reach is None:
                break
            last = reach
        start = position
        # "the 2018 Winter Olympics": a year before the name belongs to it after an article
        before = position - 1
        if (
            before >= 1
            and (last > position or not words[position].lower.endswith(tuple(table["demonym_endings"])))
            and _YEAR.match(words[before].text)
            and words[before - 1].lower in table["articles"]
            and _joined(text, words[before], words[position])
        ):
            start = before
        yield start, last
        position = last + 1


def _next_in_run(
    words: Sequence[Word], first: int, last: int, text: str, table: dict[str, frozenset[str]]
) -> int | None:
    """Index of the next word that continues the run from `first` to `last`, or None."""
    here = last + 1
    if here >= len(words):
        return None
    word = words[here]
    if not _joined(text, words[last], word, table["abbreviations"]):
        gap = text[words[last].end : word.start]
        inner = words[last].lower in table["possessive_heads"] and gap in {"'s ", "’s "} and word.capital
        return here if inner else None
    if word.capital:
        return here
    if _NUMBER.fullmatch(word.text):
        return None if _YEAR.fullmatch(word.text) or _amount().match(text, word.end) else here
    if word.lower == "of" and here + 1 < len(words) and _YEAR.match(words[here + 1].text):
        # "the Judiciary Act of 1869"
        return here + 1 if _joined(text, word, words[here + 1]) else None
    heads = table["for_heads"]
    person = word.lower == "of" and last > first and words[last].lower not in heads
    if person and not heads.isdisjoint(_run_after(words, here, text)):
        return None  # "Jan Solovej of the University of Copenhagen"
    headed = any(w.lower in heads for w in words[max(first, last - 3) : here])
    if word.lower == "and" and first and words[first - 1].lower == "the" and not headed:
        following = _run_after(words, here, text)  # "the Securities and Exchange Commission"
        headed = len(following) > 1 and following[-1] in heads
    steps = (word.lower in table["inside"]) or (word.lower in table["joining"] and headed)
    if not steps:
        return None
    after = here + 1
    article = after < len(words) and words[after].lower in table["second"]
    if article and word.lower not in table["joining"] and not words[after].capital:
        after += 1
    if (
        after < len(words)
        and words[after].capital
        and all(_joined(text, a, b) for a, b in pairwise(words[here : after + 1]))
    ):
        return after
    return None


def _run_after(words: Sequence[Word], joiner: int, text: str) -> list[str]:
    """The capitalised words after "and", "of" or "of the", in lower case."""
    last = joiner + (joiner + 1 < len(words) and words[joiner + 1].lower == "the")
    following = []
    while last + 1 < len(words) and words[last + 1].capital and _joined(text, words[last], words[last + 1]):
        last += 1
        following.append(words[last].lower)
    return following


def _joined(text: str, before: Word, after: Word, abbreviations: frozenset[str] = frozenset()) -> bool:
    """Whether only a space (or the full stop of an initial or abbreviation) stands between two words."""
    gap = text[before.end : after.start]
    if gap[:1] == "." and (len(before.text) == 1 or before.lower in abbreviations):
        gap = gap[1:]
        if not gap:
            return True
    return _JOINERS.fullmatch(gap) is not None or gap in {" & ", "+"}


def _trim(
    words: Sequence[Word], first: int, last: int, stop: frozenset[str], table: dict[str, frozenset[str]]
) -> tuple[int, int]:
    """Cuts stop words, articles and months off both ends of a run."""
    months = month_words()
    while first <= last and (
        words[first].lower in table["articles"]
        or (
            # inside a sentence a capital on a word like "very" has no reason but a name: "Very Bad Day"
            (first in (0, last) or words[first].lower not in table["opening"])
            and _CONTRACTED.sub("", words[first].lower) in stop
            and not is_acronym(words[first].text)
        )
        or (
            words[first].lower.removesuffix("s") in months
            and words[first].capital
            and (first == last or words[first + 1].text.isdigit() or words[first + 1].lower in months)
        )
    ):
        first += 1
    while (
        first <= last
        and (words[last].lower in stop or words[last].lower in months)
        and not is_acronym(words[last].text)
        and not (last > first and _ROMAN.match(words[last].text))  # "Nicholas I"
    ):
        if words[last].lower in months and last > first:
            break
        last -= 1
    if first <= last and all(word.text.isdigit() for word in words[first : last + 1]):
        return 1, 0
    return first, last


def _names_something(
    word: Word,
    words: Sequence[Word],
    index: int,
    language: str,
    seen: set[str],
    lower: set[str],
    table: dict[str, frozenset[str]],
) -> bool:
    """Whether a single capitalised word is a name rather than a common word with a capital."""
    if len(word.text) == 1 or _NUMBER.fullmatch(word.text):
        return False
    if is_acronym(word.text):
        return not (_ROMAN.match(word.text) and len(word.text) < 4)
    if language == "de":
        before = words[index - 1].lower if index else ""
        common = (
            before in table["german_determiners"]
            or (
                index > 0
                and not words[index - 1].capital
                and len(before) > 4
                and before.endswith(tuple(table["german_adjective_endings"]))
            )
            or word.lower.endswith(tuple(table["german_endings"]))
        )
        return not common
    return bool(index) or word.lower in seen or word.lower not in lower


def _longest_apart(mentions: list[Mention]) -> tuple[Mention, ...]:
    """The longest of overlapping mentions; of equal spans the one added last (the dictionary's)."""
    ranked = sorted(enumerate(mentions), key=lambda item: (-item[1].length, item[1].offset, -item[0]))
    taken: list[Mention] = []
    covered: set[int] = set()
    for _, mention in ranked:
        span = range(mention.offset, mention.offset + mention.length)
        if mention.length and covered.isdisjoint(span):
            covered.update(span)
            taken.append(mention)
    return tuple(sorted(taken, key=lambda mention: mention.offset))


# --- dictionary ----------------------------------------------------------------------------------------


class Gazetteer:
    """A dictionary of names that finds its entries in texts, longest first.

    Names of several words are found in any case, single words as they are written (`May` is not
    `may`) unless the text has no capitals at all; names in CJK scripts are found as substrings.

    Args:
        names: surface forms.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: dict[tuple[str, ...], str] = {}
        self._longest: dict[str, int] = {}  # first word -> number of words of the longest name with it
        substrings: set[str] = set()
        for name in filter(None, map(str.strip, names)):
            words = tuple(match.group().lower() for match in WORD.finditer(name))
            if CJK.search(name):
                substrings.add(name)
            elif words:
                # of two spellings of the same words the first in code point order, whatever the input's order
                self._names[words] = min(name, self._names.get(words, name))
                self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))
        longest_first = sorted(substrings, key=lambda item: (-len(item), item))
        self._substrings = re.compile("|".join(map(re.escape, longest_first))) if substrings else None

    def find(self, text: str, words: Sequence[Word] | None = None) -> list[Mention]:
        """All longest entries in `text`, left to right; `words` are its words, if they are known."""
        mentions: list[Mention] = []
        if self._names:
            words = words_of(text) if words is None else words
            any_case = not has_capitals(text)
            after = 0
            for position, word in enumerate(words):
                if position < after or word.lower not in self._longest:
                    continue
                for length in range(min(self._longest[word.lower], len(words) - position), 0, -1):
                    name = self._names.get(tuple(part.lower for part in words[position : position + length]))
                    if name is not None and (length > 1 or any_case or word.text == name or name.islower()):
                        after = position + length
                        mentions.append(Mention(word.start, words[after - 1].end - word.start, name))
                        break
        if self._substrings:
            mentions += [
                Mention(match.start(), len(match.group()), match.group())
                for match in self._substrings.finditer(text)
            ]
        return mentions


class Synonyms:
    """A dictionary of synonyms, prepared once for all chunks.

    Args:
        names: surface form → the name that it stands for.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.source = names
        self.canonical = {match_key(surface): name for surface, name in names.items()}
        self.gazetteer = Gazetteer([*names, *names.values()])

    def name_of(self, name: str) -> str:
        """The name that stands for a name; itself if it is no synonym."""
        return self.canonical.get(match_key(name), name)
