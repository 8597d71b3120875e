"""A first draft of an ontology: the frequent types and relations of the facts, as OWL 2 DL.

What the facts show decides, by the templates `queries/ontology/draft-*`: which terms are frequent enough,
which class is a domain or range, and which class is below another one. Relations whose names differ in form
only ("is located in", "located in") are one property. Each term says how often it was found, and has quotes
and names as `skos:example`, with document and page.

Terms that extraction minted get new IRIs, and are below the new ones (`rdfs:subClassOf`,
`rdfs:subPropertyOf`), so that reasoning finds the facts of the store under them. Terms of other vocabularies
keep their IRIs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from typing import Literal as Choice

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import analyse, fold, match_key, spoken_by, stop_words
from graphrag_rdf.rdf.iris import OBSERVED_SCHEMA
from graphrag_rdf.rdf.namespaces import DCTERMS, OWL, RAG, RDF, RDFS, SCHEMA, SKOS
from graphrag_rdf.rdf.terms import Term, best_label, integer
from graphrag_rdf.rdf.wording import phrase_of
from graphrag_rdf.store.base import Row, Store, select_in_batches

Kind = Choice["class", "object", "value"]
"""A class, a property of things (its objects are things), or a property of values."""

CLASSES: dict[Kind, NamedNode] = {
    "class": OWL.Class,
    "object": OWL.ObjectProperty,
    "value": OWL.DatatypeProperty,
}
_BELOW: dict[Kind, NamedNode] = {
    "class": RDFS.subClassOf,
    "object": RDFS.subPropertyOf,
    "value": RDFS.subPropertyOf,
}
_ANNOTATIONS = (RAG.observedCount, RAG.quotedPage, SKOS.example, SKOS.altLabel, DCTERMS.source, DCTERMS.title)
_WORD = re.compile(r"\w+")
_PASSIVE = frozenset(
    {
        *("is", "are", "was", "were", "be", "been", "being"),
        *("ist", "sind", "war", "waren", "wird", "wurde", "wurden"),
    }
)
"""Forms of "to be" that say nothing more before a phrase that ends in a preposition."""
_ARTICLES = frozenset(["a", "an", "the", "ein", "eine", "einer", "der", "die", "das"])


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What a draft has.

    Attributes:
        least: facts of a relation, or things of a type, without which it is left out.
        classes, properties: at most so many, the most frequent.
        examples: of each term, at most.
        sure: share of the things at one end of a relation whose class is its domain or range.
        proposed: only terms that guided extraction proposed, because the ontology in force lacks them.
    """

    least: int = 3
    classes: int = 40
    properties: int = 60
    examples: int = 2
    sure: float = 0.9
    proposed: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A type or relation of the facts.

    Attributes:
        label: its best one.
        count: its facts, or its things.
        minted: by extraction, rather than a term of another vocabulary.
    """

    kind: Kind
    iri: NamedNode
    label: Literal
    count: int
    minted: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Types or relations that become one term.

    Attributes:
        members: the most frequent first.
        comment: by a model.
        parent: name of the class above, by a model.
    """

    kind: Kind
    name: Literal
    members: tuple[Found, ...]
    comment: str = ""
    parent: str = ""

    @property
    def count(self) -> int:
        """The facts or things of its members."""
        return sum(member.count for member in self.members)

    @property
    def iris(self) -> list[NamedNode]:
        """Of its members."""
        return [member.iri for member in self.members]


@dataclass(slots=True)
class DraftReport:
    """What a draft has.

    Attributes:
        guesses: classes below others.
        merged: relations and types that are one term with others.
        left_out: names of frequent relations that say too little, such as "is", or that another term has.
    """

    ontology: str
    classes: int = 0
    object_properties: int = 0
    datatype_properties: int = 0
    guesses: int = 0
    examples: int = 0
    merged: int = 0
    left_out: list[str] = field(default_factory=list)


