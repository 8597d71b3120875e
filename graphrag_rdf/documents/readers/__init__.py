"""Reading files: one function per media type, one way in, one kind of error out.

Readers of the core and of wings are in one table, and imported when a file needs them.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from inspect import signature
from itertools import islice, pairwise
from pathlib import Path, PurePath

from graphrag_rdf.documents.headings import glued_headings
from graphrag_rdf.documents.language import detect_language, detect_script, normalise_tag
from graphrag_rdf.documents.model import Page, ParsedDocument, Span
from graphrag_rdf.documents.readers.content import (
    ALTERNATIVE,
    CONTRIBUTOR,
    LANGUAGE,
    Content,
    Reader,
    damage,
)
from graphrag_rdf.documents.readers.encoding import SAMPLE, is_text, unpacked
from graphrag_rdf.documents.tables import LONGEST_ROW, read_row, row_spans
from graphrag_rdf.documents.text import GZIP_SUFFIX, inner_name, one_line, storable_text, title_of
from graphrag_rdf.documents.turns import find_turns
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.wing import all_of, in_words, load

MAX_BYTES = 200 * 1024 * 1024

_HERE = "graphrag_rdf.documents.readers"
_FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {
    "text/plain": (f"{_HERE}.encoding:read_plain", (".txt", ".text", ".adoc", ".log")),
    "text/markdown": (f"{_HERE}.markdown:read_markdown", (".md", ".markdown")),
    "text/html": (f"{_HERE}.html:read_html", (".html", ".htm")),
    "application/xhtml+xml": (f"{_HERE}.html:read_html", (".xhtml",)),
    "application/pdf": (f"{_HERE}.pdf:read_pdf", (".pdf",)),
    "text/csv": (f"{_HERE}.delimited:read_table", (".csv",)),
    "text/tab-separated-values": (f"{_HERE}.delimited:read_table", (".tsv",)),
    **all_of(lambda wing: wing.readers),
}
READERS: dict[str, str] = {media_type: place for media_type, (place, _) in _FORMATS.items()}
"""Media type → `module:attribute` of a `content.Reader`."""
MEDIA_TYPES: dict[str, str] = {
    suffix: media_type for media_type, (_, suffixes) in _FORMATS.items() for suffix in suffixes
}
SUPPORTED: frozenset[str] = frozenset(MEDIA_TYPES)
_READABLE = later("readable are text and {suffixes}, also compressed ({compressed})")

RDF = frozenset({".ttl", ".trig", ".nt", ".nq", ".n3", ".rdf", ".jsonld", ".owl", ".owx", ".ofn"})
"""Suffixes of facts, which are no text to extract facts from."""
OF_WING_FORMATS = frozenset(
    {
        *(".docx", ".xlsx", ".pptx", ".odt", ".ott", ".ods", ".odp", ".rtf", ".epub", ".eml", ".mbox"),
        *(".json", ".jsonl", ".ndjson", ".org", ".rst", ".rest", ".tex", ".latex", ".vtt", ".srt"),
        *(".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".java", ".kt", ".kts", ".scala"),
        *(".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".cs", ".go", ".rs", ".swift", ".rb", ".php"),
        *(".pl", ".pm", ".lua", ".r", ".jl", ".hs", ".sql", ".sh", ".bash", ".css"),
    }
)
"""Suffixes that the wing `formats` reads. Without it such files are skipped: as plain text, many would give
wrong sentences."""
IS_RDF = later("RDF, not a document: graphrag-rdf import reads its facts")
IS_FOLDER = later("a folder, not a file")


NOT_REGULAR = later("not a regular file")
"""Messages, not yet translated."""


_REASONS = {
    errno.ENOENT: later("no such file or folder"),
    errno.EACCES: later("permission denied"),
    errno.EPERM: later("permission denied"),
    errno.EISDIR: IS_FOLDER,
    errno.ELOOP: later("a symbolic link that leads in a circle"),
    errno.ENXIO: NOT_REGULAR,
}


_NO_CHATS = frozenset({"text/csv", "text/tab-separated-values", "application/json", "application/jsonl"})
_MOST_SPEAKERS = 100
MAX_TITLE = 300
_MAX_VALUE = 10_000
_ROWS_LOOKED_AT = 200
_WORDS_OF_PROSE = 5


def suffix_of(name: str) -> str:
    """The suffix that tells the format, in lower case: `.html` of `Manual.HTML.gz`."""
    return PurePath(inner_name(name)).suffix.lower()


def read_document(path: Path, *, max_bytes: int = MAX_BYTES, media_type: str | None = None) -> ParsedDocument:
    """Read a file once and parse it: `load_bytes`, then `read_bytes`.

    Args:
        path: the file.
        max_bytes: larger files are refused.
        media_type: overrides the one that the suffix tells.

    Raises:
        DocumentError: whatever goes wrong, naming the file and the reason.
    """
    data = load_bytes(path, max_bytes=max_bytes)
    return read_bytes(data, str(path), media_type=media_type, max_bytes=max_bytes, folder=path.parent)


def load_bytes(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Bytes of a regular file, read once, so that what is hashed is what is parsed.

    Raises:
        DocumentError: it is missing, no regular file, larger than max_bytes, or may not be read.
    """
    try:
        # without blocking: opening a named pipe would wait for its writer
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise DocumentError(path, tr(IS_FOLDER))
            if not stat.S_ISREG(mode):
                raise DocumentError(path, tr(NOT_REGULAR))
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DocumentError(path, why_unreadable(error, path)) from None
    _check_size(data, str(path), max_bytes)
    return data


