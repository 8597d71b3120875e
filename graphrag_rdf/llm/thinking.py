"""Thinking: text of a reasoning model before or between the parts of its answer.

Models mark it with `<think>…</think>`, `<thinking>…</thinking>` or `[THINK]…[/THINK]`. It may contain drafts
of JSON and citations, so it is removed as soon as an output arrives. `Completion.raw` still has it.
"""

from __future__ import annotations

import re

_CLOSING = re.compile(r"(?i:</think(?:ing)?>)|\[/THINK\]")
_TAG = re.compile(rf"(?P<opening>(?i:<think(?:ing)?>)|\[THINK\])|{_CLOSING.pattern}")
_TAGS = ("<thinking>", "</thinking>", "<think>", "</think>", "[THINK]", "[/THINK]")
_LONGEST = max(map(len, _TAGS))


class ThinkingFilter:
    """Removes thinking from a text that arrives in pieces.

    A block that is never closed counts as thinking only if it begins a line: elsewhere its tag is text.

    Args:
        inside: the text begins within thinking, because the server has put the opening tag into the prompt.
    """

    def __init__(self, *, inside: bool = False) -> None:
        self._inside = inside
        self._opening = ""  # the tag that began the block, empty for one that began before the text
        self._held = ""
        self._removed = False
        self._blank = True  # nothing but white space was given out so far
        self._line = ""  # what was given out of the current line

    def feed(self, piece: str) -> str:
        """Add a piece; returns the text that is safe to return."""
        at = max(0, len(self._held) - _LONGEST)
        self._held += piece
        out = []
        while tag := (_CLOSING if self._inside else _TAG).search(self._held, at):
            if not self._inside:
                out.append(self._give(self._held[: tag.start()]))
                self._inside = bool(tag["opening"])
                self._opening = tag["opening"] or ""
            else:
                self._inside = False
            self._removed = True
            self._held, at = self._held[tag.end() :], 0
        if not self._inside:
            ready = len(self._held) - _possible_tag(self._held)
            out.append(self._give(self._held[:ready]))
            self._held = self._held[ready:]
        return "".join(out)

    def end(self) -> str:
        """The remaining text at the end."""
        if self._inside and self._opening and not self._line.strip():
            return ""
        return self._give((self._opening if self._inside else "") + self._held)

    def _give(self, text: str) -> str:
        if self._removed and self._blank:
            text = text.lstrip()
        self._blank = self._blank and not text.strip()
        self._line = (self._line + text).rpartition("\n")[2]
        return text


def without_thinking(text: str) -> str:
    """A whole output without its thinking."""
    thinking = ThinkingFilter(inside=starts_inside(text))
    return thinking.feed(text) + thinking.end()


def starts_inside(text: str) -> bool:
    """Whether an output begins within thinking: its first tag is a closing one."""
    tag = _TAG.search(text)
    return tag is not None and not tag["opening"]


def _possible_tag(text: str) -> int:
    """Length of the end of a text that may become a tag."""
    for length in range(min(len(text), _LONGEST - 1), 0, -1):
        end = text[-length:]
        if any(tag.startswith(end if end[0] == "[" else end.lower()) for tag in _TAGS):
            return length
    return 0
