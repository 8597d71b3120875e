"""Import of other RDF as facts that are searched and cited like extracted ones.

- One file is one subgraph: `<subgraph> tg:contains <<( s p o )>> ; prov:wasDerivedFrom <file> ;
  prov:wasGeneratedBy <activity>`, a `rag:Import`. The blob store keeps the file under its hash. Importing the
  same file again changes nothing. Names of graphs in it are dropped.
- Its triples are asserted unchanged, with all labels and their languages. No triples are added.
- Subjects and objects are entities, except for terms of a vocabulary (classes, properties) and annotations of
  statements. Each entity gets its canonical entity. An entity without an `rdfs:label` gets a
  `rag:displayName` in the derived graph, one for each language: from `skos:prefLabel`, `foaf:name`,
  `schema:name` or a title, else from the values of a blank node, else from the end of its IRI.
  `rdf.terms.one_label` chooses between several labels.
- What `owl:sameAs` joins is one entity by a decision, which the file made: a split separates it again. The
  triples stay, and like names and types count as no facts (`NO_FACTS`).
- Traces and provenance of TrustGraph are no facts: see `exchange.trustgraph`.
- Blank nodes become IRIs made from the file's hash and their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from graphrag_rdf import __version__
from graphrag_rdf.exchange.trustgraph import count_traces, take_records
from graphrag_rdf.ingest.decisions import person_quads, read_decisions
from graphrag_rdf.ingest.entity_decisions import ENTITIES, settle, stated_merge
from graphrag_rdf.ingest.fact_decisions import Withheld, read_withheld
from graphrag_rdf.ingest.gate import Gate, Passed
from graphrag_rdf.ingest.names import unsettled
from graphrag_rdf.ingest.resolutions import Groups, Resolution
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import (
    DC,
    DCTERMS,
    NO_FACTS,
    OWL,
    PROV,
    RAG,
    RDF,
    RDFS,
    SKOS,
    TG,
    XSD,
    Graphs,
    Namespace,
)
from graphrag_rdf.rdf.terms import Term, best_label, datetime_, integer, now
from graphrag_rdf.rdf.wording import words_of
from graphrag_rdf.store.base import Changes, Store, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

COMPONENT = "graphrag-rdf-import"
KEY = "import/1"

FOAF = Namespace("http://xmlns.com/foaf/0.1/")
_NAMING: tuple[NamedNode, ...] = (
    SKOS.prefLabel,
    FOAF.name,
    NamedNode("https://schema.org/name"),
    NamedNode("http://schema.org/name"),
    DC.title,
    DCTERMS.title,
)
"""Properties with the name of a thing that has no rdfs:label."""
_SCHEMA_TYPES = frozenset(
    {
        OWL.Ontology, OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty,
        OWL.Restriction, OWL.AllDisjointClasses, RDFS.Class, RDFS.Datatype, RDF.Property, RDF.List,
    }
)  # fmt: skip
_VOCABULARIES = (OWL, RDF, RDFS, XSD)


_DESCRIBED, _LONGEST = 3, 80
"""Values and characters of the name of a blank node."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The numbers of new facts (see `NO_FACTS`) and entities, of traces, and of results of a validation."""

    facts: int
    entities: int
    traces: int
    broken: int = 0


@dataclass(slots=True)
class _File:
    """The triples of a file, with its names and entities."""

    facts: dict[Triple, None] = field(default_factory=dict)
    labelled: set[NamedNode] = field(default_factory=set)
    names: dict[NamedNode, list[Literal]] = field(default_factory=dict)  # by other properties
    entities: dict[NamedNode, None] = field(default_factory=dict)
    values: dict[NamedNode, list[str]] = field(default_factory=dict)  # literals of blank nodes
    kinds: dict[NamedNode, str] = field(default_factory=dict)  # types of blank nodes
    same: list[tuple[NamedNode, NamedNode]] = field(default_factory=list)

    @property
    def fact_count(self) -> int:
        """The number of triples that are not names, types or merges."""
        return sum(triple.predicate not in NO_FACTS for triple in self.facts)

    def describe(self, thing: NamedNode, predicate: NamedNode, value: Term) -> None:
        """Note what a blank node may be called by."""
        if isinstance(value, Literal) and value.value.strip():
            self.values.setdefault(thing, []).append(value.value.strip())
        elif predicate == RDF.type and isinstance(value, NamedNode):
            self.kinds.setdefault(thing, words_of(value.value))

    def display_names(self, thing: NamedNode) -> list[Literal]:
        """What a thing without rdfs:label is called, in each language."""
        names = self.names.get(thing, ())
        languages = dict.fromkeys(name.language for name in names)
        best = (best_label(name for name in names if name.language == each) for each in languages)
        return [name for name in best if name] or [Literal(self._described(thing))]

    def _described(self, thing: NamedNode) -> str:
        values = ", ".join(self.values.get(thing, [])[:_DESCRIBED])[:_LONGEST]
        return values or self.kinds.get(thing) or words_of(thing.value)


