"""The blob store: data that is too large for a literal, stored by its SHA-256.

It holds original bytes, page texts, prompts, raw completions and rendered queries. RDF refers to a blob by
`urn:sha256:…`. Equal content is stored once. Writing is atomic (temporary file, then rename).
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
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris

_PREFIX = "urn:sha256:"


class BlobStore:
    """Content-addressed storage.

    Args:
        path: the folder; None for memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._memory: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()
        self._own = secrets.token_hex(8)
        self._numbers = count()

    @property
    def path(self) -> Path | None:
        """Its folder; None in memory."""
        return self._path

    def put(self, data: str | bytes, *, hold: bool = False) -> NamedNode:
        """Store bytes (a text as UTF-8) and return their IRI.

        Args:
            hold: protect it from `sweep` until `release`, because nothing in the store names it yet.

        Raises:
            StoreError: when it cannot be written.
        """
        content = data.encode() if isinstance(data, str) else data
        key = iris.digest(content)
        if hold:
            with self._lock:
                self._held[key] += 1
        if self.get(iris.stored_object(key)) is not None:  # a damaged blob is written again
            return iris.stored_object(key)
        packed = zlib.compress(content, 1)
        if self._path is None:
            self._memory[key] = packed
            return iris.stored_object(key)
        try:
            _write_whole(self._file(key), self._temporary(), packed)
        except OSError as error:
            raise StoreError(
                tr("cannot write {path}: {cause}").format(path=self._path, cause=error),
                hint=tr("check free space and permissions"),
            ) from error
        return iris.stored_object(key)

    def get(self, iri: NamedNode | str) -> bytes | None:
        """The bytes of a blob; None if it is unknown, erased, or damaged."""
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
        """A blob as UTF-8 text."""
        data = self.get(iri)
        return None if data is None else data.decode(errors="replace")

    def delete(self, iri: NamedNode | str) -> bool:
        """Erase a blob; whether it existed."""
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
        """Release blobs that `put` held, once for each `put`: the store names them by now, or never will."""
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
        """Erase blobs that nothing names and nothing holds; return their number.

        Args:
            named: returns the blobs that the store names. It is called under a lock: a blob that is put
                meanwhile is written again afterwards.
        """
        with self._lock:
            free = [iri for iri in candidates if _key(iri) not in self._held]
            wanted = named(free) if free else ()
            return sum(self.delete(iri) for iri in free if iri not in wanted)

    def objects(self) -> Iterator[NamedNode]:
        """The IRIs of all blobs."""
        if self._path is None:
            keys: Iterable[str] = list(self._memory)
        else:
            keys = (file.name for file in sorted(self._path.glob("??/*")) if not file.name.startswith("."))
        for key in keys:
            yield iris.stored_object(key)

    def _temporary(self) -> str:
        """A name that no other process or thread uses."""
        return f".new-{self._own}-{next(self._numbers)}"

    def _file(self, key: str) -> Path:
        assert self._path is not None  # noqa: S101
        return self._path / key[:2] / key


def _write_whole(target: Path, temporary: str, content: bytes) -> None:
    """Write a file atomically; create a missing folder."""
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
