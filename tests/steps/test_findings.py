"""What findings of reports rest on: facts and sentences with their sources, also by way of reports of parts,
entities and claims. Reports are made without a model; what they cannot cite is written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.community_reports import ReportFacts, report
from graphrag_rdf.rdf.model_calls import Activity
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, SKOS, TG, Graphs
from graphrag_rdf.rdf.terms import integer, node_of
from graphrag_rdf.steps.answer import SYNTHESIS
from graphrag_rdf.steps.findings import cite_findings, evidence_of, findings_of, record_sources
from graphrag_rdf.steps.state import Context, Selection, State
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.recorder import Step, TraceRecorder
from tests.support.stores import open_engine

TEXT = (
    "Walter Pennock founded the Tarnay Electric Light Company. He lived in Port Merrin. "
    "Beatrice Pennock succeeded Walter Pennock in 1911.\n"
)
WALTER = NamedNode("http://trustgraph.ai/e/walter-pennock")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "a.txt").write_text(TEXT)
    with open_engine(tmp_path / "store", config=Settings()) as engine:
        engine.ingest([tmp_path / "a.txt"])
        engine.refresh("communities")
        yield engine


class Run:
    """A step of a run, to work with."""

    def __init__(self, engine: Engine) -> None:
        recorder = TraceRecorder(engine.store, engine.blobs)
        [*recorder.begin("Who?", pipeline="global", label="Global", parameters={}, model=None)]
        self.context = Context(engine.store, engine.blobs, recorder, ())
        self.state = State("Who?")
        self.step: Step = recorder.step(SYNTHESIS)

    def evidence(self, *findings: NamedNode) -> dict[NamedNode, list[Selection]]:
        return evidence_of(self.context, self.state, self.step, findings)


def said(selections: list[Selection]) -> list[str]:
    """The words of facts, and the quotations of sentences."""
    return [one.edge.text if one.edge else one.sources[0].quote for one in selections]


def a_report(engine: Engine) -> NamedNode:
    return engine.store.select("communities/reports", communities=[])[0]["report"]


def finding(
    engine: Engine, *cites: NamedNode, name: str = "1", chunks: list[NamedNode] | None = None
) -> NamedNode:
    """A finding, which cites some nodes, of a new report of the same community, written from given chunks,
    else from those of the community."""
    community = node_of(engine.store.select("communities/to-report")[0]["community"])
    if chunks is None:
        rows = engine.store.select("communities/chunks", community=community)
        chunks = [node_of(row["chunk"]) for row in rows]
    written = Activity("tests", used=chunks)
    found = ReportFacts(community, name, "Title", "Summary.", None, [("One", "It is so.", cites)], written)
    engine.store.commit(Changes(add=list(report(found)), content=False))
    return iris.report_finding(found.iri, 0)


def test_each_finding_leads_to_what_it_cites(engine: Engine) -> None:
    run = Run(engine)
    reports = [row["report"] for row in engine.store.select("communities/reports", communities=[])]
    listed = findings_of(run.context, run.step, reports)
    assert [*listed] == reports
    findings = [one for own in listed.values() for one in own]
    assert findings
    assert [one.index for one in listed[reports[0]]] == [*range(len(listed[reports[0]]))]
    found = run.evidence(*(one.node for one in findings))
    for one in findings:
        quotes = {source.quote for selection in found[one.node] for source in selection.sources}
        assert any(one.explanation in quote or quote in one.explanation for quote in quotes), one
    assert all(source.chunk for own in found.values() for one in own for source in one.sources)


def sentences(engine: Engine) -> list[NamedNode]:
    """In the order of the text."""
    found = {
        node_of(quad.subject)
        for quad in engine.store.quads(Graphs.SOURCE)
        if quad.predicate == RAG.sentenceOf
    }
    return sorted(found, key=str)


def test_a_cited_report_leads_to_its_own_findings_after_what_is_cited_directly(engine: Engine) -> None:
    run = Run(engine)
    inner = a_report(engine)
    outer = finding(engine, inner, sentences(engine)[-1])
    found = said(run.evidence(outer)[outer])
    own = run.evidence(*(one.node for one in findings_of(run.context, run.step, [inner])[inner]))
    assert found[0] == "Beatrice Pennock succeeded Walter Pennock in 1911."
    assert {text for part in own.values() for text in said(part)} <= {*found}
    assert len(found) == len({*found})


def test_a_cited_entity_leads_to_its_quoted_definition_else_to_the_first_sentence_that_names_it(
    engine: Engine,
) -> None:
    one = finding(engine, WALTER)
    sentence = "Walter Pennock founded the Tarnay Electric Light Company."
    assert said(Run(engine).evidence(one)[one]) == [sentence]
    fact = Quad(WALTER, SKOS.definition, Literal("a founder"), DefaultGraph())
    subgraph = next(
        node_of(quad.subject) for quad in engine.store.quads(Graphs.SOURCE) if quad.predicate == TG.contains
    )
    defined = Triple(fact.subject, fact.predicate, fact.object)
    engine.store.commit(Changes(add=[fact, Quad(subgraph, TG.contains, defined, Graphs.SOURCE)]))
    assert said(Run(engine).evidence(one)[one]) == [sentence], "no words of the text say so"
    evidence = NamedNode("urn:evidence:1")
    quoted = [
        Quad(evidence, RDF.reifies, defined, Graphs.SOURCE),
        Quad(evidence, PROV.wasDerivedFrom, subgraph, Graphs.SOURCE),
        Quad(evidence, TG.sourceText, Literal(sentence), Graphs.SOURCE),
        Quad(evidence, TG.sourceCharOffset, integer(0), Graphs.SOURCE),
        Quad(evidence, TG.sourceCharLength, integer(len(sentence)), Graphs.SOURCE),
    ]
    engine.store.commit(Changes(add=quoted))
    assert said(Run(engine).evidence(one)[one]) == ["Walter Pennock is defined as a founder"]


def test_a_cited_entity_that_no_sentence_names_leads_nowhere(engine: Engine) -> None:
    nobody = NamedNode("http://trustgraph.ai/e/nobody")
    engine.store.commit(Changes(add=[Quad(nobody, RAG.canonicalEntity, nobody, Graphs.DERIVED)]))
    one = finding(engine, nobody)
    assert said(Run(engine).evidence(one)[one]) == []


def test_a_sentence_that_names_a_cited_entity_counts_if_the_report_was_written_from_its_chunk(
    engine: Engine,
) -> None:
    read = finding(engine, WALTER, name="1")
    other = finding(engine, WALTER, name="2", chunks=[NamedNode("urn:chunk:other")])
    found = Run(engine).evidence(read, other)
    assert said(found[read]) == ["Walter Pennock founded the Tarnay Electric Light Company."]
    assert said(found[other]) == []


def test_a_cited_claim_leads_to_the_sentence_of_its_quote(engine: Engine) -> None:
    claim, quote = NamedNode("urn:claim:1"), NamedNode("urn:evidence:1")
    sentence = sentences(engine)[1]
    about = [
        Quad(claim, RDF.type, RAG.Claim, Graphs.SOURCE),
        Quad(claim, RAG.evidence, quote, Graphs.SOURCE),
        Quad(quote, PROV.wasQuotedFrom, sentence, Graphs.SOURCE),
    ]
    engine.store.commit(Changes(add=about))
    one = finding(engine, claim)
    assert said(Run(engine).evidence(one)[one]) == ["He lived in Port Merrin."]


def test_a_fact_without_a_quote_leads_to_the_sentence_that_names_its_things(engine: Engine) -> None:
    subgraph = next(
        node_of(quad.subject) for quad in engine.store.quads(Graphs.SOURCE) if quad.predicate == TG.contains
    )
    met = NamedNode("http://trustgraph.ai/r/met")
    beatrice = NamedNode("http://trustgraph.ai/e/beatrice-pennock")
    fact = Quad(WALTER, met, beatrice, DefaultGraph())
    contained = Quad(subgraph, TG.contains, Triple(WALTER, met, beatrice), Graphs.SOURCE)
    engine.store.commit(Changes(add=[fact, contained]))
    one = finding(engine, subgraph)
    assert said(Run(engine).evidence(one)[one]) == ["Beatrice Pennock succeeded Walter Pennock in 1911."]


def test_facts_that_do_not_hold_and_excluded_entities_lead_nowhere(engine: Engine) -> None:
    inner = a_report(engine)
    outer = finding(engine, inner)
    run = Run(engine)
    before = run.evidence(outer)[outer]
    run = Run(engine)
    run.state.exclude = (WALTER,)
    left = run.evidence(outer)[outer]
    assert len(left) < len(before)
    assert not any("Walter Pennock" in text for text in said(left))
    facts = [one.edge.triple for one in before if one.edge]
    assert facts
    engine.store.commit(Changes(remove=[Quad(*fact, DefaultGraph()) for fact in facts]))
    assert not [one for one in Run(engine).evidence(outer)[outer] if one.edge]


def test_numbers_share_what_their_findings_have_in_common(engine: Engine) -> None:
    run = Run(engine)
    one = finding(engine, *sentences(engine)[:2], name="1")
    other = finding(engine, *sentences(engine)[1:], name="2")
    found = run.evidence(one, other)
    new = cite_findings(run.state, {2: ("Two", found[other], 0.4), 1: ("One\nline", found[one], 0.8)})
    assert [(text, sel.marker, sel.score) for text, sel in zip(said(new), new, strict=True)] == [
        ("Walter Pennock founded the Tarnay Electric Light Company.", 1, 0.8),
        ("He lived in Port Merrin.", 1, 0.8),
        ("He lived in Port Merrin.", 2, 0.4),
        ("Beatrice Pennock succeeded Walter Pennock in 1911.", 2, 0.4),
    ]
    assert run.state.selections == new
    assert {sel.reasoning for sel in new} == {"One line", "Two"}


def test_forgetting_a_document_finds_the_traces_that_read_reports_of_it(
    engine: Engine, tmp_path: Path
) -> None:
    run = Run(engine)
    inner = a_report(engine)
    record_sources(run.context, run.step, [inner])
    message = run.context.recorder.finish(run.step)
    run.context.recorder.written(message)
    run.context.recorder.end()
    documents = find_documents(engine.store, [str(tmp_path / "a.txt")])
    assert forget_documents(engine, documents).traces == 1
