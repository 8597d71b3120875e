"""A healthy store passes; each way of spoiling it is found by the check that is meant for it and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.checks import CHECKS, Violation, run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.index.text import TextIndex
from graphrag_rdf.ingest.fact_decisions import CORRECTION, REMOVAL, FactDecision
from graphrag_rdf.rdf import claims, iris, model_calls
from graphrag_rdf.rdf.model_calls import Quote
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, RDFS, SKOS, TG, Graphs
from graphrag_rdf.rdf.terms import datetime_, integer, now
from graphrag_rdf.resources import folder
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.wings.hybrid import relation_quads as build
from tests.support.sample_stores import store_of

Quads = tuple[Quad, ...]
FACTS = DefaultGraph()


class Spoiler:
    """A store's quads, to be spoiled one by one."""

    def __init__(self, quads: Quads) -> None:
        self.quads = dict.fromkeys(quads)

    def find(
        self, p: NamedNode, *, s: object = None, o: object = None, where: Callable[[Quad], bool] | None = None
    ) -> Quad:
        """The first quad of a predicate that fits."""
        return next(q for q in self.all(p, s=s, o=o) if where is None or where(q))

    def all(self, p: NamedNode | None = None, *, s: object = None, o: object = None) -> list[Quad]:
        """All quads that fit."""
        return [
            q
            for q in self.quads
            if p in (None, q.predicate) and s in (None, q.subject) and o in (None, q.object)
        ]

    def drop(self, *quads: Quad) -> None:
        """Take quads out."""
        for quad in quads:
            del self.quads[quad]

    def add(self, s: object, p: NamedNode, o: object, graph: object = Graphs.SOURCE) -> None:
        """Put a quad in."""
        self.quads[Quad(s, p, o, graph)] = None  # type: ignore[arg-type]

    def change(self, quad: Quad, o: object) -> None:
        """Give a quad another object."""
        self.drop(quad)
        self.add(quad.subject, quad.predicate, o, quad.graph_name)

    def shift(self, quad: Quad, by: int) -> None:
        """Add to a number."""
        self.change(quad, integer(int(quad.object.value) + by))  # type: ignore[union-attr]


def fact_of_evidence(store: Spoiler) -> Triple:
    """A fact that one subgraph contains and one quote supports."""
    for quad in store.all(RDF.reifies):
        fact = quad.object
        if len(store.all(TG.contains, o=fact)) == len(store.all(RDF.reifies, o=fact)) == 1:
            assert isinstance(fact, Triple)
            return fact
    raise AssertionError


def plain(fact: Triple) -> Quad:
    return Quad(fact.subject, fact.predicate, fact.object, FACTS)  # type: ignore[arg-type]


def mention_subgraph(store: Spoiler) -> Quad:
    return store.find(RAG.extractor, where=lambda q: q.object.value.startswith("mentions"))  # type: ignore[union-attr]


def an_uncontained_fact(store: Spoiler) -> None:
    store.add(
        plain(fact_of_evidence(store)).subject, NamedNode("http://trustgraph.ai/r/new"), Literal("x"), FACTS
    )


def a_lost_container(store: Spoiler) -> None:
    fact = fact_of_evidence(store)
    store.drop(store.find(TG.contains, o=fact), plain(fact))


def a_lost_fact(store: Spoiler) -> None:
    store.drop(plain(fact_of_evidence(store)))


def decided(store: Spoiler, *facts: Triple) -> FactDecision:
    """The decision that a fact does not hold or, of two, that the second holds in its place."""
    statements = [(fact.subject, fact.predicate, fact.object) for fact in facts]
    old, new = (*statements, None)[:2]
    iri = NamedNode("urn:graphrag-rdf:removal:1")
    decision = FactDecision(
        iri=iri,
        kind=CORRECTION if new else REMOVAL,
        fact=old,  # type: ignore[arg-type]
        instead=new,  # type: ignore[arg-type]
        by=iris.agent("person"),
        label="removal by hand",
        made=now(),
    )
    for quad in decision.quads():
        store.add(*quad)
    return decision


