"""From what an extractor found to quads.

`CandidateFilter` rejects names and statements that cannot be facts. For each chunk two subgraphs are written:
the *mention layer* (names in sentences, always, without any model) and what the extractor found. A name that
the mention layer contains already is not contained twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.extract.evidence import Located, locate, locate_by_content
from graphrag_rdf.extract.model import (
    NOTHING,
    EntityCandidate,
    Extraction,
    Mention,
    Qualifiers,
    Rejected,
    RelationCandidate,
)
from graphrag_rdf.extract.names import fold, reject_reason
from graphrag_rdf.ingest.fact_decisions import Withheld
from graphrag_rdf.ingest.names import KnownNames, Minter
from graphrag_rdf.ingest.resolutions import Groups
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import NO_FACTS, RAG, RDF, RDFS, SKOS, Graphs
from graphrag_rdf.rdf.terms import name_in, typed
from graphrag_rdf.store.base import Store


@dataclass(frozen=True, slots=True)
class Fit:
    """What of an extraction may become facts, and what may not."""

    entities: list[EntityCandidate] = field(default_factory=list)
    relations: list[RelationCandidate] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


class CandidateFilter:
    """Rejects names and statements that cannot be facts.

    Args:
        min_length: code points of a name.
    """

    def __init__(self, min_length: int) -> None:
        self._min = min_length
        self._reasons: dict[str, str | None] = {}  # a text repeats its names

    def fit(self, found: Extraction) -> Fit:
        """What of an extraction may become facts."""
        fit = Fit(rejected=[*found.rejected])
        self._fit_entities(found.entities, fit)
        self._fit_relations(found.relations, fit)
        return fit

    def unfit(self, name: str) -> str | None:
        """Why a name may not become an entity; None if it may."""
        if name not in self._reasons:
            self._reasons[name] = reject_reason(name, min_length=self._min)
        return self._reasons[name]

    def _fit_entities(self, candidates: Iterable[EntityCandidate], fit: Fit) -> None:
        for candidate in candidates:
            if reason := self.unfit(candidate.name):
                fit.rejected.append(Rejected(reason, candidate.name))
            elif candidate.type and not fold(candidate.type):
                fit.entities.append(replace(candidate, type=None))
            else:
                fit.entities.append(candidate)

    def _fit_relations(self, candidates: Iterable[RelationCandidate], fit: Fit) -> None:
        for candidate in candidates:
            ends = [candidate.subject, *([candidate.object] if candidate.object_is_entity else [])]
            reason = next((why for name in ends if (why := self.unfit(name))), None)
            if reason is None and not (fold(candidate.predicate) and fold(candidate.object)):
                reason = "empty"
            if reason:
                item = f"{candidate.subject} | {candidate.predicate} | {candidate.object}"
                fit.rejected.append(Rejected(reason, item))
            else:
                fit.relations.append(candidate)


QUALIFIERS = {"from": RAG.since, "to": RAG.until, "at": RAG.at, "amount": RAG.amount}
"""Qualifier of a statement → property of its evidence."""


@dataclass(frozen=True, slots=True)
class FactSettings:
    """Which candidates become facts, and their namespace.

    Attributes:
        namespace: base IRI of entities, relations and types.
        entity_min_length: code points of a name.
    """

    namespace: str = iris.DEFAULT_NAMESPACE
    entity_min_length: int = 2


@dataclass(slots=True)
class Written:
    """The quads of a subgraph, and their numbers.

    Attributes:
        named: (IRI, name) pairs that are contained already.
        by_content: facts that the chunk states in other words than their quote.
        unverified: facts that no sentence of the chunk was found to state.
        proposed: relations and types that the ontology in force lacks.
    """

    subgraph: NamedNode
    named: set[tuple[str, str]] = field(default_factory=set)
    quads: list[Quad] = field(default_factory=list)
    by_content: int = 0
    unverified: int = 0
    new_entities: list[NamedNode] = field(default_factory=list)
    entities: set[NamedNode] = field(default_factory=set)
    rejected: list[Rejected] = field(default_factory=list)
    quoted: set[NamedNode] = field(default_factory=set)
    proposed: set[NamedNode] = field(default_factory=set)

    def new_facts(self, store: Store) -> int:
        """How many facts a commit would assert that the store does not assert already; names and types do not
        count."""
        edges = {
            (quad.subject, quad.predicate, quad.object)
            for quad in self.quads
            if quad.graph_name == DefaultGraph() and quad.predicate not in NO_FACTS
        }
        return len(edges) - len(store.select("facts/asserted", edges=edges)) if edges else 0

    def quote(self, evidence: Iterable[Quad]) -> None:
        """Add the quads of a quote, unless the fact has one that begins there: the first stands."""
        quads = list(evidence)
        node = quads[0].subject
        if isinstance(node, NamedNode) and node not in self.quoted:
            self.quoted.add(node)
            self.quads += quads


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk for the location of evidence: IRI, text, sentences, and topic and language of its document."""

    iri: NamedNode
    text: str
    sentences: Sequence[Sentence]
    topic: str | None = None
    language: str | None = None

    def evidence(
        self,
        subgraph: NamedNode,
        triple: tuple[NamedNode, NamedNode, NamedNode | Literal],
        span: tuple[int, int],
        confidence: float | None,
        qualifiers: Qualifiers = (),
        *,
        by_content: bool = False,
    ) -> Iterator[Quad]:
        """The quads of a located quote, `span` being (offset, length) in the text."""
        offset, length = span
        number = self._number(offset)
        sentence = iris.sentence(self.iri, self.sentences[number].index) if number >= 0 else None
        quote = self.text[offset : offset + length]
        return prov.evidence(
            subgraph,
            triple,
            quote,
            offset,
            confidence,
            sentence,
            _literals(qualifiers),
            by_content=by_content,
            language=self.language,
        )

    def find(self, quote: str | None, subject: str, predicate: str, value: str) -> Located | None:
        """The place where the text states a fact in other words than its quote."""
        return locate_by_content(
            quote, subject, predicate, value, self.text, self.sentences, topic=self.topic
        )

    def _number(self, offset: int) -> int:
        return bisect_right(self.sentences, offset, key=lambda sentence: sentence.offset) - 1


