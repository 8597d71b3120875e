"""A dictionary of names, and where its entries stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .model import Mention
from .words import CJK, WORD, Word, has_capitals, words_of


class Gazetteer:
    """A dictionary of names that finds its entries in texts, longest first.

    Names of several words are found in any case, single words as they are written (`May` is not
    `may`) unless the text has no capitals at all; names in CJK scripts are found as substrings.

    Args:
        names: surface forms.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._trie: dict[str, dict[str, object]] = {}
        substrings: set[str] = set()
        for name in names:
            clean = name.strip()
            if not clean:
                continue
            if CJK.search(clean):
                substrings.add(clean)
                continue
            tokens = [match.group().lower() for match in WORD.finditer(clean)]
            if tokens:
                self._add(tokens, clean)
        self._substrings = (
            re.compile("|".join(map(re.escape, sorted(substrings, key=lambda item: (-len(item), item)))))
            if substrings
            else None
        )

    def _add(self, tokens: list[str], name: str) -> None:
        node = self._trie
        for token in tokens:
            node = node.setdefault(token, {})  # type: ignore[assignment]
        known = node.get("")
        # of two spellings of the same words the first in code point order stands, whatever the input's order
        node[""] = min(name, known) if isinstance(known, str) else name  # type: ignore[assignment]

    def find(self, text: str, words: Sequence[Word] | None = None) -> list[Mention]:
        """All longest entries in `text`, left to right; `words` are its words, if they are known."""
        found: list[Mention] = []
        if self._trie:
            words = words_of(text) if words is None else words
            any_case = not has_capitals(text)
            after = 0
            for position, word in enumerate(words):
                if position < after or word.lower not in self._trie:
                    continue
                length, name = self._longest(words, position, any_case)
                if name is not None:
                    start, end = word.start, words[position + length - 1].end
                    found.append(Mention(start, end - start, name))
                    after = position + length
        if self._substrings:
            found += [Mention(m.start(), len(m.group()), m.group()) for m in self._substrings.finditer(text)]
        return found

    def _longest(self, words: Sequence[Word], position: int, any_case: bool) -> tuple[int, str | None]:
        node: dict[str, object] = self._trie  # type: ignore[assignment]
        best, name = 0, None
        for depth, place in enumerate(range(position, len(words)), start=1):
            word = words[place]
            following = node.get(word.lower)
            if not isinstance(following, dict):
                break
            node = following
            entry = node.get("")
            if isinstance(entry, str) and (depth > 1 or any_case or word.text == entry or entry.islower()):
                best, name = depth, entry
        return best, name