def a_removed_fact(store: Spoiler) -> None:
    fact = fact_of_evidence(store)
    decided(store, fact)
    store.drop(plain(fact))


def a_removed_fact_that_is_asserted(store: Spoiler) -> None:
    decided(store, fact_of_evidence(store))


def a_lost_fact_whose_removal_was_taken_back(store: Spoiler) -> None:
    a_removed_fact(store)
    store.add(
        NamedNode("urn:graphrag-rdf:removal:1"), PROV.invalidatedAtTime, datetime_(now()), Graphs.SYSTEM
    )


def a_correction_that_nothing_contains(store: Spoiler) -> None:
    fact = fact_of_evidence(store)
    decided(store, fact, Triple(fact.subject, fact.predicate, Literal("otherwise")))
    store.drop(plain(fact))


def an_uncontained_name(store: Spoiler) -> None:
    store.add(plain(fact_of_evidence(store)).subject, SKOS.altLabel, Literal("Nobody's name"), FACTS)


def a_lost_name(store: Spoiler) -> None:
    name = store.find(SKOS.altLabel)
    store.drop(name)


def an_untyped_container(store: Spoiler) -> None:
    subgraph = mention_subgraph(store).subject
    store.drop(store.find(RDF.type, s=subgraph, o=TG.Subgraph))


def an_extraction_from_nowhere(store: Spoiler) -> None:
    store.change(
        store.find(PROV.wasDerivedFrom, s=mention_subgraph(store).subject), NamedNode("urn:chunk:gone")
    )


def an_evidence_from_nowhere(store: Spoiler) -> None:
    evidence = store.find(TG.sourceText).subject
    store.drop(*store.all(PROV.wasDerivedFrom, s=evidence))


def a_shifted_quote(store: Spoiler) -> None:
    store.shift(store.find(TG.sourceCharOffset), 1)


def an_altered_quote(store: Spoiler) -> None:
    quote = store.find(TG.sourceText)
    store.change(quote, Literal(quote.object.value + "!"))  # type: ignore[union-attr]


def a_quote_beyond_the_end(store: Spoiler) -> None:
    store.shift(store.find(TG.sourceCharOffset), 1_000_000)


def last_sentence(store: Spoiler) -> NamedNode:
    first = store.find(RAG.sentenceOf).object
    sentences = [q.subject.value for q in store.all(RAG.sentenceOf, o=first)]  # type: ignore[union-attr]
    return NamedNode(max(sentences, key=lambda iri: int(iri.rsplit("#s")[1])))


def a_sentence_beyond_the_end(store: Spoiler) -> None:
    store.shift(store.find(TG.charLength, s=last_sentence(store)), 100_000)


def a_sentence_without_a_place(store: Spoiler) -> None:
    last = last_sentence(store)
    store.drop(store.find(TG.charLength, s=last))


def an_overlapping_sentence(store: Spoiler) -> None:
    store.shift(store.find(TG.charOffset, s=last_sentence(store)), -3)


def a_lost_sentence(store: Spoiler) -> None:
    last = last_sentence(store)
    stem, number = last.value.rsplit("#s")
    store.drop(*store.all(s=NamedNode(f"{stem}#s{int(number) - 1}")))


def an_unknown_mention(store: Spoiler) -> None:
    store.add(last_sentence(store), RAG.mentions, NamedNode("http://trustgraph.ai/e/nobody"))


def a_link_to_no_topic(store: Spoiler) -> None:
    entity = NamedNode("http://trustgraph.ai/e/nobody")
    store.add(entity, RAG.canonicalEntity, entity, Graphs.DERIVED)
    store.add(last_sentence(store), RAG.mentions, entity, Graphs.DERIVED)


def a_chunk(store: Spoiler) -> NamedNode:
    found = store.find(RDF.type, o=TG.Chunk).subject
    assert isinstance(found, NamedNode)
    return found


def a_chunk_without_an_index(store: Spoiler) -> None:
    store.drop(store.find(TG.chunkIndex))


