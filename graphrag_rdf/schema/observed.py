"""The observed schema: declarations of the relations and types that extraction minted.

They follow from the graph of facts: `queries/ontology/observe` declares each as a class, an object property
or a datatype property, with its names, its number of facts, and the types of subjects and objects. These are
`schema:domainIncludes` and `schema:rangeIncludes`, from which a reasoner infers nothing: the next document
may have things of other types. A relation of older stores with both kinds of objects is a plain
`rdf:Property`.

Each namespace has its schema, `<{namespace}schema>`, an `owl:Ontology` of class `rag:ObservedSchema`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyoxigraph import Triple

from graphrag_rdf.rdf.iris import OBSERVED_SCHEMA
from graphrag_rdf.rdf.namespaces import OWL, RAG, RDF, SCHEMA, SKOS
from graphrag_rdf.schema.reasoning import InferenceReport, Profile, forget_inferences, update
from graphrag_rdf.store.base import Changes, Store


@dataclass(frozen=True, slots=True)
class Observed:
    """The outcome of `observe`.

    Attributes:
        quads: how many the store has more.
        inferences: the update, if inferences are kept.
    """

    quads: int
    inferences: InferenceReport | None = None


def observe(store: Store, namespace: str, keep: Profile | None = None) -> Observed:
    """Declare the relations and types of the graph of facts again, in one transaction.

    What was inferred from facts and declarations may no longer follow. It is brought up to date, or removed.

    Args:
        namespace: in which extraction mints now; those in which it did before stay declared while facts use
            them.
        keep: keep inferences up to date, by the rules of this profile.
    """
    if keep is None:
        if store.ask("reasoning/any"):
            forget_inferences(store)
        return Observed(_declare(store, namespace))
    before = store.count()
    _declare(store, namespace)
    report = update(store, keep)
    return Observed(store.count() - before, report)


def _declare(store: Store, namespace: str) -> int:
    before = _sizes(store)
    if not before and not store.ask("ontology/has-facts"):
        return 0
    updates: list[tuple[str, dict[str, Any]]] = [
        ("ontology/forget-observed", {}),
        ("ontology/observe", {"namespaces": sorted({namespace, *before})}),
    ]
    store.commit(Changes(updates=updates, content=False))
    return sum(_sizes(store).values()) - sum(before.values())


def namespace_prefixes(namespace: str) -> dict[str, str]:
    """Prefixes for the entities, relations and types of a namespace, for files."""
    return {"e": f"{namespace}e/", "r": f"{namespace}r/", "type": f"{namespace}type/"}


def observed_prefixes(store: Store) -> dict[str, str]:
    """Those of the namespace in which extraction minted most relations and types; none without any."""
    sizes = _sizes(store)
    return namespace_prefixes(max(sizes, key=lambda name: sizes[name])) if sizes else {}


def file_declarations() -> Iterator[Triple]:
    """Declarations of our terms in the schema, for files: its graph has none."""
    yield Triple(RAG.ObservedSchema, RDF.type, OWL.Class)
    for predicate in (
        *(RAG.observedCount, RAG.valueRelation, SCHEMA.domainIncludes, SCHEMA.rangeIncludes),
        SKOS.altLabel,
    ):
        yield Triple(predicate, RDF.type, OWL.AnnotationProperty)


def _sizes(store: Store) -> dict[str, int]:
    """Namespace → number of triples of its schema."""
    rows = store.select("ontology/observed-schemas")
    return {row["schema"].value.removesuffix(OBSERVED_SCHEMA): row["triples"] for row in rows}
