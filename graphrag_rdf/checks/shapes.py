"""Validation with SHACL: of the store with the program's shapes, and of the facts with shapes of the user.

pySHACL reads a graph of rdflib in memory, so this is for stores of some hundred thousand triples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.checks.integrity import Severity, Violation
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.rdf.validation import Result
from graphrag_rdf.resources import folder
from graphrag_rdf.schema.shapes import Statement, graph_of, read_graph, read_shapes, run_shacl
from graphrag_rdf.schema.validation import Validated, validate_all
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.facts import label_of, read_labels
from graphrag_rdf.trace.sources import FactSource, supporting


@dataclass(frozen=True, slots=True)
class Offence:
    """A result of a validation (SHACL §3.6), with what supports the fact that it is about.

    Attributes:
        severity: `Violation`, `Warning`, `Info`, or the end of another IRI.
        focus, path, value: None where the result has none, or a path of several steps.
        message: in words, from the shape or the validator.
        component: the kind of the broken constraint, such as `MinCountConstraintComponent`.
        shape: IRI of the shape, or of the nearest one around it with an IRI; None without any.
        sources: of the facts focus, path, value, and without a value of all with focus and path. Retired
            chunks are left out if another supports the fact.
    """

    JSON: ClassVar = (
        *("severity", "focus", "focus_label", "path", "path_label", "value", "value_label"),
        *("message", "component", "shape", "sources"),
    )

    severity: str
    focus: Term | None
    focus_label: str | None
    path: Term | None
    path_label: str | None
    value: Term | None
    value_label: str | None
    message: str
    component: str
    shape: NamedNode | None
    sources: tuple[FactSource, ...]


def run_shapes(quads: Iterable[Quad], shapes: Path | None = None) -> list[Violation]:
    """Validate quads against SHACL shapes, as one graph.

    Quads with triple terms are left out, because validators do not support them; `run_checks` covers them.

    Args:
        quads: of the store, e.g. `EmbeddedStore.quads()`.
        shapes: a Turtle file; None takes those of the folder ontology.

    Raises:
        UsageError: when pySHACL is not installed, or the shapes cannot be read.
    """
    files = [shapes] if shapes else sorted(folder("ontology").glob("*shapes.ttl"))
    data = graph_of((quad.subject, quad.predicate, quad.object) for quad in quads)
    del quads  # the engine's iterators must be freed in this thread, not with a later traceback
    violations = []
    for result in run_shacl(data, read_graph(files)):
        severity: Severity = "error" if result.severity == "Violation" else "warning"
        violations.append(Violation("shape", severity, text_or_node(result.focus), result.message))
    return sorted(violations, key=lambda violation: (violation.severity, violation.focus, violation.message))


def text_or_node(term: Term | None) -> str:
    """The IRI or value of a term; a dash for a blank node."""
    return getattr(term, "value", "-")


def validate_facts(store: Store, shapes: Sequence[str | Path]) -> list[Offence]:
    """Validate the facts, with what was inferred, against shapes of the user; merged entities are one.

    Superclasses in the loaded ontologies count for the targets of shapes.

    Args:
        shapes: see `schema.shapes.read_shapes`.

    Raises:
        UsageError: when pySHACL is not installed, or the shapes cannot be read.
    """
    return offences(store, validate_all(store, read_shapes(store, shapes)))


def offences(store: Store, validated: Validated) -> list[Offence]:
    """Results of a validation, with labels and with the sources of the facts that they are about."""
    terms = [term for each in validated.results for term in (each.focus, each.path, each.value)]
    labels = read_labels(store, [term for term in terms if term is not None])

    def label(term: Term | None) -> str | None:
        return label_of(term, labels) if term is not None else None

    by_path: defaultdict[tuple[Term, Term], set[Statement]] = defaultdict(set)
    for (s, p, _), stated in validated.stated.items():
        by_path[s, p].update(stated)

    def facts_of(each: Result) -> list[Statement]:
        if not (each.focus and each.path):
            return []
        if each.value:
            return sorted(validated.stated.get((each.focus, each.path, each.value), ()), key=str)
        return sorted(by_path.get((each.focus, each.path), ()), key=str)

    facts = [facts_of(each) for each in validated.results]
    sources = supporting(store, [fact for several in facts for fact in several])
    offences = []
    for each, several in zip(validated.results, facts, strict=True):
        offences.append(
            Offence(
                severity=each.severity,
                focus=each.focus,
                focus_label=label(each.focus),
                path=each.path,
                path_label=label(each.path),
                value=each.value,
                value_label=label(each.value),
                message=each.message,
                component=each.component,
                shape=each.named_shape,
                sources=tuple(source for fact in several for source in _current(sources.get(fact, ()))),
            )
        )
    return offences


def _current(sources: Sequence[FactSource]) -> Sequence[FactSource]:
    return [each for each in sources if each.source.state == "current"] or sources
