"""Citations in the text of an answer: `[1]`, or `[S1]` if the setting `synthesis.citation_style` says so.

Steps and prompts number with `[1]`. An answer gets its style as it is settled (`steps.answer.compose`) and
given out (`TraceRecorder.text_chunk`). Readers of answers take both forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Literal, TypeAlias, get_args

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import tr

Style: TypeAlias = Literal["number", "source"]
SETTING = "synthesis.citation_style"
"""The setting, which a question can override."""

MARKER = re.compile(r"\[S?(\d{1,4})\]")
"""A citation in an answer, in either style."""
_YEARS = 1000
_OF_SOURCE = re.compile(r"\[S\d{1,4}\]")
_BEGUN = re.compile(r"(?:\[|【|［)[^\]】］\n]{0,60}\Z")
"""What may become a citation, at the end of a piece of text."""


def marker(number: int, style: Style) -> str:
    """The citation of a number."""
    return f"[S{number}]" if style == "source" else f"[{number}]"


def cited_numbers(text: str) -> list[int]:
    """The numbers that a text cites, in order, each once."""
    return list(dict.fromkeys(int(number) for number in MARKER.findall(text)))


def in_style(text: str, style: Style, cited: AbstractSet[int] | None = None) -> str:
    """A text that cites by numbers, with its citations in a style.

    Args:
        cited: numbers that something is cited by; others stay as they are. None, of a model's text: all but
            years.
    """
    if style == "number":
        return text

    def written(match: re.Match[str]) -> str:
        number = int(match[1])
        cites = number < _YEARS if cited is None else number in cited
        return marker(number, style) if cites else match[0]

    return MARKER.sub(written, text)


def read_style(text: str) -> Style:
    """A style by its name.

    Raises:
        ConfigError: when there is none of this name.
    """
    for style in get_args(Style):
        if text == style:
            return style  # type: ignore[no-any-return]
    raise ConfigError(
        tr("{setting}: there is no style {name!r}").format(setting=SETTING, name=text),
        hint=tr("known: {known}").format(known=", ".join(get_args(Style))),
    )


def style_of(answer: str) -> Style:
    """The style of an answer."""
    return "source" if _OF_SOURCE.search(answer) else "number"


def whole_citations(pieces: Iterator[str]) -> Iterator[str]:
    """The pieces of a text, cut anew so that no citation is divided."""
    held = ""
    for piece in pieces:
        held += piece
        begun = _BEGUN.search(held)
        end = begun.start() if begun else len(held)
        if end:
            yield held[:end]
            held = held[end:]
    if held:
        yield held