def a_chunk_without_a_parent(store: Spoiler) -> None:
    store.drop(*store.all(PROV.wasDerivedFrom, s=a_chunk(store)))


def a_chunk_without_its_document(store: Spoiler) -> None:
    store.drop(store.find(DCTERMS.isPartOf, s=a_chunk(store)))


def a_document_without_a_location(store: Spoiler) -> None:
    store.drop(store.find(RAG.location))


def an_altered_chunk(store: Spoiler) -> None:
    text = store.find(TG.content, s=a_chunk(store))
    store.change(text, Literal(text.object.value + " More."))  # type: ignore[union-attr]


def a_chunk_of_the_same_length(store: Spoiler) -> None:
    """Spoiled where no quote stands: only the text of the document tells."""
    chunk = a_chunk(store)
    store.shift(store.find(TG.charOffset, s=chunk), 7)


def a_shifted_page(store: Spoiler) -> None:
    page = store.find(TG.pageNumber, o=integer(2)).subject
    store.shift(store.find(TG.charOffset, s=page), 1)


def a_shifted_first_page(store: Spoiler) -> None:
    page = store.find(TG.pageNumber, o=integer(1)).subject
    store.shift(store.find(TG.charOffset, s=page), 1)


def a_lost_page(store: Spoiler) -> None:
    last = max(store.all(TG.pageNumber), key=lambda q: int(q.object.value))  # type: ignore[union-attr]
    store.drop(*store.all(s=last.subject))


def a_second_label(store: Spoiler) -> None:
    name = store.find(SKOS.altLabel)
    store.drop(name)
    store.add(name.subject, RDFS.label, name.object, FACTS)


def a_nameless_entity(store: Spoiler) -> None:
    entity = NamedNode("http://trustgraph.ai/e/nameless")
    store.add(entity, RAG.canonicalEntity, entity, Graphs.DERIVED)


def a_lost_canonical_link(store: Spoiler) -> None:
    link = store.find(
        RAG.canonicalEntity,
        where=lambda q: any(
            f.graph_name == FACTS and f.predicate not in (RDFS.label, SKOS.altLabel)
            for f in store.all(s=q.subject)
        ),
    )
    store.drop(link)


def two_canonical_entities(store: Spoiler) -> None:
    first, second, *_ = store.all(RAG.canonicalEntity)
    store.add(first.subject, RAG.canonicalEntity, second.subject, Graphs.DERIVED)


def two_canonical_relations(store: Spoiler) -> None:
    first, second, *_ = store.all(RAG.canonicalRelation)
    store.add(first.subject, RAG.canonicalRelation, second.subject, Graphs.DERIVED)


def a_canonical_relation_that_is_gone(store: Spoiler) -> None:
    store.change(store.find(RAG.canonicalRelation), NamedNode("http://trustgraph.ai/r/gone"))


def a_canonical_entity_that_is_gone(store: Spoiler) -> None:
    store.change(store.find(RAG.canonicalEntity), NamedNode("http://trustgraph.ai/e/gone"))


def a_relation_to_a_chunk_that_is_gone(store: Spoiler) -> None:
    chunk = store.find(RAG.sentenceOf).object
    store.add(chunk, RAG.follows, NamedNode("urn:chunk:gone"), Graphs.DERIVED)


def a_community_of_what_is_gone(store: Spoiler) -> None:
    community = NamedNode("urn:community:1")
    store.add(community, RDF.type, RAG.Community, Graphs.COMMUNITY)
    store.add(community, RAG.textUnit, NamedNode("urn:chunk:gone"), Graphs.COMMUNITY)


def a_description_of_what_is_gone(store: Spoiler) -> None:
    summary = NamedNode("urn:summary:1")
    store.add(summary, RDF.type, RAG.ElementSummary, Graphs.DERIVED)
    store.add(summary, PROV.wasDerivedFrom, NamedNode("urn:evidence:gone"), Graphs.DERIVED)


