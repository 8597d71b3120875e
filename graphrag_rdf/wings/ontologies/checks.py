"""What Protégé and other tools of OWL 2 DL would reject or misread in ontologies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.checks.integrity import LIMIT, Severity, Violation
from graphrag_rdf.exchange.ontologies import CATALOG, read_ontologies
from graphrag_rdf.i18n import listed, tr
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.wings.ontologies.schema.model import read_ontology

CHECKS: Mapping[str, Severity] = {
    "check-property-kinds": "error",
    "check-class-kinds": "error",
    "check-ranges": "error",
    "check-reserved": "error",
    "check-literals": "error",
    "check-undeclared-classes": "warning",
    "check-undeclared-properties": "warning",
    "check-datatypes": "warning",
    "check-labels": "warning",
    "check-cycles": "warning",
}
"""Template under `queries/ontology/` → severity. OWL 2 DL tools refuse or misread a file with an error."""


def check_ontologies(store: Store) -> list[Violation]:
    """Check what `urn:graph:ontology` holds by the templates `CHECKS`, and for classes of values."""
    violations = [
        Violation(name.removeprefix("check-"), severity, row["focus"], row["message"])
        for name, severity in CHECKS.items()
        for row in store.select(f"ontology/{name}", limit=LIMIT)
    ]
    return [*violations, *_value_classes(store)]


def _value_classes(store: Store) -> Iterator[Violation]:
    """Classes of values that are ranges, see `schema.value_classes`."""
    ontology = read_ontology(store)
    for iri, kind in ontology.value_classes.items():
        if iri not in ontology.terms:
            continue
        of = sorted(each.name() for each in ontology.terms.values() if each.values and iri in each.ranges)
        if of:
            message = tr(
                "a class by whose name extraction reads the objects of {properties} as values ({kind}): "
                "datatype properties say so to every tool"
            ).format(properties=listed(of), kind=kind)
            yield Violation("value-classes", "warning", iri, message)


def check_files(paths: Sequence[Path], templates: TemplateLibrary) -> list[Violation]:
    """Check files, with what they import, in a store in memory.

    Raises:
        UsageError: see `exchange.ontologies.load_ontologies`.
    """
    files, missing = read_ontologies(list(paths))
    store = EmbeddedStore(templates)
    triples = [triple for file in files for triple in file.triples]
    store.bulk_add(Quad(t.subject, t.predicate, t.object, Graphs.ONTOLOGY) for t in triples)
    own = {term for file in files if file.path in paths for triple in file.triples for term in triple}
    focus = {term.value for term in own if isinstance(term, NamedNode)}
    unresolved = [
        Violation(
            "missing-import",
            "warning",
            iri,
            tr("imported, and {catalog} names no file for it").format(catalog=CATALOG),
        )
        for iri in missing
    ]
    return unresolved + [violation for violation in check_ontologies(store) if violation.focus in focus]
