"""Validation with SHACL: of the store with the program's shapes, and of the facts with shapes of the user.

pySHACL reads a graph of rdflib in memory, so this is for stores of some hundred thousand triples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.checks.integrity import Severity, Violation
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.resources import folder
from graphrag_rdf.store.base import Store, plain_quads
from graphrag_rdf.trace.facts import label_of, read_labels
from graphrag_rdf.trace.sources import FactSource, source_fact

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

_Fact: TypeAlias = tuple[Term, Term, Term]


@dataclass(frozen=True, slots=True)
class Offence:
    """A result of a validation (SHACL §3.6), with what supports the fact that it is about.

    Attributes:
        severity: `Violation`, `Warning`, `Info`, or the end of another IRI.
        focus, path, value: None where the result has none, or a path of several steps.
        message: in words, from the shape or the validator.
        component: the kind of the broken constraint, such as `MinCountConstraintComponent`.
        shape: IRI of the shape; None of one without a name.
        sources: of the facts focus, path, value; empty without a value.
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
    shape: Term | None
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
    from rdflib import SH

    files = [shapes] if shapes else sorted(folder("ontology").glob("*shapes.ttl"))
    results = _validated(_graph(quads), files)
    found = []
    for result in results.subjects(SH.focusNode):
        severity: Severity = "error" if (result, SH.resultSeverity, SH.Violation) in results else "warning"
        focus = str(results.value(result, SH.focusNode))
        found.append(Violation("shape", severity, focus, _message(results, result)))
    return sorted(found, key=lambda violation: (violation.severity, violation.focus, violation.message))


def validate_facts(store: Store, shapes: Sequence[Path]) -> list[Offence]:
    """Validate the facts, with what was inferred, against shapes of the user; merged entities are one.

    Superclasses in the loaded ontologies count for the targets of shapes.

    Raises:
        UsageError: when pySHACL is not installed, or the shapes cannot be read.
    """
    from rdflib import SH

    stated: defaultdict[_Fact, list[_Fact]] = defaultdict(list)
    for row in store.select("facts/canonical"):
        stated[row["subject"], row["p"], row["object"]].append((row["s"], row["p"], row["o"]))
    data = _graph(plain_quads(store, Graphs.INFERRED))
    data.parse(data="".join(f"{s} {p} {o} .\n" for s, p, o in stated), format="nt")
    results = _validated(data, shapes, _graph(plain_quads(store, Graphs.ONTOLOGY)))
    about = {
        result: [_term(results.value(result, part)) for part in (SH.focusNode, SH.resultPath, SH.value)]
        for result in results.subjects(SH.focusNode)
    }
    labels = read_labels(store, [term for terms in about.values() for term in terms if term is not None])
    found = []
    for result, (focus, path, value) in about.items():
        facts = stated.get((focus, path, value), []) if focus and path and value else []
        found.append(
            Offence(
                severity=_name(results.value(result, SH.resultSeverity)),
                focus=focus,
                focus_label=label_of(focus, labels) if focus else None,
                path=path,
                path_label=label_of(path, labels) if path else None,
                value=value,
                value_label=label_of(value, labels) if value else None,
                message=_message(results, result),
                component=_name(results.value(result, SH.sourceConstraintComponent)),
                shape=_term(results.value(result, SH.sourceShape)),
                sources=tuple(source for fact in facts for source in source_fact(store, *map(str, fact))),
            )
        )
    return sorted(found, key=_order)


_SEVERITIES = ("Violation", "Warning", "Info")


def _order(offence: Offence) -> tuple[object, ...]:
    """The worst first, then by what they are about."""
    severity = offence.severity
    rank = _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES)
    return rank, str(offence.focus), str(offence.path), str(offence.value), offence.message


def _validated(data: Graph, shapes: Sequence[Path], ontologies: Graph | None = None) -> Graph:
    """The report of a validation.

    Raises:
        UsageError: when pySHACL is not installed, or the shapes cannot be read or are malformed.
    """
    try:
        import pyshacl
        from pyshacl.errors import ReportableRuntimeError, ShapeLoadError
    except ImportError as error:
        raise UsageError(
            "validation with shapes needs pySHACL", hint="pip install 'graphrag-rdf[shacl]'"
        ) from error
    from rdflib import Graph

    shapes_graph = Graph()
    for source in shapes:
        try:
            shapes_graph.parse(source)
        except Exception as error:
            raise UsageError(f"cannot read {source}: {error}") from error
    try:
        _, results, _ = pyshacl.validate(data, shacl_graph=shapes_graph, ont_graph=ontologies)
    except (ReportableRuntimeError, ShapeLoadError) as error:
        raise UsageError(f"the shapes cannot be used: {error}") from error
    return results  # type: ignore[no-any-return]


def _graph(quads: Iterable[Quad]) -> Graph:
    from rdflib import Graph

    plain = (quad for quad in quads if not isinstance(quad.object, Triple))
    lines = "".join(f"{quad.subject} {quad.predicate} {quad.object} .\n" for quad in plain)
    del quads, plain  # the engine's iterators must be freed in this thread, not with a later traceback
    return Graph().parse(data=lines, format="nt")


def _message(results: Graph, result: Node) -> str:
    from rdflib import SH

    return "; ".join(sorted(str(message) for message in results.objects(result, SH.resultMessage)))


def _name(node: Node | None) -> str:
    """The end of an IRI of SHACL."""
    return str(node).rpartition("#")[2]


def _term(node: Node | None) -> Term | None:
    """A term of rdflib as one of ours; None for a blank node."""
    import rdflib

    if isinstance(node, rdflib.URIRef):
        return NamedNode(str(node))
    if not isinstance(node, rdflib.Literal):
        return None
    if node.language:
        return Literal(str(node), language=node.language)
    return Literal(str(node), datatype=NamedNode(str(node.datatype))) if node.datatype else Literal(str(node))
