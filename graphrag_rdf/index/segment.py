"""An immutable segment of vectors of a kind: in memory, or as files mapped into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from .embedders import Vectors

_ROW = np.dtype([("key", "<u8"), ("content", "<u8"), ("offset", "<u8"), ("length", "<u4")])
_BLOCK = 10_000  # rows copied or multiplied at a time
_ANN_TYPE = "f16"


@dataclass(frozen=True, slots=True)
class Row:
    """A vector to be kept, for an IRI and the content that it was made from (16 hexadecimal digits)."""

    iri: str
    content: str
    vector: Vectors


class Segment:
    """Vectors with their IRIs and content hashes; rows can be marked dead, never changed.

    Files: `NAME.vectors.npy` float32 [rows, dimension]; `NAME.rows.npy` (key: 64-bit hash of the IRI,
    content hash, place of the IRI); `NAME.iris` UTF-8; and, where it pays, `NAME.usearch`, an HNSW graph.

    Args:
        vectors: float32 [rows, dimension], unit length.
        rows: the table beside them.
        iris: the IRIs, end to end.
        dead: numbers of the rows that do not count.
    """

    def __init__(
        self,
        name: str,
        vectors: Vectors,
        rows: NDArray[Any],
        iris: NDArray[np.uint8],
        dead: Sequence[int] = (),
    ) -> None:
        if not len(vectors) == len(rows) or int(rows["length"].sum()) != len(iris):
            raise ValueError(tr("the files of segment {name} do not fit together").format(name=name))
        self.name = name
        self.vectors = vectors
        self.ann: Any = None
        self._rows = rows
        self._iris = iris
        self.alive = np.ones(len(rows), dtype=np.bool_)
        self.alive[np.asarray(dead, dtype=np.int64)] = False
        self._order = np.argsort(rows["key"], kind="stable")
        self._keys = rows["key"][self._order]

    @property
    def count(self) -> int:
        """Number of live rows."""
        return int(self.alive.sum())

    @property
    def dead(self) -> list[int]:
        """The rows that are marked dead."""
        return [int(row) for row in np.flatnonzero(~self.alive)]

    def iri(self, row: int) -> str:
        start = int(self._rows["offset"][row])
        return self._iris[start : start + int(self._rows["length"][row])].tobytes().decode("utf-8")

    def content(self, row: int) -> str:
        return f"{int(self._rows['content'][row]):016x}"

    def find(self, iris: Sequence[str]) -> Iterator[tuple[str, int]]:
        """(IRI, row) of those IRIs that have a living row here."""
        keys = np.array([_key(iri) for iri in iris], dtype=np.uint64)
        places = np.searchsorted(self._keys, keys)
        inside = places < len(self._keys)
        inside[inside] = self._keys[places[inside]] == keys[inside]
        for number in map(int, np.flatnonzero(inside)):
            place = int(places[number])
            while place < len(self._keys) and self._keys[place] == keys[number]:
                row = int(self._order[place])
                if self.alive[row] and self.iri(row) == iris[number]:
                    yield iris[number], row
                place += 1

    def products(self, vector: Vectors) -> Vectors:
        """Dot products with all rows in float32, -2 for dead ones; their last digits depend on the layout."""
        similarities: Vectors = np.where(self.alive, self.vectors @ vector, np.float32(-2))
        return similarities

    def living(self) -> Iterator[Row]:
        for row in map(int, np.flatnonzero(self.alive)):
            yield Row(self.iri(row), self.content(row), self.vectors[row])

    # --- files

    def save(self, folder: Path) -> None:
        """Write the files durably; the caller names the segment in the manifest afterwards."""
        for part, array in (("vectors.npy", self.vectors), ("rows.npy", self._rows), ("iris", self._iris)):
            with (folder / f"{self.name}.{part}").open("wb") as file:
                if part == "iris":
                    file.write(array.tobytes())
                else:
                    np.save(file, array)
                file.flush()
                os.fsync(file.fileno())

    @classmethod
    def load(cls, folder: Path, name: str, dead: Sequence[int]) -> Segment:
        """Maps the files into memory.

        Raises:
            OSError, ValueError: they are not there, or not what was written.
        """
        iris = folder / f"{name}.iris"
        segment = cls(
            name,
            np.load(folder / f"{name}.vectors.npy", mmap_mode="r"),
            np.load(folder / f"{name}.rows.npy"),
            np.memmap(iris, dtype=np.uint8, mode="r"),
            dead,
        )
        graph = folder / f"{name}.usearch"
        if graph.exists() and find_spec("usearch"):  # without it each vector is compared, and that is said
            from usearch.index import Index

            segment.ann = Index.restore(str(graph), view=True)
        return segment

    @classmethod
    def build(cls, name: str, dimension: int, parts: Iterable[Row], count: int) -> Segment:
        """A segment in memory from `count` rows."""
        vectors = np.empty((count, dimension), dtype=np.float32)
        rows = np.empty(count, dtype=_ROW)
        iris = bytearray()
        for number, row in enumerate(parts):
            raw = row.iri.encode("utf-8", "surrogatepass")
            vectors[number] = row.vector
            rows[number] = (_key(row.iri), int(row.content, 16), len(iris), len(raw))
            iris += raw
        return cls(name, vectors, rows, np.frombuffer(bytes(iris), dtype=np.uint8))

    def build_ann(self, folder: Path | None) -> None:
        """Build the graph for approximate search (Malkov and Yashunin, HNSW, 2018) with usearch."""
        from usearch.index import Index

        ann = Index(ndim=self.vectors.shape[1], metric="ip", dtype=_ANN_TYPE)
        for start in range(0, len(self.vectors), _BLOCK):
            block = np.ascontiguousarray(self.vectors[start : start + _BLOCK])
            ann.add(np.arange(start, start + len(block), dtype=np.uint64), block)
        if folder:
            path = folder / f"{self.name}.usearch"
            temporary = path.with_suffix(".new")
            ann.save(str(temporary))
            temporary.replace(path)
        self.ann = ann

    def near(self, vector: Vectors, count: int) -> NDArray[np.int64]:
        """About the `count` nearest living rows, by the graph."""
        wanted = min(len(self.vectors), count + len(self.vectors) - self.count)
        keys = np.asarray(self.ann.search(vector, wanted).keys, dtype=np.int64)
        return keys[self.alive[keys]]


def _key(iri: str) -> int:
    return int.from_bytes(blake2b(iri.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