def related(store: Spoiler) -> NamedNode:
    """Two neighbouring chunks of a document, related as a model would relate them; the relation."""
    first, second = neighbours(store)
    call = call_of((first, second), iris.pair_activity(first, second, "relations/1"), "relations/1")
    text = store.find(TG.content, s=first).object.value  # type: ignore[union-attr]
    quotes = [Quote(text[3:12], first, 3)]
    made = build.relation(call, RAG.causes, forward=True, confidence=0.9, quotes=quotes)
    store.quads |= dict.fromkeys([*model_calls.call(call), *made])
    return iris.chunk_relation(call.activity, RAG.causes, first)


def call_of(chunks: tuple[NamedNode, ...], activity: NamedNode, key: str) -> model_calls.ModelCall:
    return model_calls.ModelCall(activity, chunks, "reader", key, now(), "openai/scripted", "0" * 64)


def neighbours(store: Spoiler) -> tuple[NamedNode, NamedNode]:
    for second in store.all(TG.chunkIndex, o=integer(2)):
        document = store.find(DCTERMS.isPartOf, s=second.subject).object
        chunks = {quad.subject for quad in store.all(DCTERMS.isPartOf, o=document)}
        first = store.find(
            TG.chunkIndex, o=integer(1), where=lambda q, here=chunks: q.subject in here
        ).subject  # type: ignore[misc]
        assert isinstance(first, NamedNode)
        assert isinstance(second.subject, NamedNode)
        return first, second.subject
    raise AssertionError


def a_sound_relation(store: Spoiler) -> None:
    related(store)


def a_relation_that_nobody_made(store: Spoiler) -> None:
    store.drop(store.find(PROV.wasGeneratedBy, s=related(store)))


def a_relation_without_evidence(store: Spoiler) -> None:
    evidence = store.find(RAG.evidence, s=related(store))
    store.drop(evidence, *store.all(s=evidence.object))


def a_relation_that_is_not_stated(store: Spoiler) -> None:
    related(store)
    store.drop(store.find(RAG.causes))


def a_relation_of_one_chunk(store: Spoiler) -> None:
    relation = related(store)
    store.drop(store.all(PROV.wasDerivedFrom, s=relation)[0])


def a_relation_that_no_model_found(store: Spoiler) -> None:
    first, second = neighbours(store)
    store.add(first, RAG.supports, second, Graphs.DERIVED)


def an_order_that_is_none(store: Spoiler) -> None:
    first, second = neighbours(store)
    store.add(first, RAG.follows, second, Graphs.DERIVED)


def a_shifted_quote_of_a_relation(store: Spoiler) -> None:
    evidence = store.find(RAG.evidence, s=related(store)).object
    store.shift(store.find(TG.sourceCharOffset, s=evidence), 1)


def claimed(store: Spoiler) -> NamedNode:
    """A claim of a chunk, as a model would find it; the claim."""
    chunk, _ = neighbours(store)
    made = call_of((chunk,), iris.claims_activity(chunk, "claims/1"), "claims/1")
    text = store.find(TG.content, s=chunk).object.value  # type: ignore[union-attr]
    said = ("Ada", None, "fraud", "TRUE", None, None, "Ada is said to have cheated.")
    found = claims.ClaimFacts(("ada",), *said)
    quads = claims.claim(made, found, [Quote(text[3:12], chunk, 3)])
    store.quads |= dict.fromkeys([*model_calls.call(made), *quads])
    return iris.claim(chunk, *found.key)


def a_sound_claim(store: Spoiler) -> None:
    entity = store.find(RAG.canonicalEntity).subject
    store.add(claimed(store), RAG.claimSubject, entity)


def a_claim_that_nobody_made(store: Spoiler) -> None:
    store.drop(store.find(PROV.wasGeneratedBy, s=claimed(store)))


def a_claim_without_evidence(store: Spoiler) -> None:
    evidence = store.find(RAG.evidence, s=claimed(store))
    store.drop(evidence, *store.all(s=evidence.object))


def a_claim_of_no_chunk(store: Spoiler) -> None:
    store.change(store.find(PROV.wasDerivedFrom, s=claimed(store)), NamedNode("urn:chunk:gone"))


