"""Properties of documents that are facts about what the title names, and their labels as predicates."""

from __future__ import annotations

from collections.abc import Mapping

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import DCTERMS

METADATA: Mapping[NamedNode, str] = {
    DCTERMS.creator: "has the author",
    DCTERMS.publisher: "was published by",
    DCTERMS.created: "was created on",
    DCTERMS.modified: "was last changed on",
}
"""Property → its label, which stands between the names of two things."""

METADATA_KEY = "metadata/1"
"""The key of the subgraph that contains the facts which the metadata of a document give."""
