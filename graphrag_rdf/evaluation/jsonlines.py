"""Text files, and files with one JSON object a line, each validated."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_rdf.errors import UsageError, short_cause

Item = TypeVar("Item", bound=BaseModel)


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from error


def read_lines(path: Path, kind: type[Item]) -> list[Item]:
    """The objects of a file, in order; empty lines are left out.

    Raises:
        UsageError: the file cannot be read, has no lines, or has a line that is not such an object.
    """
    found = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):  # strings may hold other line ends
        if not line.strip():
            continue
        try:
            found.append(kind.model_validate_json(line))
        except ValidationError as error:
            reason = short_cause(error).removeprefix(": Value error, ")
            raise UsageError(f"{path}, line {number}: {reason}") from error
    if not found:
        raise UsageError(f"{path} has no lines")
    return found