def read_bytes(
    data: bytes,
    name: str,
    *,
    media_type: str | None = None,
    max_bytes: int = MAX_BYTES,
    folder: Path | None = None,
) -> ParsedDocument:
    """Parse a document that is already in memory.

    Characters that XML cannot carry (controls such as U+0000, lone surrogates, U+FFFE, U+FFFF; PDFs are
    full of them) are replaced one for one by U+FFFD, so offsets stay exact; form feeds stay. Nothing else
    in the text is changed.

    Args:
        data: the file's bytes.
        name: its path, for the suffix, for a title where the file has none, and for messages.
        media_type: overrides the one that the suffix tells; parameters such as charset are ignored. Without
            either, what is text is read as text.
        max_bytes: larger documents are refused.
        folder: where its file is, for the names of users beside an exported chat; None if it is no file here.

    Raises:
        DocumentError: it cannot be read, or holds no text. Any other exception is a defect of the program,
            however broken the file.
    """
    _check_size(data, name, max_bytes)
    if not data:
        raise DocumentError(name, tr("no text found (the file is empty)"))
    try:
        if media_type is None and inner_name(name) != name:
            data = unpacked(data, max_bytes)
        kind = _media_type(name, media_type, data)
        content = _read(load(READERS[kind]), data, folder)
    except DocumentError:
        raise
    except Exception as error:
        problem = damage(error)
        if problem is None:
            raise
        raise DocumentError(name, str(problem), problem.hint) from error
    return _finish(content, name, kind)


def _read(reader: Reader, data: bytes, folder: Path | None) -> Content:
    return reader(data, folder=folder) if "folder" in signature(reader).parameters else reader(data)


def _check_size(data: bytes, name: str, max_bytes: int) -> None:
    if len(data) > max_bytes:
        raise DocumentError(
            name,
            tr("larger than {max_bytes:,} bytes").format(max_bytes=max_bytes),
            tr("split it, or raise the limit"),
        )


def _check_rows(text: str, content: Content, name: str) -> None:
    for start, end in row_spans(content.tables):
        if end - start > LONGEST_ROW:
            line = text.count("\n", 0, start) + 1
            raise DocumentError(
                name,
                tr(
                    "the row of a table that begins in line {line:,} has {length:,} characters, more than "
                    "{longest_row:,}"
                ).format(line=line, length=end - start, longest_row=LONGEST_ROW),
                tr("is a quotation mark not closed? Close it; or save the file as .txt, to be read as text"),
            )


def _media_type(name: str, media_type: str | None, data: bytes) -> str:
    if media_type is not None:
        kind = media_type.partition(";")[0].strip().lower()
        if kind not in READERS:
            raise DocumentError(name, tr("unsupported media type {kind!r}").format(kind=kind) + in_words())
        return kind
    suffix = suffix_of(name)
    if suffix in MEDIA_TYPES:
        return MEDIA_TYPES[suffix]
    if suffix in RDF:
        raise DocumentError(
            name,
            tr(IS_RDF),
            tr("graphrag-rdf import {name}; or rename it to .txt, to be read as text").format(name=name),
        )
    if suffix in OF_WING_FORMATS:
        raise DocumentError(name, no_reader(suffix), readable())
    if is_text(data[:SAMPLE]):
        return "text/plain"
    message = (
        tr("unsupported format {suffix!r}, and no text")
        if suffix
        else tr("no suffix that tells the format, and no text")
    )
    raise DocumentError(name, message.format(suffix=suffix), readable())