def find_terms(store: Store, namespace: str, request: DraftRequest) -> tuple[list[Group], list[str]]:
    """The frequent types and relations, grouped by form, and the names of those that are left out.

    Args:
        namespace: in which extraction mints now.

    Raises:
        UsageError: there are none.
    """
    schemas = store.select("ontology/observed-schemas")
    minted = {namespace, *(row["schema"].value.removesuffix(OBSERVED_SCHEMA) for row in schemas)}
    found = _types(store, request) + _relations(store, request)
    labels = _labels(store, [iri for _, iri, _ in found])
    terms: dict[NamedNode, Found] = {}
    left_out: list[str] = []
    for kind, iri, number in found:
        term = Found(kind, iri, labels[iri], number, iri.value.startswith(tuple(minted)))
        if iri in terms or (term.minted and not _form(term)):
            left_out.append(term.label.value)
        else:
            terms[iri] = term
    if not terms:
        if request.proposed:
            raise UsageError(
                tr("no relation of {least} facts and no type of {least} things was proposed").format(
                    least=request.least
                ),
                hint=tr("ingest with --ontology FILE --ontology-mode open, or lower --least"),
            )
        raise UsageError(
            tr("no relation has {least} facts, and no type {least} things").format(least=request.least),
            hint=tr("ingest more documents, or lower --least"),
        )
    return _grouped(terms.values()), list(dict.fromkeys(left_out))


def _types(store: Store, request: DraftRequest) -> list[tuple[Kind, NamedNode, int]]:
    limits = {"least": request.least, "limit": request.classes, "proposed": request.proposed}
    rows = store.select("ontology/draft-types", **limits)
    return [("class", row["type"], row["things"]) for row in rows]


def _relations(store: Store, request: DraftRequest) -> list[tuple[Kind, NamedNode, int]]:
    limits = {"least": request.least, "limit": request.properties, "proposed": request.proposed}
    rows = store.select("ontology/draft-relations", **limits)
    return [("value" if row["literal"] else "object", row["relation"], row["facts"]) for row in rows]


def _labels(store: Store, terms: Sequence[NamedNode]) -> dict[NamedNode, Literal]:
    """The best label of each term; without one, the words at the end of its IRI."""
    known: dict[Term, list[Literal]] = {}
    for row in select_in_batches(store, "retrieval/labels", "things", terms):
        if isinstance(row["label"], Literal):
            known.setdefault(row["thing"], []).append(row["label"])
    return {term: best_label(known.get(term, ())) or Literal(phrase_of(term.value)) for term in terms}


# --- groups ---------------------------------------------------------------------------------------------


def _grouped(terms: Iterable[Found]) -> list[Group]:
    groups: dict[tuple[Kind, object], list[Found]] = {}
    for term in terms:
        groups.setdefault((term.kind, _form(term) if term.minted else term.iri), []).append(term)
    return [Group(kind, members[0].label, tuple(members)) for (kind, _), members in groups.items()]


def _form(term: Found) -> object:
    """Equal for names that differ in form only; nothing if a relation has no word of its own ("is", "has").

    "is located in" and "located in" are one, "elected" and "was elected" are not: before a phrase without a
    preposition, "was" turns the relation round.
    """
    if term.kind == "class":
        return match_key(term.label.value)
    words = fold(term.label.value).split()
    language = term.label.language or spoken_by(term.label.value) or "en"
    common = stop_words().get(language, frozenset())
    if not (stems := analyse(term.label.value, language)):
        return ()
    if words[0] in _PASSIVE and words[-1] in common:
        del words[0]
    return tuple(stems), tuple(word for word in words if word in common and word not in _ARTICLES)


# --- the ontology ---------------------------------------------------------------------------------------


def draft(
    store: Store, groups: Sequence[Group], ontology: str, about: str, request: DraftRequest
) -> tuple[list[Triple], DraftReport]:
    """An ontology of some terms.

    Args:
        ontology: its IRI; its terms are `{ontology}#{Name}`, or `{ontology}{Name}` after a slash.
        about: how it came to be, for people.

    Raises:
        UsageError: it is no IRI.
    """
    try:
        iri = NamedNode(ontology.removesuffix("#"))
    except ValueError as error:
        raise UsageError(tr("{text!r} is not an IRI: {error}").format(text=ontology, error=error)) from error
    writer = _Draft(store, groups, iri, request)
    triples = list(writer.triples(about))
    first = {subject: place for place, subject in reversed([*enumerate(t.subject for t in triples)])}
    return sorted(triples, key=lambda triple: first[triple.subject]), writer.report


