"""Chinese words and names, by the segmentation and parts of speech of jieba (`rjieba`, MIT).

The dictionary is loaded at first use, in about 0.2 s. It is of simplified characters, so that traditional
ones are looked up as such; offsets stay. What jieba calls a name is one here only if its dictionary has it,
if it is spelt as foreign names are, if it begins with a family name, or if the word after it tells what it
is (潮东水利学院): jieba's guesses at unknown words are too often wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from graphrag_rdf.han import simplified

from .lexicon import read_table

if TYPE_CHECKING:
    from rjieba import Jieba

_DOTS = "·・‧•"
_LONGEST = 16  # characters of a name of an organisation or a place
_BETWEEN = 3  # words between the name that it begins with and what it is
_INNER = ("n", "vn", "b", "j", "a", "m")
_BINDING = re.compile("[的在是有和与及于以由从到被把为了上中下内外]")
# lists of words that have this tag, whatever jieba says
_SURE = (("n", "clauses", "nouns"), ("n", "names", "relatives"), ("v", "clauses", "verbs"))
_GIVEN = ("n", "ng", "a", "ag", "nr", "g", "zg", "nz", "j")  # of the last character of a name
_RARE = ("zg", "ng", "g", "q")  # of endings that are seldom words of their own: 湾
_NAMED = ("nr", "ns", "nt", "nz")
_PARTS = (
    *_NAMED,
    "n",
    "ng",
    "j",
    "zg",
    "z",
    "g",
    "a",
    "ag",
    "vg",
)  # of a foreign name that is cut into words
# what an address has after the name of a district
_DISTRICT = re.compile(
    r"(?<=[省市县区])(?P<name>[^\W\da-zA-Z直各辖属所级的和与及或等之在于省市县区乡镇村]{2,3}[市县区乡镇村])"
)
_SINCE = re.compile("(?<=[年起])(任)(?![何务期职命])")  # no family name after a date: 2019年任潮东市市长
_CUTS = frozenset("自的是于由被在和与及以为从到把对将向说称")
_MANY = 50_000  # how frequent a word is made that jieba would part


class Token(NamedTuple):
    """A word with its place in the text, in simplified characters, with jieba's tag."""

    start: int
    end: int
    text: str
    tag: str


class Name(NamedTuple):
    """The place of a name, and its entity type where that is certain."""

    start: int
    end: int
    type: str | None


@lru_cache(maxsize=1)
def table() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """The word lists of Chinese by section; those of characters have each of them."""
    sections = read_table("zh")
    return {
        section: {name: frozenset(words.split()) for name, words in lists.items()}
        for section, lists in sections.items()
    }


@lru_cache(maxsize=1)
def _segmenter() -> Jieba:
    import rjieba

    segmenter = rjieba.Jieba()
    for word in sorted(table()["clauses"]["verbs"]):
        segmenter.add_word(word, _MANY, "v")
    return segmenter


@lru_cache(maxsize=256)
def tokens_of(text: str) -> tuple[Token, ...]:
    """The words and marks of a text, white space left out."""
    tokens, start = [], 0
    sure = {word: tag for tag, section, words in _SURE for word in table()[section][words]}
    for piece in (piece for part in _SINCE.split(simplified(text)) for piece in _pieces(part)):
        for word, tag in _segmenter().tag(piece, True):
            end = start + len(word)
            if not word.isspace():
                tokens.append(Token(start, end, word, sure.get(word, tag)))
            start = end
    return tuple(tokens)


def _pieces(text: str) -> Iterator[str]:
    """The text, cut around words of one character that bind others.

    The dictionary tells them from characters inside words; guesses at unknown words would swallow them.
    """
    piece = ""
    for word in _segmenter().cut(text, False):
        if word in _CUTS:
            yield from filter(None, (piece, word))
            piece = ""
        else:
            piece += word
    yield piece


@lru_cache(maxsize=256)
def names_in(text: str) -> tuple[Name, ...]:
    """The names of people, places, organisations and other things in a sentence, in text order."""
    tokens = tokens_of(text)
    whole = simplified(text)
    taken: list[Name] = [Name(start, end, "Person") for start, end in _dotted(whole, tokens)]
    for name in (*_vessels(tokens), *_districts(whole, tokens), *_people(tokens), *_single(tokens)):
        if all(name.end <= earlier.start or name.start >= earlier.end for earlier in taken):
            taken.append(name)
    taken.sort()
    names = [_lengthened(name, tokens, whole) for name in taken]
    for token in tokens:  # a word that jieba takes for a name by its looks is one if it says of what
        guessed = token.tag.startswith(_NAMED) and not _is_known(token)
        if (
            (guessed or token.tag in {"nr", "nz", "z"})
            and 2 <= len(token.text) <= 4
            and not _BINDING.search(token.text)
        ):
            guess = Name(token.start, token.end, None)
            longer = _lengthened(guess, tokens, whole)
            if longer is not guess and token.text not in table()["names"]["common"]:
                names.append(longer)
    apart: list[Name] = []
    for name in sorted(names, key=lambda name: (name.start, -name.end)):
        if not apart or name.start >= apart[-1].end:
            apart.append(name)
    return tuple(apart)


