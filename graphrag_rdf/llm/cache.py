"""Answers of models and vectors on disk: least recently used ones are evicted, forgotten text is erased.

One SQLite file, written through a log (WAL), so a killed process leaves complete entries. The prompt is
kept with the answer, because `forget` has to find text in it.
"""

from __future__ import annotations

import logging
import math
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal as Choice
from typing import TypeAlias, TypeVar

from graphrag_rdf.errors import StoreError
from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.model import encodable

T = TypeVar("T")

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
  key TEXT PRIMARY KEY, prompt TEXT NOT NULL, answer TEXT NOT NULL,
  size INTEGER NOT NULL, used INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS entry_used ON entry (used);
CREATE TABLE IF NOT EXISTS learnt (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
EMBEDDING = "embedding:"
"""Prefix of the keys of vectors; other keys are bare hashes."""
Kind: TypeAlias = Choice["answers", "embeddings"]
_OF_KIND: dict[Kind | None, str] = {
    None: "1",
    "answers": f"key NOT GLOB '{EMBEDDING}*'",
    "embeddings": f"key GLOB '{EMBEDDING}*'",
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NOT_WORD = re.compile(r"[\W_]+")
_EVICT_TO = 0.9  # a share of max_bytes: evicting entry by entry would scan at every put


@dataclass(frozen=True, slots=True)
class CacheStats:
    """State of a cache.

    Attributes:
        entries: how many.
        bytes: of prompts and answers, UTF-8.
        hits: since it was opened.
    """

    entries: int
    bytes: int
    max_bytes: int
    hits: int


class ResponseCache:
    """Answers by key. Safe with several threads and several processes.

    A cache never fails a call: a damaged file is renamed, and a write that fails (disk
    full, file read-only) is logged as a warning.

    Args:
        path: the file; folders above it are made.
        max_bytes: of prompts and answers, UTF-8.

    Raises:
        StoreError: the file cannot be opened or made.
    """

    def __init__(self, path: Path, max_bytes: int = 1 << 30) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._hits = 0
        self._erased = 0.0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._db = self._open()
            except sqlite3.Error as error:
                if not _is_damage(error):
                    raise
                self._db = self._replace_damaged(error)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                tr("the cache of model answers {path} cannot be opened: {error}").format(
                    path=path, error=error
                ),
                tr("make the folder writable, or name another one"),
            ) from error

    def get(self, key: str) -> str | None:
        """The answer kept under a key, or None."""
        row = self._guarded(lambda db: self._get(db, key), "read")
        with self._lock:
            self._hits += row is not None
        return row

    def get_many(self, keys: Sequence[str]) -> dict[str, str]:
        """The answers kept under keys, by key; those that are not there are missing. One transaction."""

        def read(db: sqlite3.Connection) -> dict[str, str]:
            with _transaction(db, writing=False):
                answers = ((key, self._get(db, key)) for key in keys)
                return {key: answer for key, answer in answers if answer is not None}

        kept = self._guarded(read, "read") or {}
        with self._lock:
            self._hits += len(kept)
        return kept

    def entry(self, key: str) -> tuple[str, str] | None:
        """(prompt, answer) of an entry, without counting as its use; None if it is not there."""
        find = "SELECT prompt, answer FROM entry WHERE key = ?"
        row = self._guarded(lambda db: db.execute(find, (key,)).fetchone(), "read")
        return None if row is None else (str(row[0]), str(row[1]))

    def put(self, key: str, prompt: str, answer: str, *, since: float = math.inf) -> None:
        """Keep an answer, in place of the one before it.

        Args:
            since: when its texts were read, by `time.monotonic`; nothing is kept if texts were erased later.
            key: SHA-256 of everything that the answer depends on.
            prompt: the texts of all messages as they are, where `forget` looks.
            answer: what `get` gives back.
        """
        self._guarded(
            lambda db: None if since < self._erased else self._put(db, key, prompt, answer),
            "written",
        )

    def put_many(self, entries: Iterable[tuple[str, str, str]]) -> None:
        """Keep several answers in one transaction, which takes a fraction of the time.

        Args:
            entries: (key, prompt, answer), as of `put`.
        """

        def write(db: sqlite3.Connection) -> None:
            with _transaction(db, writing=True):
                for key, prompt, answer in entries:
                    self._put(db, key, prompt, answer)

        self._guarded(write, "written")

    def discard(self, key: str) -> None:
        """Drop one entry, if it is there."""
        self._guarded(lambda db: db.execute("DELETE FROM entry WHERE key = ?", (key,)), "written")

    def learnt(self, key: str) -> str | None:
        """A learned property of a server, or None; see `llm.servers`."""
        find = "SELECT value FROM learnt WHERE key = ?"
        row = self._guarded(lambda db: db.execute(find, (key,)).fetchone(), "read")
        return None if row is None else str(row[0])

    def learn(self, key: str, value: str) -> None:
        """Keep a learned property of a server, until `clear`."""
        put = "INSERT OR REPLACE INTO learnt VALUES (?, ?)"
        self._guarded(lambda db: db.execute(put, (key, value)), "written")

    def forget(self, texts: Sequence[str]) -> int:
        """Erase entries whose prompt or answer holds one of the texts, in the file as well.

        Only letters and digits are compared, so that line breaks, quoting or escapes in a prompt hide
        nothing. Texts without any letter or digit are passed over.

        Returns:
            the number of entries erased.

        Raises:
            StoreError: when it cannot be done: text that should be gone is still there.
        """
        wanted = [squeezed for squeezed in map(_squeeze, texts) if squeezed]
        if not wanted:
            return 0
        with self._lock:
            self._erased = time.monotonic()
            try:
                rows = self._db.execute("SELECT key, prompt, answer FROM entry")
                matching_keys = [
                    (key,)
                    for key, prompt, answer in rows
                    if any(
                        text in squeezed
                        for squeezed in (_squeeze(prompt), _squeeze(answer))
                        for text in wanted
                    )
                ]
                self._db.executemany("DELETE FROM entry WHERE key = ?", matching_keys)
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error as error:
                raise StoreError(
                    tr("text could not be erased from the cache of model answers {path}: {error}").format(
                        path=self.path, error=error
                    ),
                    tr("stop other processes that use it, then try again, or delete {path}").format(
                        path=self.path
                    ),
                ) from error
        return len(matching_keys)

    def clear(self, kind: Kind | None = None) -> int:
        """Erase everything, or all of a kind.

        Returns:
            the number of entries erased.

        Raises:
            StoreError: when it cannot be done.
        """
        with self._lock:
            self._erased = time.monotonic()
            try:
                count = self._db.execute(f"DELETE FROM entry WHERE {_OF_KIND[kind]}").rowcount
                if kind != "embeddings":
                    self._db.execute("DELETE FROM learnt")
                self._db.execute("VACUUM")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error as error:
                raise StoreError(
                    tr("the cache of model answers {path} could not be emptied: {error}").format(
                        path=self.path, error=error
                    ),
                    tr("delete {path}").format(path=self.path),
                ) from error
        return int(count)

    def stats(self, kind: Kind | None = None) -> CacheStats:
        """Entries and bytes, of all or of a kind; hits of all."""
        totals = self._guarded(lambda db: _totals(db, kind), "read")
        entries, size = totals if totals is not None else (0, 0)
        return CacheStats(entries, size, self.max_bytes, self._hits)

    def close(self) -> None:
        """Close the file."""
        with self._lock, suppress(sqlite3.Error):
            self._db.close()

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            # freed pages are overwritten (forget must erase) and given back to the disk
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = ON").fetchall()
            db.executescript(_SCHEMA)
            self._size = _totals(db)[1]
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _replace_damaged(self, error: sqlite3.Error) -> sqlite3.Connection:
        renamed = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
        self.path.replace(renamed)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        log.warning(
            "the cache of model answers was damaged (%s): moved to %s, a new one was started", error, renamed
        )
        return self._open()

    def _guarded(self, work: Callable[[sqlite3.Connection], T], done: str) -> T | None:
        with self._lock:
            try:
                return work(self._db)
            except sqlite3.Error as error:
                if not _is_damage(error):
                    log.warning("the cache of model answers %s cannot be %s: %s", self.path, done, error)
                    return None
                try:
                    self._db.close()
                    self._db = self._replace_damaged(error)
                except (OSError, sqlite3.Error) as second:
                    log.warning("the cache of model answers %s is damaged: %s", self.path, second)
                return None

    def _get(self, db: sqlite3.Connection, key: str) -> str | None:
        row = db.execute("SELECT answer FROM entry WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        with suppress(sqlite3.OperationalError):  # a cache that cannot be written can still be read
            db.execute("UPDATE entry SET used = ? WHERE key = ?", (time.time_ns(), key))
        return str(row[0])

    def _put(self, db: sqlite3.Connection, key: str, prompt: str, answer: str) -> None:
        prompt, answer = encodable(prompt), encodable(answer)
        size = len(prompt.encode()) + len(answer.encode())
        if size > self.max_bytes:
            return
        row = (key, prompt, answer, size, time.time_ns())
        db.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", row)
        self._size += size
        if self._size > self.max_bytes:
            self._evict(db, key)

    def _evict(self, db: sqlite3.Connection, newest: str) -> None:
        """Drop the least recently used until nine tenths are left; other processes may have written too."""
        self._size = _totals(db)[1]
        if self._size <= self.max_bytes:
            return
        goal, gone = int(self.max_bytes * _EVICT_TO), []
        for key, size in db.execute("SELECT key, size FROM entry WHERE key <> ? ORDER BY used", (newest,)):
            if self._size <= goal:
                break
            gone.append((key,))
            self._size -= size
        db.executemany("DELETE FROM entry WHERE key = ?", gone)
        db.execute("PRAGMA incremental_vacuum").fetchall()


@contextmanager
def _transaction(db: sqlite3.Connection, *, writing: bool) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _totals(db: sqlite3.Connection, kind: Kind | None = None) -> tuple[int, int]:
    query = f"SELECT count(*), coalesce(sum(size), 0) FROM entry WHERE {_OF_KIND[kind]}"
    entries, size = db.execute(query).fetchone()
    return int(entries), int(size)


def _is_damage(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _DAMAGED


def _squeeze(text: str) -> str:
    return _NOT_WORD.sub(" ", text).casefold().strip()
