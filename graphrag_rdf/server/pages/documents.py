"""The pages of `/documents`: the list, and an area for uploads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import HTTPConnection, Request

from graphrag_rdf.ingest.duplicates import Duplicate
from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.pages.ask import lacks
from graphrag_rdf.server.pages.lists import links_of, turns
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.documents import DocumentSummary

_COLUMNS = (
    ("title", "Document", False),
    ("size", "Size", True),
    ("pages", "Pages", True),
    ("chunks", "Chunks", True),
    ("facts", "Facts", True),
    ("language", "Language", False),
    ("added", "Added", False),
    ("failures", "Failures", True),
)
"""Sort key of each column, its heading, and whether it is a number."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A request for the list; see `trace.documents.list_documents`."""

    match: str
    failed: bool
    sort: str | None
    reverse: bool
    limit: int
    offset: int

    @property
    def chosen(self) -> dict[str, str]:
        """Parameters of the address that differ from the defaults."""
        texts = {"match": self.match, "sort": self.sort or ""}
        truths = {name: "true" for name in ("failed", "reverse") if getattr(self, name)}
        return {name: text for name, text in texts.items() if text} | truths


@dataclass(frozen=True, slots=True)
class UploadArea:
    """Whether documents can be uploaded.

    Attributes:
        barred: why there are no uploads: `read-only` or `no-tokens`; None if there are.
        token: a token is needed.
        most: bytes of one request.
    """

    barred: str | None
    token: bool
    most: int


def upload_area(connection: HTTPConnection, service: Service) -> UploadArea:
    """Whether and how documents can be uploaded from a page of this server."""
    access: Access = connection.app.state.access
    token = lacks(connection, "write")
    barred = (
        "read-only" if service.read_only else "no-tokens" if token and not access.takes("write") else None
    )
    return UploadArea(barred, token, service.settings.max_body_mb << 20)


def documents_page(
    request: Request, service: Service, found: Sequence[DocumentSummary], asked: ListRequest
) -> str:
    """A page of the list, with a search box."""
    return render(
        "documents",
        "/documents",
        documents=found,
        asked=asked,
        columns=[(*column, _sorted_by(column[0], asked)) for column in _COLUMNS],
        links=links_of(service),
        upload=upload_area(request, service),
        **turns("/documents", asked.limit, asked.offset, len(found), **asked.chosen),
    )


def report_page(request: Request, service: Service, report: Mapping[str, Any]) -> str:
    """The report of an upload."""
    return render("uploaded", "/documents", report=report, upload=upload_area(request, service))


def duplicates_page(service: Service, found: Sequence[Duplicate]) -> str:
    """Pairs of duplicates."""
    return render("duplicates", "/documents", pairs=found, links=links_of(service))


def _sorted_by(name: str, asked: ListRequest) -> str:
    """The address of the list in another order; reversed if it has that order already."""
    kept = {key: value for key, value in asked.chosen.items() if key not in ("sort", "reverse")}
    turned = {"reverse": "true"} if asked.sort == name and not asked.reverse else {}
    return f"/documents?{urlencode({**kept, 'sort': name, **turned})}"
