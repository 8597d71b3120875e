"""What sentences and chunks are known by: where they stand, what they mention, what they say.

Each is asked once in a question, however many steps want to know it. Facts that were read from no text
(imported, by hand) lead to the file or decision that they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.index.analyse import fold
from graphrag_rdf.steps.state import Context, Selection, State, Triple
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.documents import Source, read_source
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.trace.sources import asserted_premises, proofs

OF_FACTS = ("provenance/quotes", "provenance/derivations", "provenance/places", "provenance/origins")
OF_SENTENCES = ("retrieval/passage-sentences", "provenance/places", "retrieval/chunks")
"""The templates that look up their sources."""


def mentions_of(
    context: Context, state: State, step: Step, sentences: Iterable[str]
) -> Mapping[str, tuple[NamedNode, ...]]:
    """The canonical entities that sentences mention or that their passages are about, sorted.

    Args:
        step: records the query for those that were not asked for before.
        sentences: IRIs.

    Returns:
        sentence → entities, for each of the sentences.
    """
    wanted = set(sentences)
    unknown = sorted(wanted - state.mentioned.keys())
    if unknown:
        chunks = {chunk_of(sentence) for sentence in unknown} - state.topics.keys()
        rows = context.select(
            step,
            "retrieval/mentioned-entities",
            sentences=[NamedNode(iri) for iri in unknown],
            chunks=[NamedNode(iri) for iri in sorted(chunks)],
        )
        state.topics.update({chunk: set() for chunk in chunks})
        mentioned: dict[str, set[NamedNode]] = {sentence: set() for sentence in unknown}
        for row in rows:
            known = mentioned if row["sentence"] is not None else state.topics
            known[(row["sentence"] or row["chunk"]).value].add(row["entity"])
        for sentence, entities in mentioned.items():
            ordered = sorted(entities | state.topics[chunk_of(sentence)], key=lambda entity: entity.value)
            state.mentioned[sentence] = tuple(ordered)
    return {sentence: state.mentioned[sentence] for sentence in wanted}


def left_out(state: State, mentioned: Iterable[NamedNode]) -> bool:
    """Whether a sentence is about what must not be followed: an entity that is excluded, and nothing beside
    it that the question names.
    """
    if not state.exclude:
        return False
    named = {seed.entity for seed in state.seeds}
    entities = set(mentioned)
    return not entities.isdisjoint(state.exclude) and entities.isdisjoint(named)


def chunk_of(sentence: str) -> str:
    """The chunk of a sentence, whose IRI is the chunk's with a fragment."""
    return sentence.partition("#")[0]


def attach_sources(context: Context, state: State, step: Step, selections: Sequence[Selection]) -> None:
    """Give each selection all its sources: a fact its quotes, or without one the chunks that it was read
    from, and what else it came from.
    """
    edges = _premises_of(context, selections)
    for selection in selections:
        for fact in (selection.edge.triple, *selection.edge.also) if selection.edge else ():
            edges.setdefault(fact, []).append(selection)
    if edges:
        beside = {chunk_of(one.hit.sentence.value) for one in selections if one.hit}
        beside |= {one.chunk.value for one in state.chunks if one.chunk}
        _attach_to_facts(context, state, step, edges, beside)
    hits = {selection.hit.sentence.value: selection for selection in selections if selection.hit}
    for sentence, sources in sentence_sources(context, state, step, hits).items():
        hits[sentence].sources = sources


def fact_said(selections: Sequence[Selection], sentence: str, words: QuestionWords) -> Selection | None:
    """The fact that says most of the question, of those that were read from a sentence; first those that were
    read from no other one. Its sources are then those in the sentence alone.

    Args:
        selections: with their sources.
    """
    folded = fold(sentence)
    best: tuple[tuple[float, bool, float], Selection, tuple[Source, ...]] | None = None
    for one in selections:
        if one.edge is None or one.edge.inferred:
            continue
        own = tuple(source for source in one.sources if fold(source.quote or "") in folded)
        said = words.coverage(one.edge.text) if own else 0.0
        key = said, len(own) == len(one.sources), one.score
        if said and (best is None or key > best[0]):
            best = key, one, own
    if best is None:
        return None
    best[1].sources = best[2]
    return best[1]


