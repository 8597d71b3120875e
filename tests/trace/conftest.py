"""A small library in each dialect, and runs recorded over it as the steps record them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import double, integer
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.steps.answer import SYNTHESIS
from graphrag_rdf.steps.exploration import CONSIDERED, EXPLORATION, SEED, Seed
from graphrag_rdf.steps.exploration import Edge as Considered
from graphrag_rdf.steps.focus import FOCUS_NODE
from graphrag_rdf.steps.ground import CONCEPT, GROUNDING, Concept
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.trace.kinds import WARNING, Warned
from graphrag_rdf.trace.model import ANSWER_SENTENCE, EDGE, SENTENCE, AnswerSentence, Call, Selected
from graphrag_rdf.trace.recorder import INLINE_LIMIT, TraceRecorder

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EXTRACTOR = "rules/1"
TEMPLATES = TemplateLibrary(folder("queries"))

LETTER = "Ada founded the mill in 1903. 😀 The mill stands in Corvane."
PAGES = ("The Mill\nAda founded the mill.", "It burnt down in 1911. Nobody was hurt.")
REPORT = "\f".join(PAGES)
FIRST, SECOND = REPORT[:41], REPORT[41:]  # the first chunk reaches into page 2

ADA, MILL, CORVANE = (iris.entity(name) for name in ("ada", "mill", "corvane"))
FOUNDED, STANDS_IN, BURNT = (iris.relation(name) for name in ("founded", "stands-in", "burnt-down-in"))
FOUNDING = (ADA, FOUNDED, MILL)
STANDING = (MILL, STANDS_IN, CORVANE)
BURNING = (MILL, BURNT, Literal("1911", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#gYear")))
NAMES = {ADA: "Ada", MILL: "mill", CORVANE: "Corvane", FOUNDED: "founded", STANDS_IN: "stands in"}

Edge = tuple[NamedNode, NamedNode, NamedNode | Literal]


@dataclass(frozen=True, slots=True)
class Sample:
    """A store with a letter (no pages) and a report (two pages), and where things in it are."""

    store: EmbeddedStore
    blobs: BlobStore
    letter: NamedNode
    report: NamedNode
    letter_chunk: NamedNode
    first: NamedNode
    second: NamedNode

    def subgraph(self, chunk: NamedNode) -> NamedNode:
        """What was extracted from a chunk."""
        return iris.subgraph(chunk, EXTRACTOR)

    def evidence(self, chunk: NamedNode, edge: Edge, text: str, quote: str) -> NamedNode:
        """The node of a quote; its hash where it is not in the text."""
        found = text.find(quote)
        return iris.evidence(self.subgraph(chunk), *edge, found if found >= 0 else iris.digest(quote))

    def edit(self, *, add: Sequence[Quad] = (), remove: Sequence[Quad] = ()) -> None:
        """Change quads behind the program's back."""
        self.store.commit(Changes(add=list(add), remove=list(remove), content=False))


def _document(
    blobs: BlobStore, identity: str, title: str, text: str, pages: int, chunks: int
) -> Iterator[Quad]:
    stored = blobs.put(text)
    described = prov.DocumentFacts(
        iri=iris.document(identity),
        identity=identity,
        location=f"file:///library/{identity}",
        title=title,
        media_type="text/plain",
        content_hash=iris.digest(text),
        byte_size=len(text),
        chunk_count=chunks,
        chunker="1",
        language="en",
        encoding="utf-8",
        page_count=pages,
        metadata=(),
        original=stored,
        text=stored,
    )
    yield from prov.document(described, WHEN)


def _chunk(chunk: NamedNode, document: NamedNode, text: str, sentences: Sequence[str]) -> Iterator[Quad]:
    yield from prov.chunk(chunk, document, text)
    for number, sentence in enumerate(sentences):
        yield from prov.sentence(chunk, number, text.index(sentence), len(sentence), [MILL])
    yield from prov.extraction(prov.ExtractionFacts(chunk, "rules", EXTRACTOR, WHEN))


