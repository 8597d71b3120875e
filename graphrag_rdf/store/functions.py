"""Functions of this program in SPARQL: `rag:text(IRI)` reads a text of the blob store.

Prompts, outputs of models and rendered queries are too large for literals, so the graph has only their IRIs
(`urn:sha256:…`). A function that has no value for its arguments is an error of the expression, as SPARQL 1.1
§17.6 has it: BIND leaves the variable unbound, and FILTER drops the row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.blobs import BlobStore

Functions: TypeAlias = dict[NamedNode, Callable[..., Term | None]]


def functions(blobs: BlobStore | None) -> Functions:
    """The functions over a blob store, by IRI, as the engine takes them; none without one."""
    if blobs is None:
        return {}

    def text(*arguments: Term) -> Term | None:
        """The text of a blob; no value if it is unknown, erased or not an IRI."""
        content = None
        if len(arguments) == 1 and isinstance(arguments[0], NamedNode):
            content = blobs.text(arguments[0])
        return None if content is None else Literal(content)

    return {RAG.text: text}
