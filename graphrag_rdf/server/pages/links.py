"""IRI → address of its page."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import quote, urlencode

from graphrag_rdf.rdf import iris
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.model import Fact
from graphrag_rdf.trace.page import anchor_of

_SESSION = "urn:trustgraph:session:"
_RUN = re.compile(r"urn:trustgraph:(?:question|docrag|agent):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
"""The first node of a trace of TrustGraph; of ours it is the question, which has the same page."""

CITED = "cited"
"""The fragment of cited characters."""


class Links:
    """Addresses of pages.

    Args:
        namespace: of this store's entities and documents.
        run: of an answer, through whose citations the pages of documents then lead.
    """

    def __init__(self, namespace: str, run: str = "") -> None:
        self._run = {"trace": run} if run else {}
        self._entity = f"{namespace}e/"
        self._document = iris.documents(namespace)
        self._documents = (self._document, iris.documents(iris.DEFAULT_NAMESPACE))

    def __call__(self, iri: str) -> str:
        """The page of a thing, by the form of its IRI."""
        if iri.startswith(_SESSION):
            return f"/traces/{_quoted(iri.removeprefix(_SESSION))}"
        if run := _RUN.fullmatch(iri):
            return f"/traces/{run[1]}"
        if iri.startswith(self._documents):
            return self.document(iri)
        return self.entity(iri) if iri.startswith(self._entity) else resource_page(iri)

    def trace(self, iri: str) -> str:
        """The page of a trace, also of one whose first node has another form."""
        path = self(iri)
        return path if path.startswith("/traces/") else f"/traces/{_quoted(iri)}"

    def document(self, iri: str) -> str:
        """The page of a document."""
        return f"/documents/{_local(iri, self._document)}"

    def page_image(self, document: str, number: int) -> str:
        """The picture of a page of a PDF."""
        return f"{self.document(document)}/pages/{number}.png"

    def chunk(self, document: str, chunk: str, start: int | None = None, length: int | None = None) -> str:
        """A chunk on the page of its document.

        Args:
            start, length: characters of the document's text that the page marks and scrolls to.
        """
        span = {} if start is None else {"start": start, "length": length or 0}
        anchor = anchor_of(chunk) if start is None else CITED
        return f"{self.document(document)}?{urlencode({'chunk': chunk, **span, **self._run})}#{anchor}"

    def source(self, source: Source, fact: Fact | None) -> str | None:
        """The place of a source: its quote if it was located, else its chunk, or the metadata.

        Args:
            fact: the fact that the source supports.
        """
        if source.document is None or source.state == "forgotten":
            return None
        if source.chunk is not None:
            span = (source.char_offset, source.char_length) if source.verified else ()
            return self.chunk(source.document, source.chunk, *span)
        described = source.document.startswith(self._documents)
        if source.is_endpoint and not described:
            return source.uri
        stated = described and fact is not None
        return self(source.document) + (f"#{fact_anchor(fact)}" if stated and fact else "")

    def fact(self, fact: Fact) -> str:
        """The page of a fact, with its sources."""
        terms = dict(zip(("subject", "predicate", "object"), map(str, (fact.s, fact.p, fact.o)), strict=True))
        return f"/facts?{urlencode(terms)}"

    def entity(self, iri: str) -> str:
        """The page of an entity."""
        return f"/entities/{_local(iri, self._entity)}"


def fact_anchor(fact: Fact) -> str:
    """The fragment of a fact from a document's metadata."""
    return "fact-" + sha256(f"{fact.s} {fact.p} {fact.o}".encode()).hexdigest()[:12]


def resource_page(iri: str) -> str:
    """The page of any thing."""
    return f"/resource?{urlencode({'iri': iri})}"


def fact_page(statement: str) -> str:
    """The page of a fact, by its statement in N-Triples."""
    subject, predicate, rest = statement.split(" ", 2)
    terms = {"subject": subject, "predicate": predicate, "object": rest.removesuffix(" .")}
    return f"/facts?{urlencode(terms)}"


def run_call(iri: str) -> str:
    """The page that runs the query of a call again."""
    return f"/sparql-editor?{urlencode({'call': iri})}"


def _local(iri: str, base: str) -> str:
    """The local part of one of our IRIs; else the full IRI, also where the local part looks like one."""
    local = iri.removeprefix(base)
    plain = (
        local != iri and ":" not in local and not any(part in ("", ".", "..") for part in local.split("/"))
    )
    return quote(local) if plain else _quoted(iri)


def _quoted(text: str) -> str:
    return quote(text, safe="")