def a_claim_about_no_entity(store: Spoiler) -> None:
    store.add(claimed(store), RAG.claimObject, NamedNode("http://trustgraph.ai/e/gone"))


def a_shifted_quote_of_a_claim(store: Spoiler) -> None:
    evidence = store.find(RAG.evidence, s=claimed(store)).object
    store.shift(store.find(TG.sourceCharOffset, s=evidence), 1)


def a_version_without_a_hash(store: Spoiler) -> None:
    store.drop(store.find(RAG.contentHash))


def two_current_versions(store: Spoiler) -> None:
    first, second, *_ = store.all(RAG.currentVersion)
    store.drop(second)
    store.add(first.subject, RAG.currentVersion, second.object)
    store.add(second.subject, RAG.currentVersion, second.object)


def a_chunk_too_few(store: Spoiler) -> None:
    version = store.find(RAG.contentHash).subject
    store.shift(store.find(RAG.chunkCount, s=version), 1)


def a_session_that_was_stopped(store: Spoiler) -> None:
    session = store.find(RDF.type, o=RAG.Session).subject
    store.drop(*store.all(PROV.endedAtTime, s=session), *store.all(RAG.outcome, s=session))


def a_session_without_a_question(store: Spoiler) -> None:
    """The step that derives from the question is without its origin, too."""
    question = store.find(RDF.type, o=TG.Question).subject
    store.drop(*store.all(s=question))


def a_step_from_nowhere(store: Spoiler) -> None:
    step = store.find(RDF.type, o=TG.Focus).subject
    store.drop(store.find(PROV.wasDerivedFrom, s=step))


def steps_in_a_circle(store: Spoiler) -> None:
    later = store.find(RDF.type, o=TG.Focus).subject
    earlier = store.find(PROV.wasDerivedFrom, s=later).object
    store.add(earlier, PROV.wasDerivedFrom, later, Graphs.RETRIEVAL)


def two_questions(store: Spoiler) -> None:
    session = store.find(RDF.type, o=RAG.Session).subject
    step = store.find(RDF.type, o=TG.Focus).subject
    store.add(step, RDF.type, TG.Question, Graphs.RETRIEVAL)
    store.add(step, PROV.wasGeneratedBy, session, Graphs.RETRIEVAL)


def a_run_without_an_end(store: Spoiler) -> None:
    """Its last step started a run, and nothing waits for that."""
    last = store.find(RDF.type, o=TG.Synthesis).subject
    run, question = NamedNode("urn:trustgraph:session:x"), NamedNode("urn:trustgraph:question:x")
    store.add(question, RDF.type, TG.Question, Graphs.RETRIEVAL)
    store.add(question, PROV.wasGeneratedBy, run, Graphs.RETRIEVAL)
    store.add(question, PROV.wasDerivedFrom, last, Graphs.RETRIEVAL)


def an_empty_selection(store: Spoiler) -> None:
    selection = store.find(TG.selectedEdge).object
    store.drop(store.find(TG.edge, s=selection))


def a_run_that_was_stopped(store: Spoiler) -> None:
    run = store.find(RDF.type, o=RAG.IngestRun).subject
    store.drop(store.find(PROV.endedAtTime, s=run))


def an_erasure_that_was_stopped(store: Spoiler) -> None:
    store.add(NamedNode("urn:graphrag-rdf:erasure"), RDF.type, RAG.Erasure, Graphs.SYSTEM)


def a_restore_that_was_stopped(store: Spoiler) -> None:
    store.add(NamedNode("urn:graphrag-rdf:restore:0"), RDF.type, RAG.Restore, Graphs.SYSTEM)


