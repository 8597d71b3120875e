"""Text from outside between the tags of a prompt: it cannot close them, nor open others."""

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
"""What stands in place of a tag's first bracket."""

_TAG = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})\b)", re.IGNORECASE)


def fenced(text: str) -> str:
    """The text with `FENCE` for the first bracket of what looks like one of the tags.

    Character by character, so that what a model repeats of it stands where it stood; `extract.evidence`
    takes the two brackets for the same.
    """
    return _TAG.sub(FENCE, text)
