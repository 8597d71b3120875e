"""Names that are nearly those of properties, as models write them:

    location of filming, filming locations    for "filming location": the same words
    designed as terrorist by                  for "designated as terrorist by": up to two letters left out
    conservation status, rank                 for "IUCN conservation status", "military rank": words left out

A name that is near to those of several properties stands for none. A letter in place of another is no slip:
the minimum is not the maximum. First and last letters stay: "owned" is not "owner". The main word may not be
left out. What a name ends in says its direction: "director of" is not "director".
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

_DIRECTIONS = ("as", "at", "by", "for", "from", "in", "of", "on", "to", "with")
_SMALL = frozenset(("a", "an", "the", *_DIRECTIONS))
_MAIN = re.compile(rf"^(.+?) (?:{'|'.join(_DIRECTIONS)}) ")
_MISSING = 2  # letters
_SHORTEST = 6  # letters of a word that may lack some


class NearNames:
    """Finds the name that another one is near to.

    Args:
        named: names in lower case, each with what it stands for.
        shortened: whether words may be left out.
    """

    def __init__(self, named: Iterable[tuple[str, Hashable]], *, shortened: bool) -> None:
        self._ways = (_has_words, _lacks_letters, *((_lacks_words,) if shortened else ()))
        self._named = [(_Name(name), meant) for name, meant in named]
        self._known: dict[str, str | None] = {}

    def get(self, name: str) -> str | None:
        """The name that a name is near to; None if it is near to none, or to those of several things."""
        if name not in self._known:
            self._known[name] = self._find(_Name(name))
        return self._known[name]

    def _find(self, name: _Name) -> str | None:
        for is_near in self._ways:
            near = {
                meant: full.text
                for full, meant in self._named
                if full.end == name.end and is_near(name, full)
            }
            if near:
                return next(iter(near.values())) if len(near) == 1 else None
        return None


class _Name:
    """A name, taken apart.

    Attributes:
        end: its last word, if that says a direction.
        words: those that mean something, in the singular.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.split = text.split()
        self.end = next((word for word in self.split[-1:] if word in _DIRECTIONS), "")
        self.words = frozenset(_singular(word) for word in self.split if word not in _SMALL)


def _has_words(name: _Name, full: _Name) -> bool:
    return bool(name.words) and name.words == full.words


def _lacks_letters(name: _Name, full: _Name) -> bool:
    """Up to two letters of longer words, none at their ends."""
    return (
        len(name.split) == len(full.split)
        and 0 < len(full.text) - len(name.text) <= _MISSING
        and all(
            lacking == whole
            or (
                len(lacking) >= _SHORTEST
                and (lacking[0], lacking[-1]) == (whole[0], whole[-1])
                and _is_part(lacking, whole)
            )
            for lacking, whole in zip(name.split, full.split, strict=True)
        )
    )


def _lacks_words(name: _Name, full: _Name) -> bool:
    """Not the main one: "site" of "site of discovery", "rank" of "military rank"."""
    before = _MAIN.match(full.text)
    main = before[1].split()[-1:] if before else full.split[-1:]
    return name.words < full.words and name.words.issuperset(map(_singular, main)) and "or" not in full.split


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _is_part(letters: str, word: str) -> bool:
    """Whether letters occur in a word, in their order."""
    remaining = iter(word)
    return all(letter in remaining for letter in letters)
