"""From bytes to characters: gzip, character encodings, plain text."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from io import BytesIO

from graphrag_rdf.documents.readers.content import Content, UnreadableError
from graphrag_rdf.i18n import tr

# longest mark first: the mark of UTF-16 is the beginning of that of UTF-32
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# charsets that a page may declare: ASCII-compatible, and never a codec that interprets escapes
_DECLARABLE = re.compile(
    r"(?:iso-?8859|windows-|cp12|koi8|gb|big5|euc|shift|sjis|iso-2022|mac|latin|ascii|us-ascii|tis)[\w-]*",
    re.I,
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
# the legacy encodings of the WHATWG Encoding Standard: statistics confuse these with those of DOS and
# old printers, which hardly any file is in
_LEGACY = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("cp866", "iso8859_2", "iso8859_5", "iso8859_7", "koi8_r", "koi8_u", "mac_roman"),
    *("gb18030", "big5", "euc_jp", "iso2022_jp", "shift_jis", "euc_kr"),
)
# Western European text is by far the commonest, and nearly as likely in its neighbours' encodings
_WESTERN = "cp1252"
_LATIN = frozenset({"cp1250", "cp1254", "cp1257", "cp1258", "cp874", "iso8859_2", "mac_roman"})
_TIE = 0.1
# more control characters than this share of the text: it is not text
_BINARY_SHARE = 0.01
SAMPLE = 1 << 16
"""Bytes that tell whether a file is text."""


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """Decode a text file: byte order mark, UTF-8, the declared charset, then statistics.

    Args:
        data: the file's bytes.
        declared: charset that the file itself names (HTML); used only where UTF-8 does not decide.

    Returns:
        the text without its byte order mark and otherwise unchanged, and Python's name of the encoding.

    Raises:
        UnreadableError: the bytes are not text in any encoding that can be recognised.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                return _checked(data[len(mark) :].decode(encoding), encoding)
            except UnicodeDecodeError as error:
                raise UnreadableError(
                    tr("not valid {encoding}, though it begins like it: {reason}").format(
                        encoding=encoding, reason=error.reason
                    )
                ) from None
    usable = declared if declared and _DECLARABLE.fullmatch(declared) else None
    # an ASCII-only file may still be ISO-2022-JP: then, and only then, the declaration comes first
    order = [usable, "utf-8"] if data.isascii() else ["utf-8", usable]
    for candidate in (*order, _utf16_without_mark(data)):
        if candidate:
            try:
                return _checked(data.decode(candidate), codecs.lookup(candidate).name)
            except (UnicodeDecodeError, LookupError):
                continue
    return _guess(data)


def is_text(sample: bytes) -> bool:
    """Whether what a file begins with is text in some encoding, rather than a program's data."""
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if sample.startswith(mark)), None)
    text = sample.decode(marked or _utf16_without_mark(sample) or "latin-1", "replace")
    return (
        bool(text.strip()) and "\0" not in text and len(_CONTROL.findall(text)) <= _BINARY_SHARE * len(text)
    )


def _utf16_without_mark(data: bytes) -> str | None:
    """UTF-16 of mostly Latin text has a zero in every second byte."""
    sample = data[:SAMPLE]
    half = len(sample) // 2
    if half and len(data) % 2 == 0:
        if sample[1::2].count(0) > 0.7 * half:
            return "utf-16-le"
        if sample[0::2].count(0) > 0.7 * half:
            return "utf-16-be"
    return None


def _guess(data: bytes) -> tuple[str, str]:
    if data[:SAMPLE].count(0):
        raise UnreadableError(tr("not a text file (binary data)"))
    from charset_normalizer import from_bytes

    matches = from_bytes(data, cp_isolation=[*_LEGACY])
    best = matches.best()
    if best is None:
        raise UnreadableError(
            tr("not a text file, or in an unknown character encoding"), tr("save it as UTF-8")
        )
    encoding = best.encoding
    if encoding in _LATIN and any(
        _WESTERN in match.could_be_from_charset and match.chaos <= best.chaos + _TIE for match in matches
    ):
        encoding = _WESTERN
    try:
        return _checked(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        raise UnreadableError(
            tr("looks like {encoding}, but is not valid").format(encoding=encoding), tr("save it as UTF-8")
        ) from None


def _checked(text: str, encoding: str) -> tuple[str, str]:
    if len(_CONTROL.findall(text)) > _BINARY_SHARE * len(text):
        raise UnreadableError(tr("not a text file (binary data)"))
    return text.removeprefix("\ufeff"), encoding


# --- plain text ----------------------------------------------------------------------------------------


def read_plain(data: bytes) -> Content:
    """Decode a text file.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    return Content(text, encoding=encoding)


# --- files compressed with gzip: `manual.html.gz` is read as `manual.html` -----------------------------


def unpacked(data: bytes, max_bytes: int) -> bytes:
    """The bytes in a gzip file, all its members.

    Args:
        max_bytes: no more are unpacked, whatever the file claims.

    Raises:
        UnreadableError: it is damaged, or holds more.
    """
    try:
        with gzip.open(BytesIO(data)) as file:
            content = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(tr("damaged: {cause}").format(cause=error)) from error
    if len(content) > max_bytes:
        raise UnreadableError(
            tr("larger than {max_bytes:,} bytes when unpacked").format(max_bytes=max_bytes),
            tr("split it, or raise the limit"),
        )
    return content


def beginning(sample: bytes, most: int) -> bytes:
    """What the beginning of a gzip file unpacks to, at most so many bytes; empty if it is damaged."""
    try:
        return zlib.decompressobj(wbits=31).decompress(sample, most)
    except zlib.error:
        return b""
