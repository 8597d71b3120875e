"""Forms with files, server-sent events, and files that hold a token."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.i18n import tr


def form_of(files: Sequence[tuple[str, bytes]]) -> tuple[str, bytes]:
    """(media type, body) of a form with files (RFC 7578). httpx would write %22 for a quote in a name.

    Args:
        files: (name, content).
    """
    boundary = uuid.uuid4().hex
    parts = []
    for name, content in files:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{quoted}"\r\n\r\n'
        parts += [head.encode("utf-8", "replace"), content, b"\r\n"]
    return f"multipart/form-data; boundary={boundary}", b"".join([*parts, f"--{boundary}--\r\n".encode()])


def events(lines: Iterable[bytes]) -> Iterator[str]:
    """The data of each server-sent event; comments, names and ids are ignored.

    An event that ends without an empty line after it was cut off, and is dropped, as the standard says.
    """
    data: list[str] = []
    for line in lines:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data:
                yield "\n".join(data)
            data = []
            continue
        name, _, value = text.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))


def read_token(path: Path) -> str:
    """The token of a file: the first one, where lines are `role TOKEN` as the server has them.

    Raises:
        UsageError: when there is none.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            tr("{path} cannot be read: {cause}").format(path=path, cause=system_cause(error))
        ) from error
    words = next((line_words for line in lines if (line_words := line.partition("#")[0].split())), [])
    if len(words) not in (1, 2) or not words[-1].isascii():
        raise UsageError(
            tr("{path} holds no token").format(path=path), hint=tr("one line: TOKEN, or: read TOKEN")
        )
    return words[-1]
