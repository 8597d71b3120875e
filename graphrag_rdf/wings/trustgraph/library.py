"""The service `librarian`: stored texts, and documents.

A document is read when it is added, so `add-processing` only checks that it is there.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pyoxigraph import NamedNode
from starlette.requests import HTTPConnection
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from graphrag_rdf.documents.readers import MEDIA_TYPES, suffix_of
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.files import Upload
from graphrag_rdf.rdf import iris
from graphrag_rdf.server.content import read_content
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.representations import iri_of
from graphrag_rdf.server.routes.uploads import identity_of, run_ingest
from graphrag_rdf.server.service import service_of
from graphrag_rdf.trace.documents import DocumentSummary, list_documents
from graphrag_rdf.wings.trustgraph.lookups import Replies

Request = Mapping[str, Any]


async def librarian(connection: HTTPConnection, request: Request) -> Replies:
    """The operations of the table below."""
    operation = _OPERATIONS.get(str(request.get("operation")))
    if operation is None:
        raise Problem(
            400,
            tr("the librarian has no operation {name!r}").format(name=request.get("operation")),
            hint=tr(
                "operations: {operations}. Send documents of more than 2 MB with: graphrag-rdf "
                "ingest --server URL"
            ).format(operations=", ".join(_OPERATIONS)),
        )
    yield await operation(connection, request), True


async def _content(connection: HTTPConnection, request: Request) -> dict[str, Any]:
    require(connection, "read")
    data = await _bytes(connection, _named(request, "document-id"))
    return {"content": base64.b64encode(data).decode("ascii")}


async def document_stream(request: HTTPRequest) -> Response:
    """GET `document-stream`: the bytes behind an IRI as they are."""
    require(request, "read")
    if request.path_params["service"] != "document-stream":
        raise Problem(404, tr("only document-stream takes GET: send other requests with POST"))
    data = await _bytes(request, _named(request.query_params, "document-id"))
    return Response(data, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})


async def _bytes(connection: HTTPConnection, name: str) -> bytes:
    """The text of a chunk, page, step or answer, the bytes of a document or of a stored object.

    Raises:
        Problem: 404 when there are none.
    """
    engine = service_of(connection).engine
    for thing in (iri_of(name).value, *_documents_named(connection, name)):
        data = await asyncio.to_thread(read_content, engine, NamedNode(thing))
        if data is not None:
            return data
    raise Problem(404, tr("there is no text of {thing}").format(thing=name))


async def _documents(connection: HTTPConnection, request: Request) -> dict[str, Any]:
    require(connection, "read")
    del request
    documents = await asyncio.to_thread(list_documents, service_of(connection).engine.store)
    return {
        "document-metadatas": [_metadata(document) for document in documents if document.bytes is not None]
    }


async def _document(connection: HTTPConnection, request: Request) -> dict[str, Any]:
    require(connection, "read")
    name = _named(request, "document-id")
    listed = await asyncio.to_thread(list_documents, service_of(connection).engine.store)
    for document in listed:
        if document.iri == name:
            return {"document-metadata": _metadata(document)}
    raise Problem(404, tr("there is no document {name}").format(name=name))


def _metadata(document: DocumentSummary) -> dict[str, Any]:
    return {
        "id": document.iri,
        "time": 0 if document.added is None else int(document.added.timestamp()),
        "kind": document.mime or "",
        "title": document.title,
        "comments": "",
        "metadata": [],
        "tags": [],
        "document-type": "source",
    }


async def _add(connection: HTTPConnection, request: Request) -> dict[str, Any]:
    """Ingest a document. It goes on if the client does not wait for its end."""
    require(connection, "write")
    service = service_of(connection)
    service.require_writable()
    about = request.get("document-metadata")
    if not isinstance(about, Mapping):
        raise Problem(400, tr("document-metadata is missing"))
    try:
        data = base64.b64decode(str(request.get("content") or ""), validate=True)
    except ValueError:
        raise Problem(400, tr("content is not Base64")) from None
    identity = _identity(_named(about, "id"), str(about.get("kind") or ""))
    upload = Upload(identity, data, title=str(about.get("title") or ""))
    report = await asyncio.shield(
        run_ingest(service, lambda stop: service.engine.ingest_uploads([upload], stop=stop))
    )
    service.wrote(connection, service.engine.store.commit_number())
    for failure in report.failures:
        raise Problem(400, f"{upload.identity}: {failure.reason}")
    return {}


def _identity(name: str, kind: str) -> str:
    """The name of a document here: its own, with the suffix of its media type if it has none."""
    if suffix_of(name) not in MEDIA_TYPES:
        name += next((suffix for suffix, media_type in MEDIA_TYPES.items() if media_type == kind), "")
    return iri_of(name).value if "://" in name or name.startswith("urn:") else identity_of(name)


async def _process(connection: HTTPConnection, request: Request) -> dict[str, Any]:
    """Documents were read when they were added."""
    require(connection, "write")
    about = request.get("processing-metadata")
    name = _named(about if isinstance(about, Mapping) else {}, "document-id")
    documents = {
        document.iri
        for document in await asyncio.to_thread(list_documents, service_of(connection).engine.store)
    }
    if not documents & _documents_named(connection, name):
        raise Problem(
            404,
            tr("there is no document {name}").format(name=name),
            hint=tr("add it with tg-add-library-document"),
        )
    return {}


def _documents_named(connection: HTTPConnection, name: str) -> set[str]:
    """The IRIs that a document of this name can have here."""
    identities = {_identity(name, kind) for kind in ("", *MEDIA_TYPES.values())}
    bases = (service_of(connection).engine.settings.extract.namespace, iris.DEFAULT_NAMESPACE)
    return {iris.document(identity, base).value for identity in identities for base in bases}


def _named(request: Request, key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or not value:
        raise Problem(400, tr("{key} is missing").format(key=key))
    return value


_OPERATIONS: Mapping[str, Callable[[HTTPConnection, Request], Awaitable[dict[str, Any]]]] = {
    "get-document-content": _content,
    "list-documents": _documents,
    "get-document": _document,
    "add-document": _add,
    "add-processing": _process,
}
