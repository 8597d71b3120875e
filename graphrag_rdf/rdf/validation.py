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
class Result:
    """A result of a validation (SHACL §3.6).

    Attributes:
        severity: `Violation`, `Warning`, `Info`, or the end of another IRI.
        focus, path, value: None where the result has none, a blank node, or a path of several steps.
        message: in words, from the shape or the validator.
        component: the kind of the broken constraint, such as `MinCountConstraintComponent`.
        shape: IRI of the shape; None of one without a name.
        limit: `sh:maxCount` of the shape, where more values break it.
        named_shape: the shape, or the nearest one with an IRI that a shape without is part of.
    """

    severity: str
    focus: Term | None
    path: Term | None
    value: Term | None
    message: str
    component: str
    shape: Term | None
    limit: int | None = None
    named_shape: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class ValidationFacts:
    """What is told of a validation.

    Attributes:
        stage: ingest, import, restore, edited file, correction, graph store, update.
        mode: reject or report.
        shapes: files and graphs, as IRIs.
        shapes_hash: SHA-256 of the shapes.
        results: with the subgraphs that contain the facts which each is about.
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
    results: Sequence[tuple[Result, Sequence[NamedNode]]]
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
    for index, (each, subgraphs) in enumerate(facts.results):
        node = iris.validation_result(report, index)
        yield source(report, SH.result, node)
        yield source(node, RDF.type, SH.ValidationResult)
        yield source(node, SH.resultSeverity, SH[each.severity])
        yield source(node, SH.resultMessage, Literal(each.message))
        yield source(node, SH.sourceConstraintComponent, SH[each.component])
        properties = (SH.focusNode, each.focus), (SH.resultPath, each.path), (SH.value, each.value)
        for predicate, term in (*properties, (SH.sourceShape, each.shape)):
            if isinstance(term, NamedNode | Literal):
                yield source(node, predicate, term)
        for subgraph in subgraphs:
            yield source(node, PROV.wasDerivedFrom, subgraph)