def make_sample(dialect: Dialect) -> Sample:
    """The library, as ingest would have written it."""
    blobs = BlobStore()
    letter, report = iris.document("ada.txt"), iris.document("report.pdf")
    sample = Sample(
        EmbeddedStore(TEMPLATES, dialect=dialect),
        blobs,
        letter,
        report,
        iris.chunk(letter, iris.digest(LETTER), 0),
        iris.chunk(report, iris.digest(FIRST), 0),
        iris.chunk(report, iris.digest(SECOND), 0),
    )
    quads: list[Quad] = list(prov.agent("rules", "1"))
    quads += _document(blobs, "ada.txt", "A letter", LETTER, 0, 1)
    quads += _document(blobs, "report.pdf", "Report on the mill", REPORT, 2, 2)
    offset = 0
    for number, page in enumerate(PAGES, start=1):
        quads += prov.page(report, number, offset, len(page), None)
        offset += len(page) + 1
    pages = [iris.page(report, number) for number in (1, 2)]
    quads += _chunk(sample.letter_chunk, letter, LETTER, [LETTER[:29], LETTER[32:]])
    quads += prov.chunk_place(sample.letter_chunk, 0, 0, [letter])
    quads += _chunk(sample.first, report, FIRST, ["Ada founded the mill."])
    quads += prov.chunk_place(sample.first, 0, 0, pages)
    quads += _chunk(sample.second, report, SECOND, [SECOND])
    quads += prov.chunk_place(sample.second, 1, len(FIRST), pages[1:])
    for chunk, edges in (
        (sample.letter_chunk, (FOUNDING, STANDING)),
        (sample.first, (FOUNDING,)),
        (sample.second, (BURNING,)),
    ):
        for edge in edges:
            quads += prov.contained(sample.subgraph(chunk), *edge)
    located = (
        (sample.letter_chunk, FOUNDING, LETTER, "Ada founded the mill in 1903."),
        (sample.letter_chunk, STANDING, LETTER, "The mill stands in Corvane."),
        (sample.first, FOUNDING, FIRST, "Ada founded the mill."),
    )
    for chunk, edge, text, quote in located:
        quads += prov.evidence(sample.subgraph(chunk), edge, quote, text.index(quote), 0.9)
    quads += prov.evidence(sample.subgraph(sample.first), FOUNDING, "she built the mill", None, None)
    for node, name in NAMES.items():
        quads.append(prov.fact(node, RDFS.label, Literal(name)))
        quads.append(
            Quad(
                sample.subgraph(sample.first),
                TG.contains,
                Triple(node, RDFS.label, Literal(name)),
                Graphs.SOURCE,
            )
        )
    for node in (ADA, MILL, CORVANE):
        quads.append(Quad(node, RAG.canonicalEntity, node, Graphs.DERIVED))
    sample.store.commit(Changes(add=quads))
    return sample


ANSWER = "Ada founded the mill. [1] It stands in Corvane. [2]"


def record(
    sample: Sample,
    question: str = "Who founded the mill?",
    *,
    answer: str = ANSWER,
    pipeline: str = "graph_rag",
    reasoning: str | None = "It names the founder.",
    closed: bool = True,
) -> TraceRecorder:
    """A run over the sample: three facts and a sentence selected, two of the facts cited."""
    recorder = TraceRecorder(sample.store, sample.blobs, question_types=["tg:GraphRagQuestion"])
    list(
        recorder.begin(
            question,
            pipeline=pipeline,
            label="GraphRAG",
            parameters={"focus": {"edge_limit": 25, "use": "rank"}},
            model="scripted/model",
        )
    )
    step = recorder.step(GROUNDING)
    recorder.say(step, RAG.mode, Literal("llm"))
    for concept in ("mill", "founder"):
        recorder.say(step, TG.concept, Literal(concept))
    recorder.items(step, CONCEPT, [Concept("mill"), Concept("founder")])
    call = Call(
        "llm", purpose="concepts", model="scripted/model", in_tokens=7, out_tokens=3, ms=500, cached=False
    )
    recorder.called(step, call, "Which?", "mill\nfounder")
    recorder.written(recorder.finish(step))
    _explore(recorder, sample)
    selected = _focus(recorder, sample, reasoning)
    _synthesise(recorder, answer, selected)
    if closed:
        recorder.end()
    return recorder


