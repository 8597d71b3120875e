"""Text of documents and users between the tags of a prompt: it cannot close them, nor open others."""

from __future__ import annotations

import re

TAGS = (
    "question",
    "conversation",
    "statements",
    "evidence",
    "title",
    "columns",
    "headings",
    "before",
    "names",
    "text",
    "first",
    "second",
    "answer",
    "problems",
)
"""The tags of our prompts."""

FENCE = "‹"
"""Replaces a tag's first bracket."""

_TAG = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})\b)", re.IGNORECASE)


def fenced(text: str) -> str:
    """The text with `FENCE` for the first bracket of what looks like one of the tags.

    The length stays, so that a model's quotes keep their offsets; `extract.evidence` treats the two brackets
    as equal.
    """
    return _TAG.sub(FENCE, text)
