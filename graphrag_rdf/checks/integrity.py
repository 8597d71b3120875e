"""Integrity of the whole store.

Most checks are templates under `queries/checks/`, which return the node with the error and a message. This
module also checks the blobs (they exist and match their hash), the texts of documents (they match the chunks
at their offsets) and the search index.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from graphrag_rdf.i18n import tr
from graphrag_rdf.store.base import Store, in_batches
from graphrag_rdf.store.blobs import BlobStore

if TYPE_CHECKING:
    from graphrag_rdf.index.text import TextIndex

Severity: TypeAlias = Literal["error", "warning"]

CHECKS: Mapping[str, Severity] = {
    "facts-contained": "error",
    "names-contained": "error",
    "contained-asserted": "error",
    "retracted-asserted": "error",
    "corrections-contained": "error",
    "containers-typed": "error",
    "subgraph-chain": "error",
    "evidence-chain": "error",
    "evidence-contained": "error",
    "evidence-quotes": "error",
    "sentence-places": "error",
    "sentence-order": "error",
    "sentence-mentions": "error",
    "chunk-chain": "error",
    "chunk-length": "error",
    "pages-contiguous": "error",
    "pages-counted": "error",
    "one-label": "error",
    "entities-named": "error",
    "entities-canonical": "error",
    "one-canonical": "error",
    "canonical-fixed": "error",
    "derived-relations": "error",
    "summaries": "error",
    "communities": "error",
    "chunk-relations": "error",
    "relation-evidence": "error",
    "stated-relations": "error",
    "claims": "error",
    "document-version": "error",
    "document-finished": "warning",
    "sessions-ended": "warning",
    "sessions-whole": "error",
    "steps-derived": "error",
    "trace-ends": "error",
    "selections": "error",
    "runs-finished": "warning",
    "erasures-finished": "warning",
    "restores-finished": "warning",
}
"""Template under `queries/checks/` → severity. Warnings are left by killed processes or unfinished runs, and
the next run repairs them."""

LIMIT = 1000
"""Maximum number of violations of one check."""
_BATCH = 50


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of the integrity of the store.

    Attributes:
        check: a name in `CHECKS`, or object-damaged, object-missing, chunk-text, index-commit, shape.
        focus: the IRI of the node with the error.
    """

    check: str
    severity: Severity
    focus: str
    message: str


def run_checks(
    store: Store, blobs: BlobStore, text_index: TextIndex | None = None, *, limit: int = LIMIT
) -> list[Violation]:
    """Run all checks.

    Args:
        text_index: the index of words, if there is one.
        limit: maximum number of violations of one check.

    Returns:
        the violations, in the order of `CHECKS`.
    """
    return list(_violations(store, blobs, text_index, limit))


def _violations(
    store: Store, blobs: BlobStore, text_index: TextIndex | None, limit: int
) -> Iterator[Violation]:
    # the engine releases the interpreter lock, so concurrent queries use several cores
    with ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="check") as pool:
        results = pool.map(lambda name: store.select(f"checks/{name}", limit=limit), CHECKS)
        for (name, severity), rows in zip(CHECKS.items(), results, strict=True):
            for row in rows:
                yield Violation(name, severity, row["focus"], row["message"])
    yield from islice(_objects(store, blobs), limit)
    yield from islice(_texts(store, blobs), limit)
    if text_index is not None and text_index.commit_number > store.content_commit():
        yield Violation(
            "index-commit",
            "error",
            "urn:graphrag-rdf:store",
            tr(
                "the search index is at commit {commit_number}, and the store only at "
                "{store}: run graphrag-rdf index rebuild"
            ).format(commit_number=text_index.commit_number, store=store.content_commit()),
        )


# --- the blob store -------------------------------------------------------------------------------


def _objects(store: Store, blobs: BlobStore) -> Iterator[Violation]:
    present = {iri.value for iri in blobs.objects()}
    sound: dict[str, bool] = {}
    mend = {
        "checks/document-objects": tr("run graphrag-rdf ingest (or import) with its file"),
        "checks/trace-objects": tr("restore it from a backup, or remove the trace with trace prune"),
    }
    for template, way_out in mend.items():
        for row in store.select(template):
            iri = row["object"]
            if iri not in sound:
                sound[iri] = iri in present and blobs.get(iri) is not None
            if sound[iri]:
                continue
            focus = row["focus"]
            if iri in present:
                yield Violation(
                    "object-damaged",
                    "error",
                    focus,
                    tr("the blob {iri} does not match its hash: {way_out}").format(iri=iri, way_out=way_out),
                )
            else:
                yield Violation(
                    "object-missing",
                    "warning",
                    focus,
                    tr("the blob {iri} is missing: {way_out}").format(iri=iri, way_out=way_out),
                )


def _texts(store: Store, blobs: BlobStore) -> Iterator[Violation]:
    """Chunks that differ from their document's text at their offset, if that text is stored."""
    for batch in in_batches(store.select("checks/document-texts"), _BATCH):
        objects = {row["document"].value: row["object"] for row in batch}
        texts: dict[str, str | None] = {}
        documents = [row["document"] for row in batch]
        for row in store.select("checks/placed-texts", documents=documents):
            document = row["document"].value
            if document not in texts:
                texts[document] = blobs.text(objects[document])
            whole, text, offset = texts[document], row["text"], row["offset"]
            if whole is None or (whole.startswith(text, offset) and offset >= 0):
                continue
            message = tr("the text of {document} differs at offset {offset}").format(
                document=document, offset=offset
            )
            yield Violation("chunk-text", "error", row["chunk"], message)
