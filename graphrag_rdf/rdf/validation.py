"""Reports of validations with SHACL, as RDF in the source graph.

Each result derives from the subgraphs that contain the facts about which it is, and goes with them, so no
report keeps what changed or forgotten documents said. The numbers stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, SH
from graphrag_rdf.rdf.prov import source
from graphrag_rdf.rdf.terms import Term, datetime_, integer


@dataclass(frozen=True, slots=True)
class ReportedResult:
    """A result (SHACL §3.6).

    Attributes:
        severity, component: local names in SHACL.
        focus, path, value, shape: None for blank nodes and where there is none.
        subgraphs: which contain the facts that it is about.
    """

    severity: str
    focus: Term | None
    path: Term | None
    value: Term | None
    message: str
    component: str
    shape: Term | None
    subgraphs: Sequence[NamedNode] = ()


@dataclass(frozen=True, slots=True)
class ValidationFacts:
    """What is told of a validation.

    Attributes:
        stage: ingest, import, graph store, update.
        mode: reject or report.
        shapes: files and graphs, as IRIs.
        shapes_hash: SHA-256 of the shapes.
        result_count: of all results; `results` may be the first of them.
        rejected_count: facts that were rejected; all of a change if it was refused.
    """

    stage: str
    mode: str
    started: datetime
    ended: datetime
    shapes: Sequence[NamedNode]
    shapes_hash: str
    conforms: bool
    results: Sequence[ReportedResult]
    result_count: int
    rejected_count: int


def validation_report(report: NamedNode, facts: ValidationFacts) -> Iterator[Quad]:
    """The quads of a report (SHACL §3.6), of its activity and results."""
    activity = iris.validation_activity(report)
    yield source(report, RDF.type, SH.ValidationReport)
    yield source(report, RDF.type, PROV.Entity)
    yield source(report, SH.conforms, Literal(facts.conforms))
    yield source(report, PROV.generatedAtTime, datetime_(facts.ended))
    yield source(report, PROV.wasGeneratedBy, activity)
    yield source(activity, RDF.type, RAG.Validation)
    yield source(activity, RDF.type, PROV.Activity)
    yield source(activity, PROV.startedAtTime, datetime_(facts.started))
    yield source(activity, PROV.endedAtTime, datetime_(facts.ended))
    for shapes in facts.shapes:
        yield source(activity, PROV.used, shapes)
    yield source(activity, RAG.shapesHash, Literal(facts.shapes_hash))
    yield source(activity, RAG.stage, Literal(facts.stage))
    yield source(activity, RAG.validationMode, Literal(facts.mode))
    yield source(activity, RAG.resultCount, integer(facts.result_count))
    yield source(activity, RAG.rejectedCount, integer(facts.rejected_count))
    for index, each in enumerate(facts.results):
        node = iris.validation_result(report, index)
        yield source(report, SH.result, node)
        yield source(node, RDF.type, SH.ValidationResult)
        yield source(node, SH.resultSeverity, SH[each.severity])
        yield source(node, SH.resultMessage, Literal(each.message))
        yield source(node, SH.sourceConstraintComponent, SH[each.component])
        told = (SH.focusNode, each.focus), (SH.resultPath, each.path), (SH.value, each.value)
        for predicate, term in (*told, (SH.sourceShape, each.shape)):
            if isinstance(term, NamedNode | Literal):
                yield source(node, predicate, term)
        for subgraph in each.subgraphs:
            yield source(node, PROV.wasDerivedFrom, subgraph)
