"""Search by meaning: unit vectors of entities, sentences, chunks and reports, compared by cosine.

Below 200,000 vectors of a kind each is compared. Above, an HNSW graph (extra `usearch`) proposes ten
times as many as asked for. In both cases the proposed are scored again in float64, row by row, so that a
score depends on the two vectors alone.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf import layout
from graphrag_rdf.i18n import tr

from ..errors import SearchIndexError
from . import manifest
from .embedders import unit_rows
from .records import KINDS, Hit, Kind, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .embedders import Vectors
    from .segment import Row, Segment

_FORMAT = 1
_BATCH = 1000
_UNIT = 1e-3  # from 1, of the length of a vector
_PURGE_ABOVE = 0.25  # share of dead rows at which a commit rewrites a segment
_OVERFETCH = 10
EXACT_BELOW = 200_000

log = logging.getLogger(__name__)


class VectorIndex:
    """The vectors of one embedding model. A search sees what was committed.

    One process writes (the store's lock sees to it), any number may read meanwhile, each as of its
    opening. Files never change; a manifest, replaced as a whole, names those that count.

    Args:
        path: its folder; None for one in memory.
        model: the embedding model in force; None takes any that the index was made with.
        exact_below: up to so many vectors of a kind, each is compared.

    Raises:
        SearchIndexError: made with another model, or damaged.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        model: str | None,
        exact_below: int = EXACT_BELOW,
    ) -> None:
        self._path = path
        self._exact_below = exact_below
        self._told = False
        self._segments: dict[Kind, list[Segment]] = {kind: [] for kind in KINDS}
        self._pending: dict[Kind, dict[str, Row | None]] = {kind: {} for kind in KINDS}
        self._state: dict[str, Any] = {
            "format": _FORMAT, "commit": 0, "model": model, "dimension": None, "next": 1, "segments": []
        }  # fmt: skip
        self._load()
        if model is not None and self.model != model:
            if self.model is not None:
                raise SearchIndexError(
                    tr(
                        "The vectors in {path} were made by {model!r}, and the embedding model is now "
                        "{now!r}."
                    ).format(path=path, model=self.model, now=model),
                    manifest.REBUILD,
                )
            self._state["model"] = model

    @property
    def commit_number(self) -> int:
        """The number given to the last commit; 0 for a new index."""
        return int(self._state["commit"])

    @property
    def model(self) -> str | None:
        """The embedding model of the vectors."""
        name: str | None = self._state["model"]
        return name

    @property
    def dimension(self) -> int | None:
        """The length of the vectors; None while there are none."""
        size: int | None = self._state["dimension"]
        return size

    def count(self, kind: Kind) -> int:
        """How many vectors of a kind can be found."""
        return sum(segment.count for segment in self._segments[kind])

    def iris(self, kind: Kind) -> Iterator[str]:
        """What can be found of a kind."""
        for segment in self._segments[kind]:
            for row in segment.living():
                yield row.iri

    # --- writing ---------------------------------------------------------------------------------

    def missing(self, records: Iterable[Record]) -> list[Record]:
        """The records whose present content has no vector yet, in their order."""
        listed = list(records)
        indexed: dict[tuple[Kind, str], str] = {}
        for kind in KINDS:
            iris = [record.iri for record in listed if record.kind == kind]
            for segment in self._segments[kind]:
                indexed.update(((kind, iri), segment.content(row)) for iri, row in segment.find(iris))
            for iri, row_ in self._pending[kind].items():
                indexed[kind, iri] = row_.content if row_ else ""
        return [r for r in listed if indexed.get((r.kind, r.iri)) != r.content_hash]

    def apply(self, records: Sequence[Record], vectors: NDArray[Any], deletes: Sequence[str] = ()) -> None:
        """Add or replace the vectors of records, and remove IRIs of any kind.

        Args:
            records: what the vectors stand for.
            vectors: [records, dimension], of any length; kept as float32 of unit length.
            deletes: IRIs to remove; unknown ones are passed over.

        Raises:
            SearchIndexError: another number of vectors or dimension, or values that are not finite.
        """
        from .segment import Row

        for kind in KINDS:
            self._pending[kind].update(dict.fromkeys(deletes))
        if not records and not len(vectors):
            return
        rows = unit_rows(vectors)
        if len(rows) != len(records):
            raise SearchIndexError(
                tr("{records} records came with {vectors} vectors.").format(
                    records=len(records), vectors=len(rows)
                )
            )
        self._fits(rows.shape[1])
        self._state["dimension"] = rows.shape[1]
        for record, vector in zip(records, rows, strict=True):
            self._pending[record.kind][record.iri] = Row(record.iri, record.content_hash, vector)

    def differences(self, records: Iterable[Record]) -> Iterator[tuple[str, str]]:
        """Differences from these records: the IRI, and what is wrong."""
        import numpy as np

        kept: set[tuple[Kind, int]] = set()
        stream = iter(records)
        while batch := list(islice(stream, _BATCH)):
            kept.update((record.kind, hash(record.iri)) for record in batch)
            for record in self.missing(batch):
                yield record.iri, tr("the index of vectors {lacks}").format(lacks=tr(manifest.LACKS))
        for kind in KINDS:
            for row in (row for segment in self._segments[kind] for row in segment.living()):
                if (kind, hash(row.iri)) not in kept:
                    yield row.iri, tr("the index of vectors has it, the store has not")
                if not abs(float(np.linalg.norm(row.vector)) - 1) < _UNIT:
                    yield row.iri, tr("its vector is damaged: it is not of unit length")

    def retain(self, records: Iterable[Record]) -> int:
        """Remove everything but these records; with `missing` and `apply`, catches up with a store.

        Returns:
            how many vectors go at the next commit.
        """
        kept = {(record.kind, hash(record.iri)) for record in records}
        gone = 0
        for kind in KINDS:
            for segment in self._segments[kind]:
                for row in segment.living():
                    if (kind, hash(row.iri)) not in kept:
                        self._pending[kind][row.iri] = None
                        gone += 1
        return gone

    def commit(self, number: int, *, purge: bool = False) -> None:
        """Make all applied changes durable and searchable.

        Args:
            number: the store's commit that the index now covers; the store must hold it already.
            purge: also erase removed vectors physically from the files, as forgetting demands.

        Raises:
            SearchIndexError: another process has written in between.
        """
        if self._path:
            state = manifest.read(self._path, form=_FORMAT)
            if state is not None and state["next"] != self._state["next"]:
                raise SearchIndexError(
                    tr("Another process has written to the vectors in {path}.").format(path=self._path),
                    tr("Try again."),
                )
        fresh: list[Segment] = []
        changed = number != self.commit_number or any(self._pending.values())
        for kind in KINDS:
            self._bury(kind)
            fresh += self._add(kind)
            fresh += self._tidy(kind, purge=purge)
        changed = changed or bool(fresh)
        self._state["commit"] = number
        if changed:
            self._save(fresh)

    def _bury(self, kind: Kind) -> None:
        for segment in self._segments[kind]:
            for _, row in segment.find([*self._pending[kind]]):
                segment.alive[row] = False

    def _add(self, kind: Kind) -> list[Segment]:
        rows = [row for row in reversed(self._pending[kind].values()) if row]
        self._pending[kind] = {}
        if not rows:
            return []
        # each row is let go as soon as it is copied
        segment = self._build((rows.pop() for _ in range(len(rows))), len(rows))
        self._segments[kind].append(segment)
        return [segment]

    def _tidy(self, kind: Kind, *, purge: bool) -> list[Segment]:
        """Rewrites segments with many dead rows, and joins a segment to its predecessor when it is no
        smaller: so there are few, and a vector is copied about log2(commits) times."""
        limit = 0.0 if purge else _PURGE_ABOVE
        tidy: list[Segment] = []
        fresh: list[Segment] = []
        for segment in self._segments[kind]:
            group = [segment]
            count = segment.count
            while tidy and count >= tidy[-1].count:
                group.insert(0, tidy.pop())
                count += group[0].count
            dead = sum(len(each.vectors) for each in group) - count
            if len(group) == 1 and dead <= limit * len(segment.vectors):
                tidy.append(segment)
            elif count:
                joined = self._build((row for each in group for row in each.living()), count)
                tidy.append(joined)
                fresh.append(joined)
        self._segments[kind] = tidy
        if self.count(kind) > self._exact_below and find_spec("usearch"):
            for segment in tidy:
                if segment.ann is None and len(segment.vectors) > self._exact_below // 4:
                    segment.build_ann(self._path)
        return fresh

    def _build(self, rows: Iterable[Row], count: int) -> Segment:
        from .segment import Segment

        name = f"{self._state['next']:06d}"
        self._state["next"] += 1
        return Segment.build(name, self._state["dimension"], rows, count)

    def _fits(self, dimension: int) -> None:
        if self.dimension not in (None, dimension):
            raise SearchIndexError(
                tr("The vectors of {model!r} in the index have {dimension} numbers, not {wanted}.").format(
                    model=self.model, dimension=self.dimension, wanted=dimension
                ),
                manifest.REBUILD,
            )

    # --- reading ---------------------------------------------------------------------------------

    def search(self, vector: NDArray[Any], *, kind: Kind, k: int) -> list[Hit]:
        """The k records of a kind nearest to a vector, by falling cosine, ties by IRI.

        Args:
            vector: [dimension], any length but 0.
            kind: what to find.
            k: at most so many.

        Raises:
            SearchIndexError: a vector of another dimension.
        """
        if k < 1 or not self.count(kind):
            return []
        (query,) = unit_rows(vector.reshape(1, -1))
        self._fits(len(query))
        scored = [
            (segment.iri(row), score)
            for segment, rows in self._nearest(query, kind, k)
            for row, score in zip(rows, _cosines(segment, rows, query), strict=True)
        ]
        best = heapq.nsmallest(k, scored, key=lambda pair: (-pair[1], pair[0]))
        return [Hit(iri, kind, score) for iri, score in best]

    def _nearest(self, query: Vectors, kind: Kind, k: int) -> list[tuple[Segment, list[int]]]:
        """Rows with the k nearest among them, in spite of rounding, and few others; see `_OVERFETCH`."""
        import numpy as np

        segments = self._segments[kind]
        approximate = self.count(kind) > self._exact_below
        if approximate and not self._told and not any(segment.ann is not None for segment in segments):
            log.warning("Comparing all %d vectors; pip install 'graphrag-rdf[usearch]'", self.count(kind))
            self._told = True
        near: list[tuple[Segment, NDArray[np.int64]]] = []
        full: list[tuple[Segment, Vectors]] = []
        for segment in segments:
            if approximate and segment.ann is not None:
                near.append((segment, segment.near(query, k * _OVERFETCH)))
            else:
                full.append((segment, segment.products(query)))
        if full:
            products = np.concatenate([each for _, each in full])
            least = np.partition(products, -k)[-k] if k < len(products) else np.float32(-2)
            # a float32 dot product of unit vectors is off by less than dimension x 2^-24
            floor = max(float(least) - 2 * len(query) * 2.0**-23, -1.5)
            near += [(segment, np.flatnonzero(each >= floor)) for segment, each in full]
        return [(segment, [int(row) for row in rows]) for segment, rows in near if len(rows)]

    # --- files -----------------------------------------------------------------------------------

    def _load(self) -> None:
        if self._path is None:
            return
        for attempt in range(3):
            state = manifest.read(self._path, form=_FORMAT)
            if state is None:
                break
            try:
                self._segments = self._mapped(state)
            except FileNotFoundError as error:  # joined by the writer between our two looks
                if attempt == 2:
                    raise manifest.damaged(self._path, error) from error
            except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError) as error:
                raise manifest.damaged(self._path, error) from error
            else:
                self._state = state
                return
        if self._state["segments"]:
            raise SearchIndexError(
                tr("There is no search index in {path}.").format(path=self._path), manifest.REBUILD
            )
        self._path.mkdir(parents=True, exist_ok=True)

    def _mapped(self, state: dict[str, Any]) -> dict[Kind, list[Segment]]:
        from .segment import Segment

        segments: dict[Kind, list[Segment]] = {kind: [] for kind in KINDS}
        if self._path:
            for each in state["segments"]:
                segment = Segment.load(self._path, each["name"], each["dead"])
                if segment.vectors.shape[1:] != (state["dimension"],):
                    raise ValueError(tr("segment {name} has another dimension").format(name=each["name"]))
                segments[each["kind"]].append(segment)
        return segments

    def _save(self, fresh: Sequence[Segment]) -> None:
        named = {segment.name: kind for kind in KINDS for segment in self._segments[kind]}
        self._state["segments"] = [
            {"name": segment.name, "kind": kind, "dead": segment.dead}
            for kind in KINDS
            for segment in self._segments[kind]
        ]
        if self._path is None:
            return
        for segment in fresh:
            if segment.name in named:
                segment.save(self._path)
        manifest.write(self._path, self._state)
        for file in layout.own(self._path, layout.VECTOR_INDEX):
            if file.name != manifest.NAME and file.name.split(".")[0] not in named:
                with suppress(PermissionError):  # Windows keeps what a reader has open: next time, then
                    file.unlink(missing_ok=True)
        self._segments = self._mapped(self._state)  # what was in memory is now mapped from the files


def _cosines(segment: Segment, rows: Sequence[int], query: Vectors) -> list[float]:
    """Cosines in float64, each computed from its own row alone."""
    import numpy as np

    chosen = segment.vectors[list(rows)].astype(np.float64)
    wide = query.astype(np.float64)
    lengths = np.sqrt((chosen * chosen).sum(axis=1)) * np.sqrt((wide * wide).sum())
    cosines = (chosen * wide).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)
    return [float(each) for each in np.clip(cosines, -1.0, 1.0)]
