"""Where unexpected exceptions end: as the failure of one document, chunk or pair, while the run goes on."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from graphrag_rdf.errors import GraphRagError

T = TypeVar("T")

ADVICE = "the program has a defect: run the command again with -v, and report the traceback that it prints"

_PACKAGE = Path(__file__).parents[1]
_LONGEST = 200


class UnexpectedError(GraphRagError):
    """A defect of the program stopped the work on one thing; the message says which exception, and where."""


def attempt(work: Callable[[], T]) -> T | UnexpectedError:
    """Do the work on one thing.

    Returns:
        what `work` returns, or the exception that nobody expected, in words; the cause keeps the traceback.

    Raises:
        GraphRagError: as `work` raises it: whoever calls knows what it means.
    """
    try:
        return work()
    except GraphRagError:
        raise
    except Exception as error:  # noqa: BLE001 - the one place where a defect is caught
        unexpected = UnexpectedError(_in_words(error))
        unexpected.__cause__ = error
        return unexpected


def _in_words(error: Exception) -> str:
    """`unexpected IndexError in extract/units.py, line 219: list index out of range`."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    path = Path(own[-1].filename).relative_to(_PACKAGE).as_posix()  # of this module at least
    what = " ".join(str(error).split())[:_LONGEST]
    return f"unexpected {type(error).__name__} in {path}, line {own[-1].lineno}{': ' if what else ''}{what}"
