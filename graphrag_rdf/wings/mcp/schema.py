"""What a store has, for a model that writes a query: classes, relations, prefixes.

The queries run as those of clients do, with their limits.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import PREFIXES, RDFS, XSD
from graphrag_rdf.rdf.terms import readable
from graphrag_rdf.server.jobs import job_of
from graphrag_rdf.server.routes.sparql import forms_for
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.answers import read_json
from graphrag_rdf.trace.facts import label_of, read_labels

_TYPES = 3
"""Types of subjects, and of objects, of a relation."""


async def schema_of(service: Service, graph: NamedNode | None, limit: int) -> dict[str, Any]:
    """The classes and relations of a graph, the most frequent first, and the prefixes of queries.

    Args:
        graph: a named graph; None for the facts. Only relations of facts have types and examples.
        limit: of classes, and of relations.

    Raises:
        Problem: see `Queries.run`.
    """
    of_graph = {"graphs": [] if graph is None else [graph], "limit": limit}
    classes = await _rows(service, "schema/classes", **of_graph)
    relations = await _rows(service, "schema/properties", **of_graph)
    ends: defaultdict[NamedNode, list[Mapping[str, Any]]] = defaultdict(list)
    if relations and graph is None:
        for row in await _rows(service, "schema/ends", properties=[row["property"] for row in relations]):
            ends[row["property"]].append(row)
    names = [*(row["class"] for row in classes), *(row["property"] for row in relations)]
    labels = await asyncio.to_thread(read_labels, service.engine.store, names)

    def item(node: NamedNode, count: int) -> dict[str, Any]:
        return {"iri": node.value, "label": label_of(node, labels), "count": count}

    return {
        "prefixes": PREFIXES,
        "classes": [item(row["class"], row["entities"]) for row in classes],
        "relations": [
            item(row["property"], row["triples"]) | _ends(ends[row["property"]]) for row in relations
        ],
    }


async def _rows(service: Service, template: str, **values: Any) -> Sequence[Mapping[str, Any]]:
    store = service.engine.store
    results, _ = forms_for("application/sparql-results+json", "rdf12")
    job, _ = await job_of(service, store.render(template, **values), results, None)
    _, data = await service.queries.whole(job, store.commit_number())
    return store.templates[template].records(read_json(data).rows or [])


def _ends(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The most frequent types of subjects and objects, and an object, as it can stand in a query."""
    ends: dict[str, Any] = {}
    for end in ("subject", "object"):
        kinds = [row["type"] for row in rows if row["end"] == end]
        typed = any(kind != RDFS.Resource and kind not in XSD for kind in kinds)
        ends[f"{end}s"] = [kind.value for kind in kinds if not (typed and kind == RDFS.Resource)][:_TYPES]
    for row in rows:
        if row["end"] == "object":
            ends.setdefault("example", readable(row["example"], quoted=True))
    return ends


def text_of_schema(schema: Mapping[str, Any]) -> str:
    """The same as lines."""
    prefixes = [f"{prefix}: <{iri}>" for prefix, iri in schema["prefixes"].items()]
    classes = [f"{_name(each)}" for each in schema["classes"]]
    relations = [f"{_name(each)}{_shape(each)}" for each in schema["relations"]]
    sections = {
        "Prefixes, declared in every query": prefixes,
        "Classes (number of things)": classes or ["(none)"],
        "Relations (number of triples): types of subjects → types of objects": relations or ["(none)"],
    }
    return "\n\n".join("\n".join([f"{heading}:", *lines]) for heading, lines in sections.items())


def _name(item: Mapping[str, Any]) -> str:
    return f"{readable(NamedNode(item['iri']))} {item['label']} ({item['count']:,})"


def _shape(relation: Mapping[str, Any]) -> str:
    if "example" not in relation:
        return ""
    subjects, objects = (
        " or ".join(readable(NamedNode(iri)) for iri in relation[end]) or "(no type)"
        for end in ("subjects", "objects")
    )
    return f": {subjects} → {objects}, such as {relation['example']}"