def _explore(recorder: TraceRecorder, sample: Sample) -> None:
    step = recorder.step(EXPLORATION)
    recorder.say(step, TG.edgeCount, integer(2))
    recorder.say(step, RAG.candidateCount, integer(5))
    recorder.queried(step, sample.store.run("retrieval/canonical", entities=[MILL]))
    recorder.items(step, SEED, [Seed(MILL, "mill", 1.0, "exact", "mill")])
    recorder.write_now(step, [recorder.quad(step.iri, RAG.hit, Triple(ADA, RAG.reached, double(0.5)))])
    for rank, triple in enumerate((FOUNDING, (ADA, RDF.type, Literal("person"))), start=1):
        edge = Considered(triple, "", "", "", 1, "in", MILL, score=0.75, rank=rank)
        recorder.item(step, CONSIDERED, edge)
    recorder.written(recorder.finish(step))


def _focus(recorder: TraceRecorder, sample: Sample, reasoning: str | None) -> list[NamedNode]:
    step = recorder.step(FOCUS_NODE)
    recorder.say(step, RAG.mode, Literal("rank+llm"))
    recorder.say(step, RAG.coverage, double(1.0))
    supports: tuple[tuple[Edge, list[tuple[NamedNode, NamedNode | None]]], ...] = (
        (
            FOUNDING,
            [
                (
                    sample.letter_chunk,
                    sample.evidence(sample.letter_chunk, FOUNDING, LETTER, "Ada founded the mill in 1903."),
                ),
                (sample.first, sample.evidence(sample.first, FOUNDING, FIRST, "Ada founded the mill.")),
                (sample.first, sample.evidence(sample.first, FOUNDING, FIRST, "she built the mill")),
            ],
        ),
        (
            STANDING,
            [
                (
                    sample.letter_chunk,
                    sample.evidence(sample.letter_chunk, STANDING, LETTER, "The mill stands in Corvane."),
                )
            ],
        ),
        (BURNING, [(sample.second, None)]),
    )
    nodes = []
    for rank, (edge, places) in enumerate(supports, start=1):
        selection = Selected(
            edge,
            score=0.75 - (rank - 1) / 10,
            lexical=0.5,
            graph=1.0,
            rank=rank,
            hop=1,
            concept="mill",
            reasoning=reasoning,
            used_chunks=tuple(dict.fromkeys(chunk for chunk, _ in places)),
            evidence=tuple(evidence for _, evidence in places if evidence is not None),
        )
        nodes.append(recorder.item(step, EDGE, selection))
    sentence = Selected(
        chunk=sample.letter_chunk,
        sentence=iris.sentence(sample.letter_chunk, 1),
        score=0.25,
        rank=4,
        used_chunks=(sample.letter_chunk,),
    )
    nodes.append(recorder.item(step, SENTENCE, sentence))
    recorder.written(recorder.finish(step))
    return nodes


def _synthesise(recorder: TraceRecorder, answer: str, selected: Sequence[NamedNode]) -> None:
    step = recorder.step(SYNTHESIS)
    recorder.say(step, RAG.storedText, recorder.keep_text(answer))
    if len(answer) <= INLINE_LIMIT:
        recorder.say(step, TG.content, Literal(answer))
    cut = answer.index("[1]") + 3
    for index, (offset, end) in enumerate(((0, cut), (cut + 1, len(answer)))):
        sentence = AnswerSentence(answer[offset:end], offset, end - offset, (selected[index],), index)
        recorder.item(step, ANSWER_SENTENCE, sentence)
        step.quads.append(recorder.quad(selected[index], RAG.marker, integer(index + 1)))
    recorder.items(step, WARNING, [Warned("unused_sources", "one is not cited")])
    recorder.written(recorder.finish(step))


def nest(sample: Sample, child: TraceRecorder, parent: TraceRecorder, step: str = "exploration") -> None:
    """Make a run a sub-trace of another's step."""
    link = Quad(child.question, PROV.wasDerivedFrom, iris.trace_step(step, parent.run), Graphs.RETRIEVAL)
    sample.edit(add=[link])


@pytest.fixture(params=["rdf12", "classic"])
def sample(request: pytest.FixtureRequest) -> Sample:
    """The library in each dialect."""
    return make_sample(request.param)


@pytest.fixture
def run(sample: Sample) -> TraceRecorder:
    """One recorded run."""
    return record(sample)


@pytest.fixture
def quad_where(sample: Sample) -> Callable[..., Quad]:
    """The one quad of the store that has these terms (None fits all)."""

    def find(s: NamedNode | None, p: NamedNode, graph: NamedNode) -> Quad:
        found = [q for q in sample.store.quads(graph) if q.predicate == p and s in (None, q.subject)]
        assert len(found) == 1
        return found[0]

    return find