SPOILT: dict[Callable[[Spoiler], None], set[str]] = {
    an_uncontained_fact: {"facts-contained"},
    a_lost_container: {"evidence-contained"},
    a_lost_fact: {"contained-asserted"},
    a_removed_fact: set(),
    a_removed_fact_that_is_asserted: {"retracted-asserted"},
    a_lost_fact_whose_removal_was_taken_back: {"contained-asserted"},
    a_correction_that_nothing_contains: {"corrections-contained"},
    an_uncontained_name: {"names-contained"},
    a_lost_name: {"contained-asserted"},
    an_untyped_container: {"containers-typed"},
    an_extraction_from_nowhere: {"subgraph-chain"},
    an_evidence_from_nowhere: {"evidence-chain"},
    a_shifted_quote: {"evidence-quotes"},
    an_altered_quote: {"evidence-quotes"},
    a_quote_beyond_the_end: {"evidence-quotes"},
    a_sentence_beyond_the_end: {"sentence-places"},
    a_sentence_without_a_place: {"sentence-places"},
    an_overlapping_sentence: {"sentence-order"},
    a_lost_sentence: {"sentence-order"},
    an_unknown_mention: {"sentence-mentions"},
    a_link_to_no_topic: {"sentence-mentions", "entities-named"},
    a_chunk_without_an_index: {"chunk-chain"},
    a_chunk_without_a_parent: {"chunk-chain"},
    a_chunk_without_its_document: {"chunk-chain", "document-finished"},
    a_document_without_a_location: {"chunk-chain"},
    an_altered_chunk: {"chunk-length", "chunk-text"},
    a_chunk_of_the_same_length: {"chunk-text"},
    a_shifted_page: {"pages-contiguous"},
    a_shifted_first_page: {"pages-contiguous"},
    a_lost_page: {"pages-counted"},
    a_second_label: {"one-label"},
    a_nameless_entity: {"entities-named"},
    a_lost_canonical_link: {"derived-relations", "entities-canonical", "sentence-mentions"},
    two_canonical_entities: {"one-canonical"},
    a_canonical_entity_that_is_gone: {"canonical-fixed"},
    two_canonical_relations: {"one-canonical"},
    a_canonical_relation_that_is_gone: {"canonical-fixed"},
    a_relation_to_a_chunk_that_is_gone: {"derived-relations"},
    a_community_of_what_is_gone: {"communities"},
    a_description_of_what_is_gone: {"summaries"},
    a_sound_relation: set(),
    a_relation_that_nobody_made: {"chunk-relations"},
    a_relation_without_evidence: {"chunk-relations"},
    a_relation_that_is_not_stated: {"chunk-relations"},
    a_relation_of_one_chunk: {"chunk-relations"},
    a_relation_that_no_model_found: {"stated-relations"},
    an_order_that_is_none: {"stated-relations"},
    a_shifted_quote_of_a_relation: {"relation-evidence"},
    a_sound_claim: set(),
    a_claim_that_nobody_made: {"claims"},
    a_claim_without_evidence: {"claims"},
    a_claim_of_no_chunk: {"claims"},
    a_claim_about_no_entity: {"claims"},
    a_shifted_quote_of_a_claim: {"relation-evidence"},
    a_version_without_a_hash: {"document-version"},
    two_current_versions: {"document-version", "document-finished"},
    a_chunk_too_few: {"document-finished"},
    a_session_that_was_stopped: {"sessions-ended"},
    a_session_without_a_question: {"sessions-whole", "steps-derived"},
    a_step_from_nowhere: {"steps-derived", "trace-ends"},
    steps_in_a_circle: {"steps-derived"},
    two_questions: {"trace-ends"},
    a_run_without_an_end: {"trace-ends"},
    an_empty_selection: {"selections"},
    a_run_that_was_stopped: {"runs-finished"},
    an_erasure_that_was_stopped: {"erasures-finished"},
    a_restore_that_was_stopped: {"restores-finished"},
}


def names(violations: Iterable[Violation]) -> set[str]:
    return {violation.check for violation in violations}


def test_a_healthy_store_passes(healthy: Engine) -> None:
    assert run_checks(healthy.store, healthy.blobs, healthy.text_index) == []


