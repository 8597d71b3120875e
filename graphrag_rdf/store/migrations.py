"""Numbered migrations: how the shape of a store evolves.

Each is an update template under `queries/migrations/`; what was applied, and when, is recorded in
`urn:graph:system` as a `rag:Migration`. A migration is never changed once released.
"""

from __future__ import annotations

from graphrag_rdf.errors import StoreError
from graphrag_rdf.rdf.terms import now, to_python
from graphrag_rdf.store.base import Changes, Store

MIGRATIONS: tuple[str, ...] = ("migrations/001-initial",)
"""Template names; the store version is how many of them were applied."""


def store_version(store: Store) -> int:
    """The version recorded in a store; 0 for an empty one."""
    rows = store.select("system/store-version")
    return max((int(to_python(row["version"])) for row in rows), default=0)  # type: ignore[arg-type]


def migrate(store: Store) -> int:
    """Bring a store to the version of this program; the version.

    Raises:
        StoreError: when the store was made by a newer program.
    """
    version = require_known_version(store)
    for number, template in enumerate(MIGRATIONS[version:], start=version + 1):
        store.commit(Changes(updates=[(template, {"number": number, "now": now()})]))
    return len(MIGRATIONS)


def require_known_version(store: Store) -> int:
    """The version of a store.

    Raises:
        StoreError: when the store was made by a newer program.
    """
    version = store_version(store)
    if version > len(MIGRATIONS):
        raise StoreError(
            f"the store has version {version}; this program knows versions up to {len(MIGRATIONS)}",
            hint="upgrade graphrag-rdf, or ingest into a new store",
        )
    return version
