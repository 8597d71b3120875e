"""Files compressed with gzip: `manual.html.gz` is read as `manual.html`."""

from __future__ import annotations

import gzip
import zlib
from io import BytesIO
from pathlib import PurePath

from graphrag_rdf.documents.readers.content import UnreadableError

SUFFIX = ".gz"


def inner_name(name: str) -> str:
    """The name without the suffix of gzip, if it has that."""
    return name[: -len(SUFFIX)] if PurePath(name).suffix.lower() == SUFFIX else name


def unpacked(data: bytes, max_bytes: int) -> bytes:
    """The bytes in a gzip file, all its members.

    Args:
        max_bytes: no more are unpacked, whatever the file claims.

    Raises:
        UnreadableError: it is damaged, or holds more.
    """
    try:
        with gzip.open(BytesIO(data)) as file:
            found = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"damaged: {error}") from error
    if len(found) > max_bytes:
        raise UnreadableError(
            f"larger than {max_bytes:,} bytes when unpacked", "split it, or raise the limit"
        )
    return found


def beginning(sample: bytes, most: int) -> bytes:
    """What the beginning of a gzip file unpacks to, at most so many bytes; empty if it is damaged."""
    try:
        return zlib.decompressobj(wbits=31).decompress(sample, most)
    except zlib.error:
        return b""