def take_facts(
    engine: Engine,
    data: bytes,
    quads: Iterable[Quad],
    *,
    name: str,
    source: NamedNode | None,
    by: str | None = None,
    passed: Passed | None = None,
) -> Taken | None:
    """Import the triples of a file as facts, and index their entities.

    Args:
        data: the file's bytes, which the blob store keeps.
        quads: its quads.
        name: of the file, for people.
        source: where it came from, if known.
        by: name of the person whose statements these are.
        passed: by the gate, with other changes; else they are validated here.

    Returns:
        what was new; None when the same file was imported before.

    Raises:
        BrokenShapesError: they break SHACL shapes, see `ingest.gate`; then nothing is imported.
        StoreError: when the blob store or the store cannot be written; then nothing is imported.
    """
    store = engine.store
    document = iris.stored_object(iris.digest(data))
    subgraph = iris.subgraph(document, KEY)
    if store.ask("exchange/subgraph", subgraph=subgraph):
        engine.blobs.put(data)  # in case it is lost or damaged
        _finish(engine, [])  # in case an import was interrupted
        return None
    started = now()
    records, others = take_records(quads)
    file = _sort(_skolemised(document, others))
    changes, new_entities = _changes(engine, document, subgraph, file)
    changes.add += records
    statements = [(fact.subject, fact.predicate, fact.object) for fact in file.facts]
    if passed is None:
        passed = Gate(engine).facts(statements, stage="import")
        passed.write(changes, [subgraph])
    engine.blobs.put(data)
    changes.add += _provenance(name, source, document, subgraph, len(data))
    activity = iris.activity(subgraph)
    changes.add += [
        prov.source(activity, PROV.startedAtTime, datetime_(started)),
        prov.source(activity, PROV.endedAtTime, datetime_(now())),
        *([prov.source(activity, PROV.wasAssociatedWith, iris.person(by))] if by else []),
        *(person_quads(iris.person(by), by) if by else []),
        prov.source(activity, RAG.factCount, integer(file.fact_count)),
        prov.source(activity, RAG.entityCount, integer(len(file.entities))),
    ]
    store.commit(changes)
    _finish(engine, file.entities)
    return Taken(file.fact_count, new_entities, count_traces(records), len(passed.results))


def _finish(engine: Engine, entities: Iterable[NamedNode]) -> None:
    """Choose labels, and update the indexes."""
    settled = settle(engine.store)
    engine.indexer.changed(entities=[*entities, *settled])
    engine.indexer.flush(final=True)


# --- reading -------------------------------------------------------------------------------------


def _skolemised(document: NamedNode, quads: Iterable[Quad]) -> Iterator[Triple]:
    known: dict[BlankNode, NamedNode] = {}

    def name(term: Term) -> Term:
        if isinstance(term, Triple):
            return Triple(name(term.subject), term.predicate, name(term.object))  # type: ignore[arg-type]
        if not isinstance(term, BlankNode):
            return term
        if term not in known:
            known[term] = iris.anonymous(document, len(known))
        return known[term]

    for quad in quads:
        yield Triple(name(quad.subject), quad.predicate, name(quad.object))  # type: ignore[arg-type]


def _sort(triples: Iterable[Triple]) -> _File:
    file = _File()
    seen: dict[NamedNode, None] = {}
    schema: set[Term] = set()
    for triple in triples:
        s, p, o = triple.subject, triple.predicate, triple.object
        if not isinstance(s, NamedNode):
            continue
        schema.add(p)
        file.facts[triple] = None
        if isinstance(o, Literal) and o.value.strip():
            if p == RDFS.label:
                file.labelled.add(s)
            elif p in _NAMING:
                file.names.setdefault(s, []).append(o)
        if s.value.startswith(iris.ANONYMOUS):
            file.describe(s, p, o)
        seen[s] = None
        if isinstance(o, Triple):
            schema.add(s)  # it annotates a statement
        elif p == OWL.sameAs:  # its object is an entity only if there is more about it
            if isinstance(o, NamedNode) and o != s:
                file.same.append((s, o))
        elif p == RDF.type:
            schema.add(o)
            if o in _SCHEMA_TYPES:
                schema.add(s)
        elif any(p in vocabulary for vocabulary in _VOCABULARIES):
            schema.add(o)  # objects of vocabulary terms: classes, other vocabularies, pages
        elif isinstance(o, NamedNode):
            seen[o] = None
    file.entities = {
        thing: None
        for thing in seen
        if thing not in schema and not any(thing in vocabulary for vocabulary in _VOCABULARIES)
    }
    file.same = [pair for pair in file.same if schema.isdisjoint(pair)]
    return file