class _Draft:
    def __init__(
        self, store: Store, groups: Sequence[Group], ontology: NamedNode, request: DraftRequest
    ) -> None:
        self._store, self._groups, self._request = store, groups, request
        self._ontology = ontology
        self._names = _named(groups, ontology)
        self._classes = [(name, member) for group, name in self._of("class") for member in group.iris]
        if request.proposed:  # the ends of proposed relations have classes of the ontology in force
            every = _types(store, replace(request, proposed=False, least=1))
            drafted = {member for _, member in self._classes}
            self._classes += [(iri, iri) for _, iri, _ in every if iri not in drafted]
        self._axioms = count(1)
        self.report = DraftReport(ontology.value)

    def triples(self, about: str) -> Iterator[Triple]:
        """The ontology, term by term."""
        yield Triple(self._ontology, RDF.type, OWL.Ontology)
        yield Triple(self._ontology, RDFS.comment, Literal(about, language="en"))
        for annotation in (*_ANNOTATIONS, SCHEMA.domainIncludes, SCHEMA.rangeIncludes):
            yield Triple(annotation, RDF.type, OWL.AnnotationProperty)
        for group, name in self._of("class"):
            yield from self._term(group, name)
            yield from self._things(group, name)
            self.report.classes += 1
        yield from self._subclasses()
        for group, name in self._of("object"):
            yield from self._property(group, name)
            self.report.object_properties += 1
        for group, name in self._of("value"):
            yield from self._property(group, name)
            self.report.datatype_properties += 1

    def _of(self, kind: Kind) -> list[tuple[Group, NamedNode]]:
        return [(g, name) for g, name in zip(self._groups, self._names, strict=True) if g.kind == kind]

    def _term(self, group: Group, name: NamedNode) -> Iterator[Triple]:
        """A declaration with its names, and the terms of the facts below it."""
        yield Triple(name, RDF.type, CLASSES[group.kind])
        yield Triple(name, RDFS.label, group.name)
        yield Triple(name, RAG.observedCount, integer(group.count))
        if group.comment:
            yield Triple(name, RDFS.comment, Literal(group.comment, language=group.name.language))
        for label in dict.fromkeys(member.label for member in group.members):
            if label != group.name:
                yield Triple(name, SKOS.altLabel, label)
        for member in group.members:
            if member.iri != name:
                yield Triple(member.iri, RDF.type, CLASSES[group.kind])
                yield Triple(member.iri, RDFS.label, member.label)
                yield Triple(member.iri, _BELOW[group.kind], name)
        self.report.merged += len(group.members) - 1

    def _property(self, group: Group, name: NamedNode) -> Iterator[Triple]:
        yield from self._term(group, name)
        relations = group.iris
        ends = (False,) if group.kind == "value" else (False, True)
        if self._classes:
            for objects in ends:
                for row in self._select(
                    "ends", relations=relations, objects=objects, classes=self._classes, some=0.1
                ):
                    yield Triple(name, row["holds"], row["class"])
        if group.kind == "value":
            for row in self._select("datatypes", relations=relations):
                yield Triple(name, row["holds"], row["datatype"])
        limits = {"sample": 200, "longest": 300, "limit": self._request.examples}
        for row in self._select("evidence", relations=relations, **limits):
            told = [(DCTERMS.source, row["document"]), (DCTERMS.title, row["title"])]
            told += [(RAG.quotedPage, row["page"])] if row["page"] is not None else []
            yield from self._annotated(Triple(name, SKOS.example, row["quote"]), told)
            self.report.examples += 1

    def _things(self, group: Group, name: NamedNode) -> Iterator[Triple]:
        """Names of things of a class."""
        if not self._request.examples:
            return
        for row in self._select("things", types=group.iris, limit=self._request.examples):
            yield from self._annotated(
                Triple(name, SKOS.example, row["name"]), [(RDFS.seeAlso, row["thing"])]
            )
            self.report.examples += 1

    def _subclasses(self) -> Iterator[Triple]:
        """Guesses: by the things, by the name ("research vessel" is below "vessel"), by a model."""
        for lower, (upper, reason) in self._guesses().items():
            self.report.guesses += 1
            told = [(RDFS.comment, Literal(f"guess: {reason}", language="en"))]
            yield from self._annotated(Triple(lower, RDFS.subClassOf, upper), told)

    def _guesses(self) -> dict[NamedNode, tuple[NamedNode, str]]:
        found: dict[NamedNode, tuple[NamedNode, str]] = {}
        if self._classes:
            for row in self._select("subclasses", classes=self._classes):
                reason = f"all its {row['things']} things are also of the other class"
                found.setdefault(row["lower"], (row["upper"], reason))
        classes = self._of("class")
        by_name = {match_key(group.name.value): name for group, name in classes}
        for group, name in classes:
            words = match_key(group.name.value).split()
            general = (" ".join(words[start:]) for start in range(1, len(words)))
            if upper := next((by_name[text] for text in general if text in by_name), None):
                found.setdefault(name, (upper, "its name is a special case of the other"))
            upper = by_name.get(match_key(group.parent))
            if upper not in (None, name) and not _reaches(found, upper, name):
                found.setdefault(name, (upper, "by the model"))
        return found

    def _annotated(self, triple: Triple, told: Iterable[tuple[NamedNode, Any]]) -> Iterator[Triple]:
        """A triple, and an axiom that says more of it (OWL 2 Mapping to RDF Graphs, §2.2)."""
        yield triple
        axiom = BlankNode(f"axiom{next(self._axioms)}")
        yield Triple(axiom, RDF.type, OWL.Axiom)
        yield Triple(axiom, OWL.annotatedSource, triple.subject)
        yield Triple(axiom, OWL.annotatedProperty, triple.predicate)
        yield Triple(axiom, OWL.annotatedTarget, triple.object)
        for predicate, value in told:
            yield Triple(axiom, predicate, value)

    def _select(self, name: str, **values: Any) -> Sequence[Row]:
        if name in ("ends", "subclasses"):
            values["least"] = self._request.least
        if name == "ends":
            values["sure"] = self._request.sure
        return self._store.select(f"ontology/draft-{name}", **values)