def _foreign(text: str) -> bool:
    return bool(text) and all(character in _characters("foreign") for character in text)


@lru_cache(maxsize=8)
def _characters(name: str) -> frozenset[str]:
    """The characters of a list."""
    return frozenset("".join(table()["names"][name]))


def _dotted(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Names whose parts are joined by dots, as far as their characters are those of foreign names."""
    borders = {token.start: token for token in tokens}
    ends = {token.end: token for token in tokens}
    inside = {place: token for token in tokens for place in range(token.start + 1, token.end)}
    after = 0
    for match in re.finditer(f"[{_DOTS}]", text):
        if match.start() < after:
            continue
        start, end = match.start(), match.end()
        while start > after and _foreign(text[start - 1]):
            start -= 1
        while end < len(text) and (
            _foreign(text[end])
            or (text[end] in _DOTS and text[end + 1 : end + 2] and _foreign(text[end + 1]))
        ):
            end += 1
        # a name that jieba knows is whole: 安东
        before, behind = ends.get(match.start()), borders.get(match.end())
        start = min(start, before.start) if before and _is_whole(before) else start
        end = max(end, behind.end) if behind and _is_whole(behind) else end
        # a word that is no name and reaches out of the run is none of it
        if (first := inside.get(start)) and not first.tag.startswith(_NAMED) and first.end < match.start():
            start = first.end
        if (last := inside.get(end)) and not last.tag.startswith(_NAMED) and last.start > match.end():
            end = last.start
        while (
            (last := borders.get(end - 1)) and last.tag in {"p", "c", "d", "f", "m"} and end - 2 > match.end()
        ):
            end -= 1
        if start < match.start() and end > match.end():
            yield start, end
            after = end


def _is_known(token: Token) -> bool:
    return token.tag.startswith(_NAMED) and _segmenter().has_word(token.text)


def _is_whole(token: Token) -> bool:
    return len(token.text) > 1 and _is_known(token) and not _BINDING.search(token.text)


def _single(tokens: Sequence[Token]) -> Iterator[Name]:
    """Words that are names by themselves, and runs of words that together spell a foreign name."""
    index = 0
    while index < len(tokens):
        last = index
        while last < len(tokens) and _may_be_part(tokens, last, index):
            last += 1
        if last - index > 1 and any(token.tag.startswith(_NAMED) for token in tokens[index:last]):
            yield Name(tokens[index].start, tokens[last - 1].end, None)
            index = last
            continue
        kind = _kind(tokens[index])
        if kind is not None:
            yield Name(tokens[index].start, tokens[index].end, kind or None)
        index += 1


def _vessels(tokens: Sequence[Token]) -> Iterator[Name]:
    """Names of ships, aircraft and trains: 白鹤号."""
    for before, name, sign in zip((None, *tokens), tokens, tokens[1:], strict=False):
        if sign.text == "号" and sign.start == name.end and 2 <= len(name.text) <= 6 and name.tag != "m":
            vessel = before is not None and before.text.endswith(tuple(table()["names"]["vessels"]))
            if vessel or name.tag.startswith(_NAMED):
                yield Name(name.start, sign.end, None)


def _people(tokens: Sequence[Token]) -> Iterator[Name]:
    """Names of people that jieba cuts, next to what they are: 船长赵永年, 书记陈家忠."""
    for index, (first, second) in enumerate(pairwise(tokens)):
        lengths = (len(first.text), len(second.text))
        if (
            first.tag.startswith("nr")
            and first.text[0] in _characters("families")
            and second.start == first.end
            and (lengths in {(1, 1), (1, 2)} or (lengths == (2, 1) and second.tag in _GIVEN))
            and not second.tag.startswith(("x", "u", "p", "c", "d", "m", "eng"))
            and not _BINDING.search(second.text)
            and (
                _tells_who(tokens, index - 1)
                or _is_title(tokens, index + 2)
                or _is_subject(tokens, index, first.text + second.text)
            )
        ):
            yield Name(first.start, second.end, "Person")


def _tells_who(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word is a role or a relative, or 是 or 为 after one."""
    if index > 0 and tokens[index].text in table()["clauses"]["copula"]:
        index -= 1
    if index < 0 or not tokens[index].tag.startswith("n"):
        return False
    word = tokens[index].text
    return word in table()["names"]["relatives"] or is_role(word)


def _is_subject(tokens: Sequence[Token], index: int, name: str) -> bool:
    """Whether a clause begins with a name of three characters, and goes on with 是 or a date; if its second
    part is a name, also with a verb. Such a name may also be an agent: 由王大海创办.
    """
    before, second = tokens[index - 1] if index else None, tokens[index + 1]
    after = tokens[index + 2] if index + 2 < len(tokens) else None
    if len(name) != 3 or after is None:
        return False
    goes_on = after.text in table()["clauses"]["copula"] or after.tag == "m"
    if second.tag in {"ns", "nr", "nz", "z"} and (before is None or before.text in "由被是，。；！？"):
        return goes_on or after.tag in {"v", "vn", "p", "d", "t", "n"}
    opens = before is None or before.tag == "x"
    return opens and goes_on and name[0] in _characters("families_alone")


def is_role(word: str) -> bool:
    """Whether a word says what somebody is: 船长, 总经理, 渔民."""
    return word in table()["clauses"]["titles"] or (len(word) > 1 and word[-1] in _characters("roles"))


def _is_title(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].text in table()["clauses"]["titles"]


def _districts(text: str, tokens: Sequence[Token]) -> Iterator[Name]:
    """Provinces, and the districts in them that an address lists: 东屿省潮东市石塘镇."""
    names = table()["names"]
    for before, token in pairwise(tokens):
        if token.start != before.end or token.text[0] != "省" or _segmenter().has_word(before.text):
            continue
        if token.text != "省" and _segmenter().has_word(token.text):  # 省会
            continue
        if 2 <= len(before.text) <= 4 and before.tag.startswith("n") and not _BINDING.search(before.text):
            yield Name(before.start, token.start + 1, "Place")
    ends = {token.end: token for token in tokens}
    for match in _DISTRICT.finditer(text):
        place, (first, after) = match["name"], match.span("name")
        # 市场, 省会城市
        if any(
            t.start < cut < t.end and _segmenter().has_word(t.text) for t in tokens for cut in (first, after)
        ):
            continue
        if _segmenter().has_word(place[:-1]) and place[:-1] in names["common"]:
            continue
        upper = ends.get(first)
        if upper is None or upper.tag.startswith("ns") or upper.text in "省市县区":
            yield Name(first, after, "Place")


def _may_be_part(tokens: Sequence[Token], index: int, first: int) -> bool:
    """Whether a word can be a piece of a foreign name that begins with the word `first`."""
    token = tokens[index]
    if not _foreign(token.text) or (index > first and token.start != tokens[index - 1].end):
        return False
    if index == first and token.tag == "v" and token.text in _characters("foreign_first"):
        return index + 1 < len(tokens) and _may_be_part(tokens, index + 1, index)
    return token.tag.startswith(_NAMED) or (len(token.text) == 1 and token.tag in _PARTS)


def _kind(token: Token) -> str | None:
    """The entity type of a name; "" if it is not certain, None if the word is not a name."""
    text, tag = token.text, token.tag
    names = table()["names"]
    if len(text) < 2 or not tag.startswith(_NAMED) or text in names["common"]:
        return None
    in_dictionary = _segmenter().has_word(text)
    if tag.startswith("nr"):
        if _foreign(text) and (in_dictionary or len(text) > 2):
            return ""
        length = len(text) - (text[:2] in names["double_families"])
        if length == 3 and (text[0] in _characters("families") or len(text) == 4):
            return None if _BINDING.search(text) else "Person"
        if length == 2 and text[0] in _characters("families_of_two"):
            return ""
        if in_dictionary:
            return None
    if not in_dictionary:
        kind = _kind_by_ending(text) if 3 <= len(text) <= 5 and not _BINDING.search(text) else ""
        return kind or None
    if tag == "ns":
        return "Place"
    kind = _kind_by_ending(text)
    if tag == "nt":
        return kind or ""
    return kind or "" if text.endswith(tuple(names["endings"])) or _foreign(text) else None


def _kind_by_ending(text: str) -> str:
    """The entity type by the last word of a name; "" for none. The longest ending counts."""
    names, best, kind = table()["names"], 0, ""
    for key in ("place", "organisation", "event", "work"):
        for ending in names[key]:
            if len(ending) > best and len(ending) < len(text) and text.endswith(ending):
                best, kind = len(ending), key.capitalize()
    return kind


def _lengthened(name: Name, tokens: Sequence[Token], text: str) -> Name:
    """A name with the words after it that say what it names: 潮东水利学院 for 潮东."""
    names = table()["names"]
    ends = names["place"] | names["organisation"] | names["event"] | names["work"]
    after = next((i for i, token in enumerate(tokens) if token.start >= name.end), len(tokens))
    best, previous = name, name.end
    for count, token in enumerate(tokens[after : after + _BETWEEN + 1]):
        inner = token.tag.startswith(_INNER) or (token.text in ends and token.tag in (*_RARE, "ns"))
        if token.tag == "m" and len(token.text) > 1 and token.text[-1] in _characters("measures"):
            break
        if token.start != previous or not inner or token.end - name.start > _LONGEST:
            break
        general = token.text in names["general"] and token.text not in names["districts"]
        if len(token.text) == 1:  # 洛溪河 is a name, but no river is called 法国河
            general = general and any(
                text[name.start : name.end] in places for places in table()["places"].values()
            )
        if count == 0 and name.type == "Place" and general:
            break
        ends_it = token.text in ends or (len(token.text) > 2 and _kind_by_ending(token.text))
        if ends_it:
            best = Name(name.start, token.end, _kind_by_ending(text[name.start : token.end]) or None)
        elif best is not name or token.tag.startswith(_NAMED):
            break
        previous = token.end
    return best
