"""The JSON-LD context of the program's vocabularies (JSON-LD 1.1 §3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphrag_rdf.rdf.namespaces import PREFIXES, RAG, TG, prefixed
from graphrag_rdf.rdf.terms import Term, node_of, text_of


def jsonld_context(terms: Iterable[Mapping[str, Term]]) -> dict[str, Any]:
    """A context with our prefixes, and the terms of `tg:` and `rag:` by their local names.

    Of two terms with the same local name, that of TrustGraph has it; the other is written with its prefix.

    Args:
        terms: rows of `queries/ontology/context`.
    """
    context: dict[str, Any] = {**PREFIXES, "id": "@id", "type": "@type"}
    rows = [row for row in terms if node_of(row["term"]) in TG or node_of(row["term"]) in RAG]
    for row in sorted(rows, key=lambda row: node_of(row["term"]) in RAG):
        name = prefixed(node_of(row["term"]))
        if name is None:
            continue
        means: Any = name
        if text_of(row["of_things"]) == "true":
            means = {"@id": name, "@type": "@id"}
        elif "datatype" in row:
            means = {"@id": name, "@type": text_of(row["datatype"])}
        context.setdefault(name.partition(":")[2], means)
    return {"@context": context}
