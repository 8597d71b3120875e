"""The resources: vocabularies, documents and traces, each at an address that begins with `graphrag-rdf://`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from pyoxigraph import RdfFormat, Triple, serialize

from graphrag_rdf.engine import Engine
from graphrag_rdf.i18n import tr
from graphrag_rdf.lists.declaration import Asked, List
from graphrag_rdf.lists.documents import DOCUMENTS
from graphrag_rdf.lists.traces import TRACES
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import PREFIXES, Graphs
from graphrag_rdf.schema.observed import file_declarations
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.store.vocabularies import vocabulary_triples
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.sources import find_document
from graphrag_rdf.trace.text import render_trace

if TYPE_CHECKING:
    import mcp_types as types

SCHEME = "graphrag-rdf://"
PAGE = 100
"""Documents of a page of the list of resources."""
_NEWEST = 1000
"""Items of a resource that is a list."""
_LONGEST = 1 << 20
"""Characters of a document."""
_CURSOR = re.compile(r"[0-9]{1,9}")
_PLACE = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, or with a place in its path, many.

    Attributes:
        path: after the scheme; a place in braces takes the name of one thing, percent-encoded.
        read: its content, given that name; "" without a place.
    """

    path: str
    title: str
    about: str
    media_type: str
    read: Callable[[Engine, str], str]

    @property
    def uri(self) -> str:
        """Its address, or the template of the addresses (RFC 6570)."""
        return SCHEME + self.path

    @property
    def pattern(self) -> str:
        """A regular expression of its addresses, with a group for the name."""
        return "([^/]+)".join(map(re.escape, _PLACE.split(self.uri)))

    @property
    def described(self) -> dict[str, Any]:
        """What a list says of it, without its address."""
        about = {"title": self.title, "description": self.about}
        return {"name": self.path, **about, "mime_type": self.media_type}

    @property
    def many(self) -> bool:
        """Whether its path has a place."""
        return _PLACE.search(self.path) is not None


def _turtle(triples: Iterable[Triple]) -> str:
    data = serialize(dict.fromkeys(triples), format=RdfFormat.TURTLE, prefixes=PREFIXES)
    return (data or b"").decode()


def _vocabularies(engine: Engine, _: str) -> str:
    del engine
    return _turtle(vocabulary_triples())


def _schema(engine: Engine, _: str) -> str:
    stored = (quad.triple for quad in engine.store.quads(Graphs.ONTOLOGY))
    return _turtle([*file_declarations(), *stored])


def _list_of(listing: List, folder: str) -> Callable[[Engine, str], str]:
    """A list, each item with the address of its resource."""

    def read(engine: Engine, _: str) -> str:
        items = listing.items(engine, Asked(_NEWEST))
        addressed = [{**item, "resource": address(folder, item["iri"])} for item in items]
        return json.dumps({"items": addressed}, ensure_ascii=False)

    return read


def _document(engine: Engine, name: str) -> str:
    document = find_document(engine.store, name)
    rows = engine.store.select("documents/texts", documents=[document])
    text = engine.blobs.text(rows[0]["text"]) if rows else None
    if text is None:
        raise Problem(404, tr("the text of {document} is not kept").format(document=document.value))
    if len(text) > _LONGEST:
        cut = tr("[{count:,} more characters; the tool retrieve finds passages]")
        return f"{text[:_LONGEST]}\n\n{cut.format(count=len(text) - _LONGEST)}"
    return text


def _trace(engine: Engine, name: str) -> Trace:
    return read_trace(engine.store, find_trace(engine.store, name), engine.blobs)


def _trace_as_text(engine: Engine, name: str) -> str:
    return render_trace(_trace(engine, name))


def _trace_as_json(engine: Engine, name: str) -> str:
    return json.dumps(to_json(_trace(engine, name)), ensure_ascii=False)


_TURTLE, _JSON, _TEXT = "text/turtle", "application/json", "text/plain"
_VOCABULARIES = "The classes and properties of the program's graphs: documents, evidence, traces."
_FACTS = "The relations and types that the facts use, and the ontologies that are loaded."
_QUESTIONS = f"The newest questions and how they were answered, at most {_NEWEST:,}."
_BY_NAME = "By its IRI, path or title, percent-encoded."
_BY_UUID = "By IRI or UUID, or 'last'."

RESOURCES: tuple[Resource, ...] = (
    Resource("ontology", "Vocabularies", _VOCABULARIES, _TURTLE, _vocabularies),
    Resource("ontology/schema", "Schema of the facts", _FACTS, _TURTLE, _schema),
    Resource("documents", "Documents", f"At most {_NEWEST:,}.", _JSON, _list_of(DOCUMENTS, "documents")),
    Resource("documents/{document}", "Text of a document", _BY_NAME, _TEXT, _document),
    Resource("traces", "Questions", _QUESTIONS, _JSON, _list_of(TRACES, "traces")),
    Resource("traces/{trace}", "How an answer came about", _BY_UUID, _TEXT, _trace_as_text),
    Resource("traces/{trace}/json", "How an answer came about, as JSON", _BY_UUID, _JSON, _trace_as_json),
)


def address(folder: str, iri: str) -> str:
    """The address of a document or trace."""
    return f"{SCHEME}{folder}/{quote(iri, safe='')}"


def list_resources(engine: Engine, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    """A page of the resources: those at one address, then the documents.

    Raises:
        Problem: 400 for a cursor that is none of ours.
    """
    import mcp_types as types

    cursor = (params and params.cursor) or "0"
    if not _CURSOR.fullmatch(cursor):
        raise Problem(400, tr("{name} is a whole number").format(name="cursor"))
    start = int(cursor)
    fixed = [
        types.Resource(uri=each.uri, **each.described) for each in RESOURCES if not each.many and not start
    ]
    items = DOCUMENTS.items(engine, Asked(PAGE, start))
    documents = [
        types.Resource(
            uri=address("documents", item["iri"]),
            name=item["path"],
            title=item["title"],
            mime_type="text/plain",
        )
        for item in items
        if item["chunks"]  # others could not be read
    ]
    following = str(start + PAGE) if len(items) == PAGE else None
    return types.ListResourcesResult(resources=[*fixed, *documents], next_cursor=following)


def list_templates(
    engine: Engine, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    """The addresses of one document or trace."""
    import mcp_types as types

    del engine, params
    templates = [
        types.ResourceTemplate(uri_template=each.uri, **each.described) for each in RESOURCES if each.many
    ]
    return types.ListResourceTemplatesResult(resource_templates=templates)


def read_resource(engine: Engine, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """The content at an address.

    Raises:
        Problem: 404 when nothing is there.
        UsageError: when its name names nothing.
    """
    import mcp_types as types

    uri = params.uri
    for each in RESOURCES:
        if match := re.fullmatch(each.pattern, uri):
            text = each.read(engine, unquote(match[1]) if each.many else "")
            content = types.TextResourceContents(uri=uri, mime_type=each.media_type, text=text)
            return types.ReadResourceResult(contents=[content])
    raise Problem(
        404,
        tr("there is no resource {uri}").format(uri=uri[:200]),
        hint=tr("there are: {known}").format(known=", ".join(each.uri for each in RESOURCES)),
    )
