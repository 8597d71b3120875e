"""The manifest of an index: a small file that lists its parts and is replaced as a whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from graphrag_rdf import layout
from graphrag_rdf.i18n import later, tr

from ..errors import RAISE_FILES, OtherVersionError, SearchIndexError, is_out_of_files, short_cause

REBUILD = "graphrag-rdf index rebuild"
NAME = "manifest.json"
LACKS = later("lacks it, or has it as it was once")
"""End of the message about an index that is behind the store."""


def read(folder: Path, *, form: int | None) -> dict[str, Any] | None:
    """The manifest of an index folder; None if there is none.

    Args:
        folder: the index.
        form: the version of the index that the caller understands; None for any.

    Raises:
        OtherVersionError: it has another layout.
        SearchIndexError: it cannot be read.
    """
    path = folder / NAME
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error
    if not isinstance(content, dict) or (form is not None and content.get("format") != form):
        raise OtherVersionError(
            tr("The search index {folder} was written by another version of the program.").format(
                folder=folder
            ),
            REBUILD,
        )
    return content


def write(folder: Path, content: dict[str, Any]) -> None:
    """Replace the manifest durably: after a power cut either the old or the new one is there."""
    layout.write(folder / NAME, json.dumps(content, indent=1, sort_keys=True), durable=True)


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
    message = short_cause(cause)
    if is_out_of_files(message):
        return SearchIndexError(
            tr("The search index {path} cannot be opened: {said}").format(path=path, said=message),
            tr(RAISE_FILES),
        )
    if "ermission denied" in message:
        return SearchIndexError(
            tr("The search index {path} cannot be opened: {said}").format(path=path, said=message),
            tr("check its permissions"),
        )
    return SearchIndexError(
        tr("The search index {path} is damaged: {said}").format(path=path, said=message), REBUILD
    )
