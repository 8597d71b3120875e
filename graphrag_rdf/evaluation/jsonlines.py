"""Files with one JSON object a line, each checked."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_rdf.errors import UsageError, short_cause

Item = TypeVar("Item", bound=BaseModel)


def read_lines(path: Path, kind: type[Item]) -> list[Item]:
    """The objects of a file, in order; empty lines are left out.

    Raises:
        UsageError: the file cannot be read, holds nothing, or has a line that is no such object.
    """
    try:
        lines = path.read_text("utf-8-sig").split("\n")  # JSON strings may hold other line ends
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(kind.model_validate_json(line))
        except ValidationError as error:
            reason = short_cause(error).removeprefix(": Value error, ")
            raise UsageError(f"{path}, line {number}: {reason}") from error
    if not found:
        raise UsageError(f"{path} holds nothing")
    return found