class FactWriter:
    """Turns extractions into quads, with the names that the store has already.

    Args:
        names: the names in the store.
        settings: see `FactSettings`.
        groups: entities that are one by decisions, which are applied when names are settled.
        withheld: facts that are contained where they are found, and not asserted.
    """

    def __init__(self, names: KnownNames, settings: FactSettings, groups: Groups, withheld: Withheld) -> None:
        self._names = names
        self._settings = settings
        self._groups = groups
        self._withheld = withheld
        self._mint = Minter(settings.namespace)
        self._candidate_filter = CandidateFilter(settings.entity_min_length)

    def mentions(
        self,
        chunk: NamedNode,
        subgraph: NamedNode,
        sentences: Sequence[Sentence],
        mentions: Iterable[Mention],
        topics: Sequence[str] = (),
        fit: Fit | None = None,
        *,
        language: str | None = None,
    ) -> tuple[Written, list[Quad]]:
        """The names that the mention layer contains, the sentences with what they mention, and what the
        chunk is about.

        Args:
            fit: the candidates of the chunk's extraction. Their names are looked up in the same query.
            language: of the document, BCP 47, see `rdf.terms.name_in`; None if it is unknown.

        Returns:
            (names as facts of `subgraph`, sentence quads of the chunk)
        """
        out = Written(subgraph)
        kept = [m for m in mentions if self._candidate_filter.unfit(m.name) is None]
        terms = {m.name: self._mint.term(m.name) for m in kept if m.term}
        nodes = {m.name: self._mint.entity(m.name) for m in kept if not m.term}
        about = [topic for topic in topics if self._candidate_filter.unfit(topic) is None]
        nodes |= {topic: self._mint.entity(topic) for topic in about}
        self._names.load([*nodes.values(), *terms.values(), *self._named_by(fit or Fit())])
        by_sentence: dict[int, dict[str, NamedNode]] = {}
        position = 0
        for mention in sorted(kept, key=lambda m: m.offset):
            while position + 1 < len(sentences) and sentences[position + 1].offset <= mention.offset:
                position += 1
            node = (terms if mention.term else nodes)[mention.name]
            by_sentence.setdefault(position, {})[node.value] = node
        for name, node in nodes.items():
            self._name(out, node, name, language)
        for name, node in terms.items():
            self._name(out, node, name, language, term=True)
        sentence_quads = [prov.source(chunk, RAG.about, nodes[topic]) for topic in about]
        for number, sentence in enumerate(sentences):
            mentioned = by_sentence.get(number, {})
            sentence_quads += prov.sentence(
                chunk, sentence.index, sentence.offset, sentence.length, mentioned.values()
            )
        return out, sentence_quads

    def extraction(
        self, subgraph: NamedNode, chunk: ChunkText, fit: Fit, named: set[tuple[str, str]]
    ) -> Written:
        """The facts of one extraction, after the mentions of its chunk.

        Args:
            subgraph: where they are contained.
            chunk: the chunk, in which quotes are located.
            fit: the candidates of the extraction. Their names were looked up with the mentions.
            named: (IRI, name) pairs that the mention layer contains already.
        """
        out = Written(subgraph, set(named), rejected=fit.rejected)
        for candidate in fit.entities:
            self._entity(out, chunk, candidate)
        for relation in fit.relations:
            s, p, o = self._state(out, self._predicate(relation), relation, chunk.language)
            if relation.proposed:
                out.proposed.add(p)
            said = (relation.subject, relation.predicate, relation.object)
            self._quote(out, chunk, (s, p, o), said, relation)
        for index, left_out in enumerate(out.rejected):
            axiom = NamedNode(left_out.breaks) if left_out.breaks else None
            out.quads += prov.rejected(subgraph, index, left_out.reason, left_out.item, axiom)
        for term in sorted(out.proposed, key=str):
            out.quads.append(prov.source(subgraph, RAG.proposes, term))
        return out

    def metadata(
        self,
        subgraph: NamedNode,
        stated: Sequence[RelationCandidate],
        relations: Mapping[str, NamedNode],
        language: str | None = None,
    ) -> Written:
        """Facts that have no quote.

        Args:
            stated: the facts. Those with unfit names are left out.
            relations: the IRIs of their predicates, by label, which is English.
            language: of the document.
        """
        fit = self._candidate_filter.fit(replace(NOTHING, relations=tuple(stated)))
        self._names.load([*self._named_by(fit), *relations.values()])
        out = Written(subgraph)
        for relation in fit.relations:
            self._state(out, relations[relation.predicate], relation, language, called_in="en")
        return out

    def _subject(self, relation: RelationCandidate) -> NamedNode:
        return (self._mint.term if relation.of_term else self._mint.entity)(relation.subject)

    def _type(self, candidate: EntityCandidate, name: str) -> NamedNode:
        return NamedNode(candidate.class_iri) if candidate.class_iri else self._mint.type(name)

    def _object(self, relation: RelationCandidate) -> NamedNode:
        return NamedNode(relation.object_iri) if relation.object_iri else self._mint.entity(relation.object)

    def _predicate(self, relation: RelationCandidate) -> NamedNode:
        if relation.property_iri:
            return NamedNode(relation.property_iri)
        return self._mint.relation(relation.predicate, of_values=not relation.object_is_entity)

    def _named_by(self, fit: Fit) -> Iterator[NamedNode]:
        """The things of which names will be asserted or contained."""
        for candidate in fit.entities:
            yield self._mint.entity(candidate.name)
            if candidate.type:
                yield self._type(candidate, candidate.type)
        for relation in fit.relations:
            yield self._subject(relation)
            yield self._predicate(relation)
            if relation.object_is_entity:
                yield self._object(relation)

    def fit(self, found: Extraction) -> Fit:
        """What of an extraction may become facts."""
        return self._candidate_filter.fit(found)

    # --- quads -------------------------------------------------------------------------------------

    def _name(
        self,
        out: Written,
        thing: NamedNode,
        name: str,
        language: str | None,
        *,
        entity: bool = True,
        term: bool = False,
    ) -> None:
        """Contain a name of a thing in its language, and assert it if it is new, unless it is `named`.

        A term (the label of lines in tables) is indexed as an entity is, but not counted as one.
        """
        if (thing.value, name) in out.named:
            return
        out.named.add((thing.value, name))
        if entity:
            out.entities.add(thing)
            if self._names.is_new(thing):
                if term:
                    out.quads.append(Quad(thing, RDF.type, RAG.Term, Graphs.DERIVED))
                else:
                    out.new_entities.append(thing)
                out.quads.append(Quad(thing, RAG.canonicalEntity, thing, Graphs.DERIVED))
                if thing in self._groups:
                    self._names.contest(thing)
        label = name_in(name, language)
        if prop := self._names.add(thing, label):
            out.quads.append(prov.fact(thing, prop, label))
        out.quads.append(prov.contains(out.subgraph, thing, RDFS.label, label))

    def _entity(self, out: Written, chunk: ChunkText, candidate: EntityCandidate) -> None:
        node = self._mint.entity(candidate.name)
        self._name(out, node, candidate.name, chunk.language)
        for alias in candidate.aliases:
            if alias == candidate.name or self._candidate_filter.unfit(alias):
                continue
            other = name_in(alias, chunk.language)
            if prop := self._names.add(node, other, alias=True):
                out.quads.append(prov.fact(node, prop, other))
            out.quads.append(prov.contains(out.subgraph, node, SKOS.altLabel, other))
        if candidate.type:
            kind = self._type(candidate, candidate.type)
            if candidate.proposed:
                out.proposed.add(kind)
            self._name(out, kind, candidate.type, None, entity=False)  # a word of the extractor's
            out.quads += self._withheld.contained(out.subgraph, node, RDF.type, kind)
        if candidate.definition:
            said = (candidate.name, "", candidate.definition)
            if not candidate.quote and chunk.find(None, *said) is None:
                item = f"{candidate.name} | definition | {candidate.definition}"
                out.rejected.append(Rejected("no_evidence", item))
                return
            triple = (node, SKOS.definition, Literal(candidate.definition))
            out.quads += self._withheld.contained(out.subgraph, *triple)
            self._quote(out, chunk, triple, said, candidate)

    def _quote(
        self,
        out: Written,
        chunk: ChunkText,
        triple: tuple[NamedNode, NamedNode, NamedNode | Literal],
        said: tuple[str, str, str],
        found: RelationCandidate | EntityCandidate,
    ) -> None:
        """Add the evidence of a statement or definition: its quote if the text has it, else the sentence that
        states it in other words, else its quote, marked as not found.
        """
        relation = found if isinstance(found, RelationCandidate) else None
        span, confidence = (relation.span, relation.confidence) if relation else (None, None)
        qualifiers = relation.qualifiers if relation else ()
        by_content = False
        if span is None:
            place = locate(found.quote, chunk.text) if found.quote else None
            by_content = place is None
            place = place or chunk.find(found.quote, *said)
            span = (place.offset, place.length) if place else None
        if span is not None:
            out.by_content += by_content
            out.quote(
                chunk.evidence(out.subgraph, triple, span, confidence, qualifiers, by_content=by_content)
            )
            return
        out.unverified += 1
        if found.quote:
            literals = _literals(qualifiers)
            out.quote(prov.evidence(out.subgraph, triple, found.quote, None, confidence, None, literals))

    def _state(
        self,
        out: Written,
        p: NamedNode,
        relation: RelationCandidate,
        language: str | None,
        *,
        called_in: str | None = None,
    ) -> tuple[NamedNode, NamedNode, NamedNode | Literal]:
        """Contain a fact with the names of its parts, and assert it.

        Args:
            language: of the document.
            called_in: language of the predicate's name, if that is another one.
        """
        s = self._subject(relation)
        o: NamedNode | Literal
        self._name(out, s, relation.subject, language, term=relation.of_term)
        own = None if relation.property_iri else language  # an ontology's term has names of its own
        self._name(out, p, relation.predicate, called_in or own, entity=False)
        if (literal := literal_of(relation)) is not None:
            o = literal
        else:
            o = self._object(relation)
            self._name(out, o, relation.object, None if relation.object_iri else language)
        out.quads += self._withheld.contained(out.subgraph, s, p, o)
        return s, p, o


def _literals(qualifiers: Qualifiers) -> list[tuple[NamedNode, Literal]]:
    return [(QUALIFIERS[name], typed(text, datatype)) for name, text, datatype in qualifiers]


def literal_of(relation: RelationCandidate) -> Literal | None:
    """The value that a statement gives its subject; None if its object is an entity."""
    return None if relation.object_is_entity else typed(relation.object, relation.datatype)