def facts_said(
    context: Context, state: State, step: Step, selections: Sequence[Selection]
) -> Iterator[Selection]:
    """Of each selected sentence the fact that was read from it, with its reason and number, unless one of its
    facts is selected.
    """
    words = QuestionWords.of(state.question, state.language, context.text_index)
    selected = {one.edge.triple: one for one in state.selections if one.edge}
    selected |= {one.edge.triple: one for one in selections if one.edge}
    attach_sources(context, state, step, [one for one in selections if one.hit and not one.sources])
    facts: dict[str, list[Selection]] = {one.hit.sentence.value: [] for one in selections if one.hit}
    said = {sentence.value for one in selections if one.edge for sentence in one.edge.sentences}
    for edge in state.edges:
        one = selected.get(edge.triple) or Selection(score=edge.score, edge=edge)
        for sentence in edge.sentences if one not in selections else ():
            facts.get(sentence.value, []).append(one)
    attach_sources(context, state, step, [one for own in facts.values() for one in own if not one.sources])
    for selection in selections:
        place = selection.hit.sentence.value if selection.hit and selection.sources else ""
        own = facts.get(place, []) if place not in said else []
        if fact := fact_said(own, selection.sources[0].quote or "" if own else "", words):
            fact.marker, fact.shown = selection.marker, selection.shown
            fact.reasoning = fact.reasoning or selection.reasoning
            yield fact


def _attach_to_facts(
    context: Context,
    state: State,
    step: Step,
    edges: Mapping[Triple, Sequence[Selection]],
    beside: set[str],
) -> None:
    """Give facts their sources.

    Args:
        beside: chunks whose places are wanted next, so that they are asked for at once.
    """
    facts = list(edges)
    numbered = [(number, *fact) for number, fact in enumerate(facts)]
    quotes = context.select(step, "provenance/quotes", edges=numbered)
    origins = context.select(step, "provenance/derivations", edges=numbered)
    read_from = [row for row in origins if row["offset"] is not None]
    quoted = {row["number"] for row in quotes}
    chunks = {row["chunk"] for row in quotes}
    chunks |= {row["origin"] for row in read_from if row["number"] not in quoted}
    places = chunk_places(context, state, step, chunks | beside)
    found: dict[int, list[tuple[_Order, Source]]] = {}
    for row in quotes:
        offset, quote = row["offset"], row["quote"]
        for place in places.get(row["chunk"], ()):
            if place.current and place.has(offset or 0):
                source = place.quoting(quote, offset, row["evidence"])
                found.setdefault(row["number"], []).append((place.order(offset, source.evidence), source))
    for row in read_from:
        if row["number"] not in quoted:
            for place in places.get(row["origin"], ()):
                entry = place.order(None, None), place.source
                found.setdefault(row["number"], []).append(entry)
    for number, own in sorted(found.items()):
        for selection in edges[facts[number]]:
            _add(selection, (source for _, source in sorted(own, key=itemgetter(0))))
    others = {facts[row["number"]] for row in origins if row["offset"] is None}
    if others:
        given = [fact for fact in facts if fact in others]
        for row in context.select(step, "provenance/origins", edges=given):
            for selection in edges[row["s"], row["p"], row["o"]]:
                _add(selection, [replace(read_source(row), subgraph=None, activity=None)])


def _premises_of(context: Context, selections: Sequence[Selection]) -> dict[Triple, list[Selection]]:
    """The facts that inferred selections follow from, with these, which get their proofs."""
    inferred = {one.edge.triple: one for one in selections if one.edge and one.edge.inferred}
    found: dict[Triple, list[Selection]] = {}
    for fact, proof in proofs(context.store, inferred).items() if inferred else ():
        selection = inferred[fact]
        selection.inferences = proof
        for premise in asserted_premises(proof):
            found.setdefault(premise, []).append(selection)
    return found