# --- writing -------------------------------------------------------------------------------------


def _changes(engine: Engine, document: NamedNode, subgraph: NamedNode, file: _File) -> tuple[Changes, int]:
    """Facts, canonical entities, display names and merges, and the number of new entities."""
    store = engine.store
    changes = Changes()
    withheld = read_withheld(store)
    for triple in file.facts:
        changes.add += withheld.contained(subgraph, triple.subject, triple.predicate, triple.object)  # type: ignore[arg-type]
    decisions = read_decisions(store, ENTITIES)
    merges = _merges(store, document, file, withheld, Groups(decisions))
    changes.add += [quad for decision in merges for quad in decision.quads()]
    groups = Groups([*decisions, *merges])
    linked: set[Term] = set()
    contested: dict[NamedNode, None] = {member: None for merge in merges for member in merge.members}
    entities = list(file.entities)
    linked.update(
        row["entity"] for row in select_in_batches(store, "ingest/canonical-links", "entities", entities)
    )
    fresh = [entity for entity in entities if entity not in linked]
    for entity in fresh:
        changes.add.append(Quad(entity, RAG.canonicalEntity, entity, Graphs.DERIVED))
        if entity in groups:
            contested[entity] = None
    for entity in entities:
        if entity not in file.labelled:
            names = file.display_names(entity)
            changes.add += [Quad(entity, RAG.displayName, name, Graphs.DERIVED) for name in names]
    changes.add += unsettled(contested)
    return changes, len(fresh)


def _merges(
    store: Store, document: NamedNode, file: _File, withheld: Withheld, groups: Groups
) -> list[Resolution]:
    """A decision for each group that owl:sameAs joins, but for what people removed or split."""
    group_of: dict[NamedNode, dict[NamedNode, None]] = {}
    for one, other in file.same:
        if (one, OWL.sameAs, other) in withheld or groups.are_kept_apart(one, other):
            continue
        joined = group_of.get(one, {one: None}) | group_of.get(other, {other: None})
        group_of.update(dict.fromkeys(joined, joined))
    rows = select_in_batches(store, "entities/named", "things", list(group_of))
    known = {row["thing"] for row in rows}

    def rank(member: NamedNode) -> int:  # a name of the file, then one of the store, then the end of an IRI
        return 0 if member in file.labelled or member in file.names else 1 if member in known else 2

    agent = iris.agent(COMPONENT)
    distinct = {id(members): members for members in group_of.values()}
    return [
        stated_merge(min(members, key=rank), members, by=agent, source=document)
        for members in distinct.values()
    ]


def _provenance(
    name: str, source: NamedNode | None, document: NamedNode, subgraph: NamedNode, size: int
) -> Iterator[Quad]:
    """The file, the import, and its agent."""
    activity, agent = iris.activity(subgraph), iris.agent(COMPONENT)
    yield from prov.agent(COMPONENT, __version__)
    yield prov.source(document, RDF.type, RAG.StoredObject)
    yield prov.source(document, RDF.type, PROV.Entity)
    yield prov.source(document, RDFS.label, Literal(name))
    yield prov.source(document, RAG.byteSize, integer(size))
    if source is not None:
        yield prov.source(document, DCTERMS.source, source)
    yield prov.source(subgraph, RDF.type, TG.Subgraph)
    yield prov.source(subgraph, RDF.type, PROV.Entity)
    yield prov.source(subgraph, PROV.wasDerivedFrom, document)
    yield prov.source(subgraph, PROV.wasGeneratedBy, activity)
    yield prov.source(activity, RDF.type, PROV.Activity)
    yield prov.source(activity, RDF.type, RAG.Import)
    yield prov.source(activity, PROV.used, document)
    yield prov.source(activity, PROV.wasAssociatedWith, agent)
