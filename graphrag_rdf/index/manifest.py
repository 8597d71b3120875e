"""The manifest of an index: a small file that lists its parts and is replaced as a whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphrag_rdf.i18n import later, tr

from ..errors import RAISE_FILES, SearchIndexError, is_out_of_files, short_cause

REBUILD = "graphrag-rdf index rebuild"
NAME = "manifest.json"
LACKS = later("lacks it, or has it as it was once")
"""End of the message about an index that is behind the store."""


def read(folder: Path, *, form: int) -> dict[str, Any] | None:
    """The manifest of an index folder; None if there is none.

    Args:
        folder: the index.
        form: the version of the layout that the caller understands.

    Raises:
        SearchIndexError: it cannot be read, or has another layout.
    """
    path = folder / NAME
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error
    if not isinstance(found, dict) or found.get("format") != form:
        raise SearchIndexError(
            tr("The search index {folder} was written by another version of the program.").format(
                folder=folder
            ),
            REBUILD,
        )
    return found


def write(folder: Path, content: dict[str, Any]) -> None:
    """Replace the manifest durably: after a power cut either the old or the new one is there."""
    temporary = folder / f"{NAME}.{os.getpid()}.new"
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / NAME)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, if the system supports it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def links_to(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder with links to the files of an index that this user cannot write: tantivy takes a lock in the
    folder even to read. Where there are no links, the files are copied.
    """
    links = tempfile.TemporaryDirectory(prefix="graphrag-rdf-index-", ignore_cleanup_errors=True)
    for file in folder.rglob("*"):
        place = Path(links.name, file.relative_to(folder))
        if file.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif file.suffix != ".lock":
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                place.symlink_to(file.resolve())
            except OSError:
                shutil.copyfile(file, place)
    return links


def damaged(path: Path, cause: object) -> SearchIndexError:
    """The error for files that are damaged or cannot be opened."""
    said = short_cause(cause)
    if is_out_of_files(said):
        return SearchIndexError(
            tr("The search index {path} cannot be opened: {said}").format(path=path, said=said),
            tr(RAISE_FILES),
        )
    if "ermission denied" in said:
        return SearchIndexError(
            tr("The search index {path} cannot be opened: {said}").format(path=path, said=said),
            tr("check its permissions"),
        )
    return SearchIndexError(
        tr("The search index {path} is damaged: {said}").format(path=path, said=said), REBUILD
    )


def discard(folder: Path) -> None:
    """Remove an index in any state, so that a new one can be built in its place."""
    with suppress(FileNotFoundError):
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
        else:
            folder.unlink()
