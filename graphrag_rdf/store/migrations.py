"""Numbered migrations of the store.

Each is an update template under `queries/migrations/`. The applied ones are recorded in `urn:graph:system` as
`rag:Migration`, with their time. A released migration is never changed.
"""

from __future__ import annotations

from graphrag_rdf.errors import StoreError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Store

MIGRATIONS: tuple[str, ...] = (
    "migrations/001-initial",
    "migrations/002-merged-names",
    "migrations/003-entity-counts",
)
"""Template names; the version of a store is the number of applied ones."""


def store_version(store: Store) -> int:
    """The version of a store; 0 for an empty one."""
    rows = store.select("system/store-version")
    return max((row["version"] for row in rows), default=0)


def migrate(store: Store) -> int:
    """Migrate a store to the version of this program; return the version.

    Raises:
        StoreError: when the store is from a newer version.
    """
    version = require_known_version(store)
    for number, template in enumerate(MIGRATIONS[version:], start=version + 1):
        store.commit(Changes(updates=[(template, {"number": number, "now": now()})]))
    return len(MIGRATIONS)


def require_known_version(store: Store) -> int:
    """The version of a store.

    Raises:
        StoreError: when the store is from a newer version.
    """
    version = store_version(store)
    if version > len(MIGRATIONS):
        raise StoreError(
            tr("the store has version {version}, and this program supports versions up to {count}").format(
                version=version, count=len(MIGRATIONS)
            ),
            hint=tr("upgrade graphrag-rdf, or ingest into a new store"),
        )
    return version
