"""How names are written: one spelling for IRIs (`slug`) and look-ups (`match_key`), the words of a text, and
names that would only be noise in the graph.

Entities with the same slug are the same IRI, so folding is deliberately shy: width, ligatures, case
and white space go; plural, accents and punctuation stay. What is more alike than that is a matter of
merging, which can be undone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

from .lexicon import all_stopwords, base_language, read_table

_SPACE = re.compile(r"\s+")
# invisible characters that come with copied text and never tell two names apart
_INVISIBLE = dict.fromkeys((0x00AD, 0x200B, 0x2060, 0xFEFF))
# RFC 3987 ipchar: iunreserved / sub-delims / ":" / "@", with ucschar, less the bidi marks of its section 4.1
_NOT_IN_PATH = re.compile(
    "[^-A-Za-z0-9._~!$&'()*+,;=:@"
    "\u00a0-\u200d\u2010-\u2029\u202f-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane * 0x10000)}-{chr(plane * 0x10000 + 0xFFFD)}" for plane in range(1, 14))
    + "\U000e1000-\U000efffd]"
)
_LONGEST_REMEMBERED = 200  # names recur and are remembered, texts are not
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")


def fold(text: str) -> str:
    """NFKC, case folded, white space collapsed and trimmed, invisible characters dropped."""
    return _fold_name(text) if len(text) <= _LONGEST_REMEMBERED else _fold(text)


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _SPACE.sub(" ", folded.translate(_INVISIBLE)).strip()


_fold_name = lru_cache(maxsize=16_384)(_fold)


def slug(name: str) -> str:
    """The last segment of an entity's, relation's or type's IRI.

    Non-ASCII letters stay as they are (IRIs, RFC 3987); what a path segment may not hold is
    percent-encoded as UTF-8, lone surrogates as if UTF-8 had them.

    Args:
        name: a surface form.

    Raises:
        ValueError: if nothing is left of the name.
    """
    folded = fold(name)
    if not folded:
        raise ValueError("a name without any visible character has no IRI")
    if folded in {".", ".."}:  # a resolver would take these segments away
        return folded.replace(".", "%2E")
    return _NOT_IN_PATH.sub(_percent, folded.replace(" ", "-"))


def match_key(surface: str) -> str:
    """The key under which a name is looked up: folded, without punctuation around it.

    A name of nothing but punctuation keeps it, so that distinct names keep distinct keys.
    """
    folded = fold(surface)
    return _EDGE.sub("", folded) or folded


def apart(name: str) -> str:
    """The words of a name that is written as one: LiHua is Li Hua, PowerPoint Power Point.

    A capital after a small letter begins a word if a small one follows it: PhD and kW stay.
    """
    return "".join(
        f" {here}" if before.islower() and here.isupper() and after.islower() else here
        for before, here, after in zip(f" {name}", name, f"{name[1:]} ", strict=False)
    )


def together(name: str) -> str | None:
    """A name of capitalised words, written as one: Li Hua is LiHua; None for other names."""
    parts = name.split()
    joined = "".join(parts)
    return joined if len(parts) > 1 and apart(joined) == " ".join(parts) else None


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


# --- words ---------------------------------------------------------------------------------------------


WORD = re.compile(
    r"(?:[A-Z]\.){2,}"  # U.S.
    r"|[^\W_]+(?:['’.&/_‐‑-][^\W_]+)*"  # O'Brien, AT&T, Stratford-upon-Avon
)
_WORDS_BETWEEN = re.compile(f"({WORD.pattern})")
_POSSESSIVE = re.compile(r"(?:['’][sS]|(?<=[sS])['’])$")
CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_NOT_CHINESE = re.compile("[\u3040-\u30ff\uac00-\ud7af]")  # of Japanese and Korean
OPENING = re.compile(r"(?:\([^\W_]{1,3}\)|[\W\d_])*")
"""What may stand before the first word of a sentence: quotation marks, bullets, `(a)`, numbers."""
_ARABIC_ARTICLE = re.compile(r"(?!non|pre|mid|pro|ex|un)[a-z]{2,3}[-‐‑][A-Z]").match  # al-Karim


class Word(NamedTuple):  # a tuple is made three times faster than a frozen dataclass, and there are many
    """A word: its place in code points, as it is written and in lower case, and whether it has a capital."""

    start: int
    end: int
    text: str
    lower: str
    capital: bool


def words_of(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """The words of a text, or of a part of it, without the possessive s."""
    words: list[Word] = []
    # in bulk: a match object for each word would take as long as all the rest
    parts = _WORDS_BETWEEN.split(text[start:end])
    offsets = islice(accumulate(map(len, parts), initial=start), 1, None, 2)
    for word, offset in zip(parts[1::2], offsets, strict=False):
        token = _POSSESSIVE.sub("", word) if "'" in word or "’" in word else word
        lower = token.lower()
        # eBay and iPhone count as capitalised too
        capital = lower != token and (
            token[0].isupper() or token[1:2].isupper() or _ARABIC_ARTICLE(token) is not None
        )
        # past the constructor, which takes longer than all the rest
        words.append(tuple.__new__(Word, (offset, offset + len(token), token, lower, capital)))
    return words


def has_capitals(text: str) -> bool:
    """Whether a text has any capital."""
    return any(character.isupper() for character in text)


def mostly_cjk(text: str) -> bool:
    """Whether at least half of the letters are of Chinese, Japanese or Korean."""
    if not CJK.search(text):
        return False
    return len(CJK.findall(text)) * 2 >= sum(character.isalpha() for character in text)


def is_chinese(text: str, language: str | None) -> bool:
    """Whether a text is read as Chinese: one of that language, or one in its characters whose language is
    neither Japanese nor Korean.
    """
    base = base_language(language)
    in_characters = base not in {"ja", "ko"} and mostly_cjk(text) and not _NOT_CHINESE.search(text)
    return base == "zh" or in_characters


# --- names that are left out ---------------------------------------------------------------------------


DEFAULT_SHORT_NAMES = frozenset({"C", "R"})
"""Names of one letter that are names all the same."""

# what models and forms write for a missing value
_PLACEHOLDERS = frozenset(
    {"none", "n/a", "null", "nil", "nan", "undefined", "tbd", "not specified", "not available"}
)


LONGEST_NAME = 120
"""Code points of a name, at most."""


def reject_reason(
    name: str,
    *,
    min_length: int = 2,
    max_length: int = LONGEST_NAME,
    allowed: Collection[str] = DEFAULT_SHORT_NAMES,
) -> str | None:
    """Why a name should not become an entity.

    Args:
        name: the candidate.
        min_length: code points; one fewer for names with Chinese, Japanese or Korean characters.
        max_length: code points.
        allowed: names that pass whatever they look like, compared exactly.

    Returns:
        `empty`, `too_short`, `too_long`, `only_digits`, `mostly_symbols`, `placeholder`, `stop_word`,
        `possessive` ("her brother"), or None for a name that is fit.
    """
    text = name.strip()
    if text in allowed:
        return None
    folded = fold(text)
    if not folded:
        return "empty"
    if len(text) > max_length:
        return "too_long"
    if folded in _PLACEHOLDERS:
        return "placeholder"
    letters, digits = _count(text)
    if letters == 0:
        return "only_digits" if digits else "mostly_symbols"
    if len(text) < (min_length - 1 if CJK.search(text) else min_length):
        return "too_short"
    if (letters + digits) * 2 < sum(map(len, text.split())):
        return "mostly_symbols"
    if folded in all_stopwords() and not is_acronym(text):
        return "stop_word"
    return "possessive" if _is_owned(text) else None


def is_placeholder(name: str) -> bool:
    """Whether a name is a placeholder: "n/a", "unknown" and the like."""
    return fold(name) in _PLACEHOLDERS


def _count(text: str) -> tuple[int, int]:
    """Letters, with the marks that combine with them, and digits."""
    digits = sum(map(str.isdigit, text))
    if text.isascii():
        return sum(map(str.isalpha, text)), digits
    return sum(1 for character in text if unicodedata.category(character)[0] in "LM"), digits


def _is_owned(text: str) -> bool:
    """Whether a possessive stands before an ordinary noun. "My Fair Lady" is a name."""
    first, _, noun = text.partition(" ")
    return first.lower() in _possessives() and (first[0].islower() or noun[:1].islower())


@lru_cache(maxsize=1)
def _possessives() -> frozenset[str]:
    return frozenset(read_table("names")["particles"]["possessive"].split())


def is_acronym(text: str) -> bool:
    """`IT`, `WHO` and `US` are names, `It`, `who` and `us` are not."""
    return len(text) > 1 and text.isupper()


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """What the rules keep.

    Args:
        entity_types: types to use, compared without case; empty for all that the rules know.
        max_facts: statements kept of one chunk, surest first.
        max_words: words of a subject, predicate or object.
        min_confidence: below it a statement is rejected.
    """

    entity_types: tuple[str, ...] = ()
    max_facts: int = 200
    max_words: int = 12
    min_confidence: float = 0.4

    def type_of(self, *names: str | None) -> str | None:
        """The first of some names that is an entity type to use; if all are, the first name."""
        if not self.entity_types:
            return names[0]
        types = {fold(name): name for name in self.entity_types}
        return next((types[fold(name)] for name in names if name and fold(name) in types), None)
