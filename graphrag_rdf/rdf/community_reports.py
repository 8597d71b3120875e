"""Builder for reports of communities. Everything goes to `urn:graph:community`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import Activity
from graphrag_rdf.rdf.model_calls import activity as build_activity
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, Graphs
from graphrag_rdf.rdf.terms import Term, double, integer


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """Data about a report.

    Attributes:
        hash: SHA-256 of everything that it depends on.
        rating: with its greatest value and its reason, None without a model.
        findings: summary, explanation, and what each cites.
        written: the activity.
        parts: reports that it derives from.
    """

    community: NamedNode
    hash: str
    title: str
    summary: str
    rating: tuple[float, float, str] | None
    findings: Iterable[tuple[str, str, Iterable[NamedNode]]]
    written: Activity
    parts: Iterable[NamedNode] = ()

    @property
    def iri(self) -> NamedNode:
        """The report."""
        return iris.community_report(self.community, self.hash)


def report(r: ReportFacts) -> Iterator[Quad]:
    """A report, its findings, and the activity that wrote it."""
    node, activity = r.iri, iris.activity(r.iri)
    yield _quad(node, RDF.type, RAG.CommunityReport)
    yield _quad(node, RAG.reportOf, r.community)
    yield _quad(node, RDFS.label, Literal(r.title))
    yield _quad(node, RAG.summary, Literal(r.summary))
    if r.rating is not None:
        rating, scale, reason = r.rating
        yield _quad(node, RAG.rating, double(rating))
        yield _quad(node, RAG.ratingScale, double(scale))
        yield _quad(node, RAG.ratingExplanation, Literal(reason))
    yield _quad(node, PROV.wasGeneratedBy, activity)
    for part in r.parts:
        yield _quad(node, PROV.wasDerivedFrom, part)
    for index, (summary, explanation, cites) in enumerate(r.findings):
        finding = iris.report_finding(node, index)
        yield _quad(finding, RDF.type, RAG.ReportFinding)
        yield _quad(finding, RAG.findingOf, node)
        yield _quad(finding, RAG.index, integer(index))
        yield _quad(finding, RDFS.label, Literal(summary))
        yield _quad(finding, RAG.explanation, Literal(explanation))
        for cited in cites:
            yield _quad(finding, RAG.cites, cited)
    yield from build_activity(activity, r.written, Graphs.COMMUNITY)


def _quad(s: NamedNode, p: NamedNode, o: Term) -> Quad:
    return Quad(s, p, o, Graphs.COMMUNITY)
