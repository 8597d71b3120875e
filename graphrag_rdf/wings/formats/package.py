"""Packages of XML (Office Open XML, OpenDocument, EPUB): checked before anything opens them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol
from xml.parsers import expat

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.i18n import tr

# A package may hold this much, and unpack to this many times its size once it is not small: text of
# office files shrinks 5 to 20 times, a bomb a thousand times.
MAX_UNPACKED = 1 << 30
MAX_RATIO = 200
RATIO_FREE = 32 << 20
MAX_MEMBERS = 50_000
MAX_TAGS = 5_000_000
"""Of XML that is read as a whole: each element takes some 130 bytes of memory. 7,000 pages have so many."""

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_PIECE = 1 << 16
_LONGEST_MANIFEST = 1 << 22


class CoreProperties(Protocol):
    """What python-docx, python-pptx and openpyxl call by the same names."""

    title: Any
    language: Any
    created: Any
    modified: Any
    keywords: Any
    identifier: Any


class _RootSeenError(Exception):
    """Stops the XML parser at the root element."""


def open_package(data: bytes, *, row_by_row: str | None = None) -> io.BytesIO:
    """Check a package and return it as a stream.

    Refused are: password-protected and binary Office files, packages that are no ZIP archives, that
    unpack to more than MAX_UNPACKED bytes, or to more than MAX_RATIO times their size (beyond
    RATIO_FREE bytes), XML parts with a document type declaration, which ECMA-376 part 2 forbids and
    without which no entity can be declared, and those with more than MAX_TAGS tags.

    Args:
        row_by_row: where parts are that are never held as a whole, so that their tags do not count.

    Raises:
        UnreadableError: for each of these.
    """
    if data.startswith(_OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise c.UnreadableError(tr("encrypted (password)"), tr("save it without a password"))
        raise c.UnreadableError(
            tr("a binary Office file of before 2007"), tr("save it as .docx, .xlsx or .pptx")
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(archive, len(data))
            _check_manifest(archive)
            parts = [m for m in archive.infolist() if m.filename.lower().endswith((".xml", ".rels"))]
            for member in parts:
                _check_prologue(archive, member)
            whole = [m for m in parts if row_by_row is None or not m.filename.startswith(row_by_row)]
            _check_tags(archive, whole)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError) as error:
        raise c.UnreadableError(tr("damaged: {cause}").format(cause=error)) from None
    return io.BytesIO(data)


def _check_size(archive: zipfile.ZipFile, packed: int) -> None:
    members = archive.infolist()
    if any(member.flag_bits & 1 for member in members):
        raise c.UnreadableError(tr("encrypted (password)"), tr("save it without a password"))
    # zipfile never unpacks more of a member than the size it declares, so the sum is a true bound
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED:
        raise c.UnreadableError(
            tr("too large when unpacked ({count} parts, {unpacked} bytes)").format(
                count=len(members), unpacked=unpacked
            )
        )
    if unpacked > max(RATIO_FREE, MAX_RATIO * packed):
        raise c.UnreadableError(
            tr("a decompression bomb? {packed} bytes unpack to {unpacked}").format(
                packed=packed, unpacked=unpacked
            )
        )


def _check_manifest(archive: zipfile.ZipFile) -> None:
    """OpenDocument tells there which parts are encrypted."""
    try:
        with archive.open("META-INF/manifest.xml") as manifest:
            if b"encryption-data" in manifest.read(_LONGEST_MANIFEST):
                raise c.UnreadableError(tr("encrypted (password)"), tr("save it without a password"))
    except KeyError:
        return


def parse_part(data: bytes) -> Any:
    """The root of an XML part. Entities are not resolved, nothing is loaded, and nesting has an end.

    Raises:
        UnreadableError: it is not XML, or nested beyond measure.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise c.UnreadableError(tr("damaged: {cause}").format(cause=error)) from None


def _check_prologue(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise c.UnreadableError(
            tr("{filename} declares a document type, which may hide an entity bomb").format(
                filename=member.filename
            )
        )

    def stop(*_: object) -> None:
        raise _RootSeenError

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    with archive.open(member) as part:
        try:
            while piece := part.read(_PIECE):
                parser.Parse(piece)
        except _RootSeenError:
            return
        except expat.ExpatError as error:
            raise c.UnreadableError(
                tr("damaged: {filename} is not XML: {error}").format(filename=member.filename, error=error)
            ) from None


def _check_tags(archive: zipfile.ZipFile, parts: Sequence[zipfile.ZipInfo]) -> None:
    tags = 0
    for member in parts:
        with archive.open(member) as part:
            while piece := part.read(_PIECE):
                tags += piece.count(b"<")
                if tags > MAX_TAGS:
                    raise c.UnreadableError(
                        tr("more than {max_tags:,} tags of XML").format(max_tags=MAX_TAGS),
                        tr("split the document"),
                    )


def metadata(properties: CoreProperties, creator: Any, description: Any) -> Iterator[tuple[str, str]]:
    """The core properties of a package as (property IRI, value) pairs.

    Args:
        creator, description: the two that the libraries call by different names.
    """
    yield c.CREATOR, _text(creator)
    yield c.CREATED, _text(properties.created)
    yield c.MODIFIED, _text(properties.modified)
    yield c.DESCRIPTION, _text(description)
    for keyword in _text(properties.keywords).replace(";", ",").split(","):
        yield c.SUBJECT, keyword
    yield c.IDENTIFIER, _text(properties.identifier)


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return "" if value is None else str(value)