def no_reader(suffix: str) -> str:
    """Why a file with a suffix in `OF_WING_FORMATS` is not read."""
    return tr("{suffix} needs the wing formats, which this installation lacks").format(suffix=suffix)


def readable() -> str:
    """The formats that can be read, for hints."""
    return tr(_READABLE).format(suffixes=" ".join(sorted(SUPPORTED)), compressed=GZIP_SUFFIX)


def _finish(content: Content, name: str, media_type: str) -> ParsedDocument:
    text = storable_text(content.text)
    if not text.strip():
        raise DocumentError(name, tr("no text found"))
    _check_rows(text, content, name)
    pages = tuple(
        Page(page.number, storable_text(page.text), page.offset, page.label) for page in content.pages
    )
    turns = content.turns or (() if media_type in _NO_CHATS or content.tables else find_turns(text))
    speakers = dict.fromkeys(turn.speaker for turn in turns)
    declared = [value for iri, value in content.metadata if iri == LANGUAGE]
    language = normalise_tag(content.language) or next(filter(None, map(normalise_tag, declared)), None)
    own = one_line(content.title)[:MAX_TITLE]
    title = title_of(own, one_line(content.heading), text)
    language = language or _language(text, content)
    offsets = {each.offset for each in content.headings}
    headings = [replace(each, text=one_line(each.text)) for each in content.headings]
    headings += [each for each in glued_headings(text, language) if each.offset not in offsets]
    instead = [] if own in ("", title) else [(ALTERNATIVE, own)]
    return ParsedDocument(
        text=text,
        pages=pages,
        media_type=media_type,
        title=(title or _readable(name))[:MAX_TITLE],
        language=language,
        encoding=content.encoding,
        metadata=_tidy(
            [*content.metadata, *instead, *((CONTRIBUTOR, name) for name in islice(speakers, _MOST_SPEAKERS))]
        ),
        titled=bool(title),
        tables=tuple(
            replace(table, names=tuple(map(storable_text, table.names))) for table in content.tables
        ),
        unsaid=content.unsaid,
        warnings=content.warnings,
        turns=turns,
        headings=tuple(sorted(headings, key=lambda each: each.offset)),
    )


def _language(text: str, content: Content) -> str | None:
    """The language of a text. Names and numbers in tables are of none, though their script may tell; longer
    cells are of it.
    """
    apart = sorted([*row_spans(content.tables), *content.unsaid])
    if not apart:
        return detect_language(text)
    return detect_script(text) or detect_language(_prose(text, content, apart))


def _prose(text: str, content: Content, apart: Sequence[Span]) -> str:
    between = pairwise([(0, 0), *apart, (len(text), len(text))])
    parts = [text[start:end] for (_, start), (end, _) in between if start < end]
    for table in content.tables:
        for start, end in table.rows[:_ROWS_LOOKED_AT]:
            cells = read_row(text[start:end], table.separator, table.names) or ()
            parts += [cell.text for cell in cells if cell.text.count(" ") >= _WORDS_OF_PROSE]
    return "\n".join(part for part in parts if not part.isspace())


def _tidy(metadata: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """One-line values, without blanks and duplicates; the language has a field of its own."""
    pairs = ((iri, one_line(value)[:_MAX_VALUE]) for iri, value in metadata if iri != LANGUAGE)
    return tuple(dict.fromkeys(pair for pair in pairs if pair[1]))


def _readable(name: str) -> str:
    """A title from a file name: quarterly_report-2024.txt → Quarterly report 2024."""
    inner = PurePath(inner_name(name))
    stem = one_line(re.sub("[_-]+", " ", inner.stem)) or one_line(inner.name) or "Untitled"
    return stem[0].upper() + stem[1:]


def why_unreadable(error: OSError | ValueError, path: Path) -> str:
    """The reason of what the system refused.

    Args:
        error: a ValueError is of a name that cannot be one, such as with a NUL.
        path: what was asked for.
    """
    if not isinstance(error, OSError):
        return str(error)
    if error.errno == errno.ENOENT and os.path.islink(path):  # noqa: PTH114 - Path.is_symlink may raise
        return tr("a symbolic link that leads nowhere")
    reason = _REASONS.get(error.errno or 0)
    return tr(reason) if reason else error.strerror or str(error)
