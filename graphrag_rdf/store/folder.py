"""The folder of a store on disk, and the process that has it open. `layout` has the names in it."""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from graphrag_rdf import layout
from graphrag_rdf.errors import StoreError, StoreLockedError, StoreMissingError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.frozen import drop_all_unused
from graphrag_rdf.store.generations import folder_of, is_database
from graphrag_rdf.store.migrations import migrate, require_known_version

log = logging.getLogger(__name__)

DEFAULT_COLLECTION = "default"
_COMMAND = 80  # length of a command in holder.json


def is_address(store: str) -> bool:
    """Whether the setting `store` is the address of an endpoint rather than a folder."""
    return "://" in store


@dataclass(frozen=True, slots=True)
class Served:
    """A server that has a store open.

    Attributes:
        url: its address.
        key: who knows it may read the store's folder; None: the server makes no copies (an older version).
    """

    url: str
    key: str | None


@dataclass(frozen=True, slots=True)
class StoreFolder(layout.StorePaths):
    """The folder of a store: opening it, and notes about the process that has it open."""

    @property
    def exists(self) -> bool:
        """Whether there is a database in the folder."""
        former = self.database.with_name(f"{self.database.name}.old")  # see `generations.settle`
        return any(map(is_database, (folder_of(self.database), former)))

    @property
    def is_writable(self) -> bool:
        """Whether this user may write to an existing store."""
        database = folder_of(self.database)
        places = (self.root, database, database / "LOCK")
        return all(os.access(place, os.W_OK) for place in places if place.exists())

    @classmethod
    def of_collection(cls, store: Path, collection: str = DEFAULT_COLLECTION) -> StoreFolder:
        """The folder of a collection.

        Raises:
            UsageError: for an invalid name.
        """
        if collection == DEFAULT_COLLECTION:
            return cls(store)
        if not re.fullmatch(layout.COLLECTION, collection):
            raise UsageError(
                tr("invalid name of a collection: {collection!r}").format(collection=collection),
                hint=tr("use at most 64 letters, digits, - and _, beginning with a letter or digit"),
            )
        return cls(store / layout.COLLECTIONS / collection, store)

    def open(
        self, templates: TemplateLibrary, *, create: bool, read_only: bool = False
    ) -> tuple[EmbeddedStore, BlobStore]:
        """Open the database, brought to this program's version, and the blob store.

        Args:
            templates: the query library.
            create: create a missing folder.
            read_only: write nothing, not even a lock.

        Raises:
            StoreError: when it is missing and not to be created, damaged, or from a newer version.
            StoreLockedError: when another process has it open; the message names that process.
        """
        if self.root.exists() and not self.root.is_dir():
            raise StoreError(
                tr("{root} is a file, not a folder").format(root=self.root),
                hint=tr("name the folder of a store with --store"),
            )
        self.require_own()
        if not create and not self.exists:
            raise StoreMissingError(
                tr("there is no store yet: ingest documents first"),
                hint=tr(
                    "graphrag-rdf ingest DOCUMENTS; or name the folder of a store with --store, "
                    "which {place} is not"
                ).format(place=self.root),
            )
        # Closing a lock file releases this process's own lock, so the holder never tries it. Nobody writes an
        # earlier state.
        if (
            read_only
            and self.past is None
            and (self._noted().get("pid") == os.getpid() or _is_locked(folder_of(self.database) / "LOCK"))
        ):
            raise self.locked()
        if not read_only and self.exists and not self.is_writable:
            raise StoreError(
                tr("you have no permission to write to the store {root}").format(root=self.root),
                hint=tr(
                    "to change it, change the permissions of the folder, or copy it. Questions and "
                    "serve --read-only work without"
                ),
            )
        blobs = BlobStore(self.blobs)
        try:
            store = EmbeddedStore(templates, self.database, read_only=read_only, blobs=blobs)
        except StoreLockedError as error:
            raise self.locked() from error
        if not read_only:  # copies left by a killed process may hold forgotten text
            layout.remove(self.snapshots, layout.COPIES)
            drop_all_unused(self.frozen, unclaimed=0)
        try:
            if read_only:
                require_known_version(store)
            else:
                migrate(store)
        except StoreError:
            store.close()
            raise
        if not read_only:
            self.note_holder()
        return store, blobs

    def release(self) -> None:
        """Delete the note about this process, and its token. That a kill left something stays noted."""
        if self.is_unsettled:
            self._write_note({"unsettled": True})
        else:
            self.holder.unlink(missing_ok=True)
        self.token.unlink(missing_ok=True)

    @property
    def is_unsettled(self) -> bool:
        """Whether a process that had the store open was killed, and nobody has settled what it left."""
        return self._noted().get("unsettled") is True

    def note_settled(self) -> None:
        """Note that what a killed process left is settled."""
        self._write_note({key: value for key, value in self._noted().items() if key != "unsettled"})

    def note_holder(self) -> None:
        """Write a note about this process, for processes that find the store in use."""
        command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
        command = command if len(command) <= _COMMAND else f"{command[:_COMMAND]}…"
        note: dict[str, object] = {"pid": os.getpid(), "command": command, "since": now().isoformat()}
        if self.holder.exists():  # its process has not deleted it
            note["unsettled"] = True
        self._write_note(note)

    def _write_note(self, note: Mapping[str, object]) -> None:
        try:
            layout.write(self.holder, json.dumps(note))
        except OSError as error:
            raise StoreError(
                tr("cannot write {path}: {cause}").format(path=self.root, cause=error)
            ) from error

    def _noted(self) -> dict[str, object]:
        """The note about the process that has, or last had, the store open; empty without one."""
        try:
            note = json.loads(self.holder.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}

    def locked(self) -> StoreLockedError:
        """The error that names the process with the store open."""
        note = self._noted()
        complete = {"pid", "command", "since"} <= note.keys()
        who = (
            f"process {note['pid']} ({note['command']}, since {str(note['since'])[:19]})"
            if complete
            else "another process"
        )
        server = self.served
        hint = tr("wait until it ends, or stop it")
        if server is not None:
            hint = tr("the server at {url} has it open; this command writes: stop the server first").format(
                url=server.url
            )
        return StoreLockedError(
            tr("the store {root} is in use by {who}").format(root=self.root, who=who),
            hint,
            server.url if server else None,
        )

    @property
    def served(self) -> Served | None:
        """The server that has, or last had, the store open; None when it was another program."""
        note = self._noted()
        url, key = note.get("url"), note.get("key")
        if not isinstance(url, str):
            return None
        return Served(url, key if isinstance(key, str) else None)

    def note_server(self, server: Served, token: str) -> None:
        """Add the address and the key of the server in this process to the note, and write its token.

        The server runs without them, if they cannot be written.
        """
        note = {**self._noted(), "url": server.url, "key": server.key}
        try:
            layout.write(self.holder, json.dumps(note))
            layout.write(self.token, token, mode=0o600)
        except OSError as error:
            cause = error.strerror or error
            log.warning("cannot write %s: %s; commands need --server URL and a token", error.filename, cause)

    @property
    def own_token(self) -> str | None:
        """The token of the server that has the store open, if this user runs it.

        It is sent to the address in the folder, so no link is followed and no file of another user is read.
        """
        try:
            with os.fdopen(os.open(self.token, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))) as file:
                owner = os.fstat(file.fileno()).st_uid
                return file.read() if os.name != "posix" or owner == os.geteuid() else None
        except OSError:
            return None


def is_store(folder: Path) -> bool:
    """Whether a folder is a store, or holds the local files of a remote one (see `local_files`)."""
    place = StoreFolder(folder)
    return place.exists or (place.origin.exists() and place.index.is_dir())


def collections(store: Path) -> list[str]:
    """The names of the collections in a store's folder, the default one first."""
    beside = sorted(path.name for path in (store / layout.COLLECTIONS).glob("*") if StoreFolder(path).exists)
    return [DEFAULT_COLLECTION] * StoreFolder(store).exists + beside


def _is_locked(lock: Path) -> bool:
    """Whether another process holds a lock file (POSIX only; False elsewhere)."""
    if os.name != "posix":
        return False
    import fcntl

    try:
        with lock.open("rb") as file:  # works with read permission only
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
