"""Books in EPUB: their chapters in reading order, read as the pages of HTML that they are."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.html import read_html
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.formats.package import open_package, parse_part

_DC = "{http://purl.org/dc/elements/1.1/}"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})
_FONT = re.compile(rb"Algorithm=\"http://(?:www\.idpf\.org/2008/embedding|ns\.adobe\.com/pdf/enc#RC)\"")


def read_epub(data: bytes) -> c.Content:
    """Extract the chapters of a book and its metadata.

    Raises:
        UnreadableError: it is damaged, protected or unsafe.
    """
    with zipfile.ZipFile(open_package(data)) as book:
        names = set(book.namelist())
        if "META-INF/encryption.xml" in names:
            lock = book.read("META-INF/encryption.xml")
            if lock.count(b"EncryptedData ") + lock.count(b"EncryptedData>") > 2 * len(_FONT.findall(lock)):
                raise c.UnreadableError(tr("protected (DRM)"), tr("use a copy without protection"))
        if "META-INF/container.xml" not in names:
            raise c.UnreadableError(tr("damaged: no book in it (META-INF/container.xml is missing)"))
        container = parse_part(book.read("META-INF/container.xml"))
        place = next((e.get("full-path") for e in container.iter("{*}rootfile")), None)
        if place not in names:
            raise c.UnreadableError(tr("damaged: its table of parts is missing"))
        package = parse_part(book.read(place))
        parts = [
            read_html(book.read(name)) for name in _spine(package, posixpath.dirname(place)) if name in names
        ]
    return replace(
        c.joined(((part, None) for part in parts), paged=False),
        title=next(_texts(package, "title"), ""),
        language=next(_texts(package, "language"), None),
        metadata=tuple((iri, value) for name, iri in c.PROPERTIES.items() for value in _texts(package, name)),
    )


def _spine(package: Any, folder: str) -> Iterator[str]:
    """The names of the chapters in reading order."""
    items = {
        item.get("id"): unquote((item.get("href") or "").partition("#")[0])
        for item in package.iter("{*}item")
        if item.get("media-type") in _PAGES and "nav" not in (item.get("properties") or "").split()
    }
    for reference in package.iter("{*}itemref"):
        if href := items.get(reference.get("idref")):
            yield posixpath.normpath(posixpath.join(folder, href))


def _texts(package: Any, name: str) -> Iterator[str]:
    for element in package.iter(f"{_DC}{name}"):
        if text := "".join(element.itertext()).strip():
            yield text
