"""Rows of a long evaluation in a JSON Lines file, so that an interrupted evaluation can continue."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphrag_rdf.errors import UsageError

_KIND = "graphrag-rdf eval answers"


class ResultsFile:
    """The first line has the settings of the evaluation, each further line is a row.

    Args:
        path: continued if it exists; an incomplete last line is dropped. None: rows in memory only.
        head: everything that the rows depend on.

    Attributes:
        rows: of the file, and added ones.

    Raises:
        UsageError: the file cannot be read or written, is of another kind, or was made with other settings.
    """

    def __init__(self, path: Path | None, head: Mapping[str, Any]) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        if path is None:
            return
        first = {"results_of": _KIND, **json.loads(json.dumps(head))}
        try:
            if path.exists() and path.stat().st_size:
                self._read(path, first)
            else:
                self._write(first)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error

    def add(self, row: dict[str, Any]) -> None:
        """Add a row, and sync it to disk."""
        self.rows.append(row)
        if self.path is not None:
            self._write(row)

    def _write(self, row: Mapping[str, Any]) -> None:
        assert self.path is not None  # noqa: S101
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, path: Path, first: Mapping[str, Any]) -> None:
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        try:
            head, *self.rows = map(json.loads, whole.splitlines())
            known = head.get("results_of") == _KIND
        except (ValueError, AttributeError):
            known = False
        if not known:
            raise UsageError(f"{path} is not a file of eval answers", hint="name another file with --out")
        before, now = _flat(head), _flat(first)
        other = [key for key in {**now, **before} if before.get(key) != now.get(key)]
        if other:
            told = "; ".join(f"{key} {_short(before.get(key))}, now {_short(now.get(key))}" for key in other)
            raise UsageError(
                f"{path} was made with other settings: {told}", hint="name another file with --out"
            )
        if len(whole) < len(data):
            os.truncate(path, len(whole))


def _flat(head: Mapping[str, Any]) -> dict[str, Any]:
    """The head with each of its settings under that setting's name."""
    return {**head, "settings": None, **(head.get("settings") or {})}


def _short(value: object) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
