"""The blob store: what is too large for a literal, kept by its SHA-256.

Original bytes, page texts, prompts, raw completions, rendered queries. RDF points at an object by
`urn:sha256:…`. Equal content is stored once; writing is atomic (temporary file, then rename).
"""

from __future__ import annotations

import os
import secrets
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count
from pathlib import Path

from pyoxigraph import NamedNode

from graphrag_rdf.errors import StoreError
from graphrag_rdf.rdf import iris

_PREFIX = "urn:sha256:"


class BlobStore:
    """Content-addressed storage.

    Args:
        path: the folder; None keeps everything in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._memory: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()
        self._own = secrets.token_hex(8)
        self._numbers = count()

    def put(self, data: str | bytes, *, hold: bool = False) -> NamedNode:
        """Store bytes (a text as UTF-8) and return their IRI.

        Args:
            hold: keep it from `sweep` until `release`: nothing in the store names it yet.

        Raises:
            StoreError: when the disk refuses.
        """
        content = data.encode() if isinstance(data, str) else data
        key = iris.digest(content)
        if hold:
            with self._lock:
                self._held[key] += 1
        if self.get(iris.stored_object(key)) is not None:  # a damaged object is written anew
            return iris.stored_object(key)
        packed = zlib.compress(content, 1)
        if self._path is None:
            self._memory[key] = packed
            return iris.stored_object(key)
        try:
            _write_whole(self._file(key), self._temporary(), packed)
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be written: {error}", hint="check free space and permissions"
            ) from error
        return iris.stored_object(key)

    def get(self, iri: NamedNode | str) -> bytes | None:
        """The bytes of an object; None if it is unknown, was erased, or is damaged."""
        key = _key(iri)
        if key is None:
            return None
        try:
            packed = self._memory[key] if self._path is None else self._file(key).read_bytes()
            content = zlib.decompress(packed)
        except (KeyError, OSError, zlib.error):
            return None
        return content if iris.digest(content) == key else None

    def text(self, iri: NamedNode | str) -> str | None:
        """An object as UTF-8 text."""
        data = self.get(iri)
        return None if data is None else data.decode(errors="replace")

    def delete(self, iri: NamedNode | str) -> bool:
        """Erase an object; whether it was there."""
        key = _key(iri)
        if key is None:
            return False
        if self._path is None:
            return self._memory.pop(key, None) is not None
        try:
            self._file(key).unlink()
        except FileNotFoundError:
            return False
        return True

    def release(self, held: Iterable[NamedNode]) -> None:
        """Let go of what `put` held, as often as it did: the store names it by now, or never will."""
        with self._lock:
            for iri in held:
                key = _key(iri)
                if key is None:
                    continue
                self._held[key] -= 1
                if self._held[key] <= 0:
                    del self._held[key]

    def sweep(
        self, candidates: Iterable[NamedNode], named: Callable[[list[NamedNode]], Collection[object]]
    ) -> int:
        """Erase those of some objects that nothing names, save for what is held; how many were erased.

        Args:
            named: which of the objects the store names. It is asked, and the rest erased, while nobody can
                take hold of an object: one that is put meanwhile is written anew afterwards.
        """
        with self._lock:
            free = [iri for iri in candidates if _key(iri) not in self._held]
            wanted = named(free) if free else ()
            return sum(self.delete(iri) for iri in free if iri not in wanted)

    def objects(self) -> Iterator[NamedNode]:
        """The IRIs of all objects."""
        if self._path is None:
            keys: Iterable[str] = list(self._memory)
        else:
            keys = (file.name for file in sorted(self._path.glob("??/*")) if not file.name.startswith("."))
        for key in keys:
            yield iris.stored_object(key)

    def _temporary(self) -> str:
        """A name that no other blob store or thread takes, without asking the folder."""
        return f".new-{self._own}-{next(self._numbers)}"

    def _file(self, key: str) -> Path:
        assert self._path is not None  # noqa: S101
        return self._path / key[:2] / key


def _write_whole(target: Path, temporary: str, content: bytes) -> None:
    """Write a file so that it is there whole or not at all; makes its folder if that is missing."""
    beside = target.with_name(temporary)
    try:
        try:
            handle = _create(beside)
        except FileNotFoundError:  # rarely: there are 256 of these folders
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = _create(beside)
        with os.fdopen(handle, "wb", buffering=0) as file:
            while content:
                content = content[file.write(content) :]
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _key(iri: NamedNode | str) -> str | None:
    text = iri if isinstance(iri, str) else iri.value
    key = text.removeprefix(_PREFIX)
    return key if text.startswith(_PREFIX) and len(key) == 64 and key.isalnum() else None
