"""Files that appear under their names only when they are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.i18n import tr


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file, and replace an earlier one at the end.

    Raises:
        UsageError: it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with unfinished.open("wb") as stream:
            yield stream
        unfinished.replace(path)
    except OSError as error:
        raise UsageError(
            tr("cannot write {path}: {cause}").format(path=path, cause=system_cause(error))
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