def _reaches(above: dict[NamedNode, tuple[NamedNode, str]], start: NamedNode, end: NamedNode) -> bool:
    """Whether one class is already below another."""
    while start in above:
        start = above[start][0]
        if start == end:
            return True
    return False


def _named(groups: Sequence[Group], ontology: NamedNode) -> list[NamedNode]:
    """An IRI for each term: of its first term of another vocabulary, else minted from its name."""
    taken: set[str] = set()
    names = []
    for group in groups:
        foreign = next((member.iri for member in group.members if not member.minted), None)
        names.append(foreign or NamedNode(terms_of(ontology.value) + _local(group, taken)))
    return names


def terms_of(ontology: str) -> str:
    """The namespace of the terms of an ontology."""
    return ontology if ontology.endswith("/") else f"{ontology}#"


def _local(group: Group, taken: set[str]) -> str:
    """A local name that is not taken: `ResearchVessel`, `wasBornIn`, `wasBornInValue`."""
    words = _WORD.findall(group.name.value)
    joined = "".join(word[:1].upper() + word[1:] for word in words) or "Term"
    local = joined if group.kind == "class" else joined[:1].lower() + joined[1:]
    local = f"_{local}" if local[0].isdigit() else local
    if local in taken and group.kind == "value":
        local += "Value"
    numbered = (f"{local}{number}" for number in count(2))
    name = local if local not in taken else next(each for each in numbered if each not in taken)
    taken.add(name)
    return name