def sentence_sources(
    context: Context, state: State, step: Step, sentences: Iterable[str]
) -> Mapping[str, tuple[Source, ...]]:
    """Where sentences stand: asked once in a question, however many steps want to know it.

    Args:
        step: records the queries for those that were not asked for before.
        sentences: IRIs.

    Returns:
        sentence → its sources, in the order of documents and places; those that are gone are absent.
    """
    wanted = set(sentences)
    unknown: dict[str, set[str]] = {}
    for iri in wanted - state.sources.keys():
        unknown.setdefault(chunk_of(iri), set()).add(iri)
    if unknown:
        places = chunk_places(context, state, step, unknown)
        texts = chunk_texts(context, state, step, unknown)
        sentences_of = chunk_sentences(context, state, step, unknown)
        for chunk, asked in unknown.items():
            state.sources.update(dict.fromkeys(asked, ()))
            for offset, length, iri in sentences_of[chunk] if chunk in texts else ():
                if iri in asked:
                    quote = texts[chunk][0][offset : offset + length]
                    state.sources[iri] = tuple(
                        place.quoting(quote, offset)
                        for place in places[chunk]
                        if place.current and place.has(offset)
                    )
    known = {iri: state.sources[iri] for iri in wanted if state.sources[iri]}
    return dict(
        sorted(known.items(), key=lambda item: (item[1][0].document, item[1][0].char_offset or 0, item[0]))
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk is, on one of the pages that it touches.

    Attributes:
        source: the whole chunk as a source.
        offset: of the chunk in its document.
        page: offset and length of the page in the document; None of documents without pages.
        current: false of a chunk that an edit left behind.
    """

    source: Source
    offset: int
    page: tuple[int, int] | None
    current: bool

    def has(self, offset: int) -> bool:
        """Whether what begins at an offset in the chunk is on the page."""
        return self.page is None or 0 <= self.offset + offset - self.page[0] <= self.page[1]

    def quoting(self, quote: str, offset: int | None, evidence: str | None = None) -> Source:
        """Words of the chunk as a source. They were not found in it if their offset is None."""
        where = (None, None) if offset is None else (self.offset + offset, len(quote))
        return replace(
            self.source,
            char_offset=where[0],
            char_length=where[1],
            quote=quote,
            verified=offset is not None,
            evidence=evidence,
        )

    def order(self, offset: int | None, evidence: str | None) -> _Order:
        """What sorts sources by document and place, the unlocated first."""
        first = self.source.document, self.offset
        return *first, -1 if offset is None else offset, evidence or "", self.source.page_number or 0


_Order: TypeAlias = tuple[str, int, int, str, int]


def chunk_places(
    context: Context, state: State, step: Step, chunks: Iterable[str]
) -> Mapping[str, Sequence[Place]]:
    """Where chunks are, by pages: asked once in a question, as above; those that are gone are absent."""
    wanted = set(chunks)
    if unknown := sorted(wanted - state.places.keys()):
        state.places.update({chunk: [] for chunk in unknown})
        for row in context.select(step, "provenance/places", chunks=[NamedNode(iri) for iri in unknown]):
            number, first = row["page_number"], row["page_offset"]
            page = None if number is None else (first or 0, row["page_length"] or 0)
            offset, current = row["chunk_offset"], row["current"]
            place = Place(read_source(row), offset, page, current)
            state.places[row["chunk"]].append(place)
    return {chunk: state.places[chunk] for chunk in wanted}


def chunk_texts(
    context: Context, state: State, step: Step, chunks: Iterable[str | None]
) -> Mapping[str, tuple[str, int]]:
    """What chunks say, and where they begin in their documents: asked once in a question, as above.

    Args:
        step: records the query for those that were not asked for before.
        chunks: IRIs; None, of what stands in no chunk, is skipped.

    Returns:
        chunk → text and offset in code points; those that are gone are absent.
    """
    wanted = {chunk for chunk in chunks if chunk is not None}
    if unknown := sorted(wanted - state.texts.keys()):
        rows = context.select(step, "retrieval/chunks", chunks=[NamedNode(chunk) for chunk in unknown])
        for row in rows:
            chunk = row["chunk"].value
            state.texts[chunk] = row["text"], row["offset"]
            if row["alike"] is not None:
                state.alike[chunk] = row["alike"]
    return {chunk: state.texts[chunk] for chunk in sorted(wanted & state.texts.keys())}


def chunk_sentences(
    context: Context, state: State, step: Step, chunks: Iterable[str]
) -> Mapping[str, Sequence[tuple[int, int, str]]]:
    """The sentences of chunks: offset and length in the chunk, and IRI, in order; asked once, as above.

    Args:
        step: records the query for those that were not asked for before.
        chunks: IRIs; those that were retired have none.
    """
    wanted = set(chunks)
    if unknown := sorted(wanted - state.sentences.keys()):
        asked = [NamedNode(chunk) for chunk in unknown]
        found: dict[str, list[tuple[int, int, str]]] = {chunk: [] for chunk in unknown}
        for row in context.select(step, "retrieval/passage-sentences", chunks=asked):
            iri = row["sentence"].value
            found[chunk_of(iri)].append((row["offset"], row["length"], iri))
        state.sentences.update((chunk, sorted(own)) for chunk, own in found.items())
    return {chunk: state.sentences[chunk] for chunk in wanted}


def _add(selection: Selection, sources: Iterable[Source]) -> None:
    """A place counts once, whoever read it."""
    for source in sources:
        if source not in selection.sources:
            selection.sources = (*selection.sources, source)