def test_a_healthy_store_passes_in_classic_too(healthy: Engine, quads: Quads) -> None:
    assert run_checks(store_of(quads, "classic"), healthy.blobs) == []


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__)
def test_what_is_spoilt_is_found(spoil: Callable[[Spoiler], None], healthy: Engine, quads: Quads) -> None:
    spoiler = Spoiler(quads)
    spoil(spoiler)
    found = run_checks(store_of(spoiler.quads), healthy.blobs)
    assert names(found) == SPOILT[spoil], found
    assert all(v.message and v.severity == CHECKS.get(v.check, "error") for v in found)


def test_every_check_is_listed_and_can_fail() -> None:
    data = {"placed-texts", "document-objects", "document-texts", "trace-objects", "places", "named-in"}
    assert {path.stem for path in (folder("queries") / "checks").iterdir()} == set(CHECKS) | data
    assert set(CHECKS) <= set().union(*SPOILT.values())


def test_violations_are_told_up_to_a_limit(healthy: Engine, quads: Quads) -> None:
    spoiler = Spoiler(quads)
    spoiler.drop(*spoiler.all(RAG.canonicalEntity))
    found = run_checks(store_of(spoiler.quads), healthy.blobs, limit=3)
    assert [v.check for v in found].count("sentence-mentions") == 3


# --- what is not in the store --------------------------------------------------------------------


def copied(blobs: BlobStore, place: Path) -> BlobStore:
    copy = BlobStore(place)
    for iri in blobs.objects():
        copy.put(blobs.get(iri) or b"")
    return copy


def test_a_lost_object_is_a_warning(healthy: Engine, tmp_path: Path) -> None:
    blobs = copied(healthy.blobs, tmp_path)
    blobs.delete(next(iter(blobs.objects())))
    found = run_checks(healthy.store, blobs)
    assert names(found) == {"object-missing"}
    assert {v.severity for v in found} == {"warning"}


def test_a_damaged_object_is_an_error(healthy: Engine, tmp_path: Path) -> None:
    blobs = copied(healthy.blobs, tmp_path)
    file = next(file for file in tmp_path.glob("??/*"))
    file.write_bytes(b"damaged")
    found = run_checks(healthy.store, blobs)
    assert names(found) == {"object-damaged"}
    assert {v.severity for v in found} == {"error"}


def test_the_objects_of_a_forgotten_source_are_not_missed(healthy: Engine, quads: Quads) -> None:
    """Forgetting erases prompts and answers of the traces that rest on a document."""
    spoiler = Spoiler(quads)
    session = spoiler.find(RDF.type, o=RAG.Session).subject
    spoiler.add(session, RAG.sourceForgotten, Literal(True), Graphs.RETRIEVAL)
    of_documents = [*spoiler.all(RAG.originalBytes), *spoiler.all(RAG.extractedText)]
    blobs = BlobStore()
    for quad in of_documents:
        blobs.put(healthy.blobs.get(quad.object) or b"")  # type: ignore[arg-type]
    assert run_checks(store_of(spoiler.quads), blobs) == []


def test_an_index_ahead_of_the_store_is_found(healthy: Engine) -> None:
    index = TextIndex(None)
    index.commit(healthy.store.content_commit() + 1)
    found = run_checks(healthy.store, healthy.blobs, index)
    assert names(found) == {"index-commit"}


# --- shapes --------------------------------------------------------------------------------------


def test_what_ingest_and_ask_write_conforms_to_the_shapes(quads: Quads) -> None:
    assert run_shapes(quads) == []


def test_shapes_find_what_is_malformed(quads: Quads) -> None:
    spoiler = Spoiler(quads)
    quote = spoiler.find(TG.sourceText)
    spoiler.add(quote.subject, TG.sourceText, Literal("another"))
    found = run_shapes(spoiler.quads)
    assert {(v.check, v.severity, v.focus) for v in found} == {("shape", "error", quote.subject.value)}  # type: ignore[union-attr]


def test_shapes_that_cannot_be_read_are_named(tmp_path: Path, quads: Quads) -> None:
    (tmp_path / "mine.ttl").write_text("@prefix : .", "utf-8")
    with pytest.raises(UsageError, match=r"mine\.ttl"):
        run_shapes(quads, tmp_path / "mine.ttl")
