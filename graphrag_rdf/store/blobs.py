"""The blob store: data that is too large for a literal, stored by its SHA-256.

It holds original bytes, page texts, prompts, raw completions and rendered queries. RDF refers to a blob by
`urn:sha256:…`. Equal content is stored once. Writing is atomic (temporary file, then rename).
"""

from __future__ import annotations

import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from pyoxigraph import NamedNode

from graphrag_rdf import layout
from graphrag_rdf.errors import StoreError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris

_PREFIX = "urn:sha256:"
_KEY = re.compile("[0-9a-f]{64}")


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
            layout.write(self._file(key), packed, mode=0o600)
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
            packed = self._memory[key] if self._path is None else layout.read(self._file(key))
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
            keys = (file.name for file in sorted(self._path.glob("??/*")) if _KEY.fullmatch(file.name))
        for key in keys:
            yield iris.stored_object(key)

    def _file(self, key: str) -> Path:
        assert self._path is not None  # noqa: S101
        return self._path / key[:2] / key


def _key(iri: NamedNode | str) -> str | None:
    text = iri if isinstance(iri, str) else iri.value
    key = text.removeprefix(_PREFIX)
    return key if text.startswith(_PREFIX) and _KEY.fullmatch(key) else None
