"""Markdown within a line: links, emphasis, code."""

from __future__ import annotations

import re

_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


def unmarked(text: str) -> str:
    """A line, or part of one, without its marks; of a link its text.

    Args:
        text: some thousand characters at most, as each bracket may be looked at from all before it.
    """
    return _MARKS.sub("", _LINK.sub(r"\1", text))
