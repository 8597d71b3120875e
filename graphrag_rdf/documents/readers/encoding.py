"""From bytes to characters, without guessing more than needed."""

from __future__ import annotations

import codecs
import re

from graphrag_rdf.documents.readers.content import UnreadableError

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
# more control characters than this share of the text: it is not text
_BINARY_SHARE = 0.01
_SAMPLE = 1 << 16


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
                    f"not valid {encoding}, though it begins like it: {error.reason}"
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


def _utf16_without_mark(data: bytes) -> str | None:
    """UTF-16 of mostly Latin text has a zero in every second byte."""
    sample = data[:_SAMPLE]
    half = len(sample) // 2
    if half and len(data) % 2 == 0:
        if sample[1::2].count(0) > 0.7 * half:
            return "utf-16-le"
        if sample[0::2].count(0) > 0.7 * half:
            return "utf-16-be"
    return None


def _guess(data: bytes) -> tuple[str, str]:
    if data[:_SAMPLE].count(0):
        raise UnreadableError("not a text file (binary data)")
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise UnreadableError("not a text file, or in an unknown character encoding", "save it as UTF-8")
    try:
        return _checked(data.decode(best.encoding), best.encoding)
    except UnicodeDecodeError:
        raise UnreadableError(f"looks like {best.encoding}, but is not valid", "save it as UTF-8") from None


def _checked(text: str, encoding: str) -> tuple[str, str]:
    if len(_CONTROL.findall(text)) > _BINARY_SHARE * len(text):
        raise UnreadableError("not a text file (binary data)")
    return text.removeprefix("\ufeff"), encoding
