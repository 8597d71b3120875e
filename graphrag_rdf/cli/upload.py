"""Documents of this computer to a server: `ingest --server`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import DocumentError

if TYPE_CHECKING:
    from graphrag_rdf.client import Client
    from graphrag_rdf.documents.discover import Discovery, Source
    from graphrag_rdf.ingest.report import IngestReport
    from graphrag_rdf.ingest.schedule import Progress

_AT_ONCE, _FILES = 16 << 20, 500
"""Bytes of one request, as a rule: a larger file goes by itself; and files, of which a server takes 1000."""


def send_documents(client: Client, found: Discovery, max_bytes: int, progress: Progress) -> IngestReport:
    """Send files to a server, which ingests them; what was sent before and is as it was costs nothing.

    Args:
        max_bytes: larger files are not sent.

    Raises:
        ServerError: when the server cannot be reached, refuses, or breaks off.
    """
    from pydantic import TypeAdapter

    from graphrag_rdf.ingest.report import FailureReport, IngestReport

    failures = [FailureReport(path, None, "read", reason) for path, reason in found.errors]
    whole: dict[str, Any] = IngestReport().as_json()
    for batch in _batches(found.sources, max_bytes, failures):
        whole = merged(whole, client.ingest(batch, progress))
        if whole["stopped"]:
            break
    report = TypeAdapter(IngestReport).validate_python(whole)
    report.failures = [*failures, *report.failures]
    report.documents.failed += len(failures)
    report.skipped = [f"{path}: {why}" for path, why in found.skipped]
    for pattern in found.idle:
        report.warn("unused_exclude", f"--exclude {pattern}: no file or folder is called so")
    return report


def _batches(
    sources: Sequence[Source], max_bytes: int, failures: list[Any]
) -> Iterator[list[tuple[str, bytes]]]:
    from graphrag_rdf.documents.readers import load_bytes
    from graphrag_rdf.ingest.report import FailureReport

    batch: list[tuple[str, bytes]] = []
    size = 0
    for source in sources:
        try:
            data = load_bytes(source.path, max_bytes=max_bytes)
        except DocumentError as error:
            failures.append(FailureReport(error.path, None, "read", error.reason))
            continue
        if batch and (size + len(data) > _AT_ONCE or len(batch) == _FILES):
            yield batch
            batch, size = [], 0
        batch.append((source.identity, data))
        size += len(data)
    if batch:
        yield batch


def merged(one: Any, other: Any) -> Any:
    """Two reports as one: numbers are added, lists joined, what only one tells is kept."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: merged(one.get(key), other.get(key)) for key in {**one, **other}}
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one + other
    return [*one, *(item for item in other if item not in one)] if isinstance(one, list) else other
