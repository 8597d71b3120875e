"""Decisions: one record of what people, rules and files decide, and one way to read, make and undo it.

A decision is a node of the system graph. Facts and names are never rewritten: a decision says how they count,
and its *effect* keeps what follows from it in step, which can be rebuilt from the decisions at any time. A
decision that was undone stays, marked with `prov:invalidatedAtTime`.

A *kind* of decision is declared, as `Kind`, in `KINDS` of a module of this package whose name ends in
`_decisions`: `entity_decisions`, `relation_decisions`, `fact_decisions`. All kinds are found there, so
nothing else changes when one is added.

Decisions are replayed in the order in which they were made. Those that follow from a file or from the names
alone, and have no time, come first.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf import ingest
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, double, now, text_of, to_python
from graphrag_rdf.store.base import Changes, Store

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

_FIRST = datetime.min.replace(tzinfo=UTC)
_DRAFT = NamedNode("urn:graphrag-rdf:decision:draft")

PERSON = iris.agent("person")
"""The agent of decisions on the command line, unless a name is given."""
SYNONYMS = iris.agent("graphrag-rdf-synonyms")
"""The agent of decisions that follow from the synonyms file."""


# --- properties ----------------------------------------------------------------------------


def node(terms: Sequence[Term]) -> NamedNode | None:
    """The only term of a property, if it is an IRI."""
    return terms[0] if terms and isinstance(terms[0], NamedNode) else None


def nodes(terms: Sequence[Term]) -> tuple[NamedNode, ...]:
    """All IRIs, sorted."""
    return tuple(sorted((term for term in terms if isinstance(term, NamedNode)), key=str))


def term(terms: Sequence[Term]) -> Term | None:
    """The only term, as it is."""
    return terms[0] if terms else None


def value(terms: Sequence[Term]) -> object:
    """The Python value of the only term."""
    return to_python(terms[0]) if terms else None


def flag(terms: Sequence[Term]) -> bool:
    """Whether the only term is true."""
    return value(terms) is True


def statement(terms: Sequence[Term]) -> tuple[Term, ...] | None:
    """The terms of a triple term."""
    return tuple(terms[0]) if terms and isinstance(terms[0], Triple) else None


def _terms(python: object) -> Iterator[Term]:
    """The terms of an attribute; None and False have none."""
    match python:
        case None | False:
            return
        case bool() | str():
            yield Literal(python)
        case datetime():
            yield datetime_(python)
        case float():
            yield double(python)
        case tuple():
            yield from python
        case _:
            yield python  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Property:
    """How an attribute of a decision stands in the store.

    Attributes:
        read: the attribute's value, from the terms of the property, of which there may be none.
        write: the terms, from the value.
    """

    iri: NamedNode
    read: Callable[[Sequence[Term]], Any]
    write: Callable[[Any], Iterable[Term]] = _terms


_OF_ALL: Mapping[str, Property] = {
    "by": Property(PROV.wasAttributedTo, node),
    "reason": Property(RAG.reason, value),
    "confidence": Property(RAG.confidence, value),
    "made": Property(PROV.generatedAtTime, value),
    "undone": Property(PROV.invalidatedAtTime, value),
    "source": Property(PROV.hadPrimarySource, node),
}


_STATEMENTS = {
    RAG.retracts: "decisions/retracted",
    RAG.assertsInstead: "decisions/asserted-instead",
}
"""Properties with triple terms → the templates that read them in any dialect."""


# --- the record, and kinds of it ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What somebody decided.

    Attributes:
        members: the things that it is about, sorted by IRI.
        by: the agent that decided: a rule, a model or a person.
        reason: for people; it does not quote documents.
        confidence: 0 to 1.
        made: None for those that follow from a file or from names, which come first.
        undone: None while it stands.
        source: the file that says so, if no person or rule decided.
    """

    JSON: ClassVar[tuple[str, ...]] = ("iri", "kind=kind.name", "members", *_OF_ALL)

    iri: NamedNode = _DRAFT
    kind: Kind[Any]
    members: tuple[NamedNode, ...] = ()
    by: NamedNode | None = None
    reason: str | None = None
    confidence: float | None = None
    made: datetime | None = None
    undone: datetime | None = None
    source: NamedNode | None = None

    @property
    def content(self) -> tuple[str, ...]:
        """What it decides; the IRI depends on it."""
        return tuple(member.value for member in self.members)

    @property
    def things(self) -> set[NamedNode]:
        """Everything that it names."""
        return set(self.members)

    @property
    def terms(self) -> set[Term]:
        """Everything that its words name."""
        return {*self.things}

    def in_words(self, called: Callable[[Term], str] = text_of) -> str:
        """What it decides, for people.

        Args:
            called: the label of a term.
        """
        return f"{', '.join(map(called, self.members))} {tr(self.kind.words)}"

    def quads(self) -> Iterator[Quad]:
        """The node, in the system graph."""
        for type_ in self.kind.types:
            yield system(self.iri, RDF.type, type_)
        for name, prop in self.kind.stored.items():
            for each in prop.write(attrgetter(name)(self)):
                yield system(self.iri, prop.iri, each)


D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, eq=False)
class Kind(Generic[D]):
    """A kind of decision.

    Attributes:
        name: in JSON.
        about: what it is about, in the plural: the command that lists it.
        types: the classes of its node, the most general one first.
        effect: writes the changes of a transaction, to which it adds what follows from these decisions: all
            made, or all undone.
        record: the class of its decisions.
        properties: attribute → property, besides those of all decisions.
        words: what it says of its members, in a list.
        least: members without which nothing is left to decide.
        prefix: of its name, in IRIs.
    """

    name: str
    about: str
    types: tuple[NamedNode, ...]
    effect: Callable[[NeededComponents, Changes, Sequence[D]], object]
    record: type[D]
    properties: Mapping[str, Property] = field(default_factory=dict)
    words: str = ""
    least: int = 1
    prefix: str = ""

    @property
    def stored(self) -> dict[str, Property]:
        """All attributes that are stored."""
        return {"members": Property(RAG.member, nodes), **self.properties, **_OF_ALL}

    def read(self, iri: NamedNode, values: Mapping[NamedNode, Sequence[Term]]) -> D:
        """A decision, from the values of its node."""
        attributes = {name: prop.read(values.get(prop.iri, ())) for name, prop in self.stored.items()}
        return self.record(iri=iri, kind=self, **attributes)


def all_kinds() -> list[Kind[Any]]:
    """All kinds of decisions."""
    names = (module.name for module in pkgutil.iter_modules(ingest.__path__, f"{ingest.__name__}."))
    return [kind for name in names if name.endswith("_decisions") for kind in import_module(name).KINDS]


# --- reading -----------------------------------------------------------------------------------


def read_decisions(store: Store, kinds: Sequence[Kind[D]]) -> list[D]:
    """The decisions of some kinds in the order in which they were made, undone ones too."""
    values: dict[NamedNode, dict[NamedNode, list[Term]]] = {}
    for row in store.select("decisions/list", kinds=list(dict.fromkeys(kind.types[0] for kind in kinds))):
        values.setdefault(row["decision"], {}).setdefault(row["property"], []).append(row["value"])
    for prop, template in _STATEMENTS.items():
        if any(prop in of_decision for of_decision in values.values()):
            for row in (row for row in store.select(template) if row["decision"] in values):
                values[row["decision"]][prop] = [Triple(row["s"], row["p"], row["o"])]
    decisions = [_kind_of(of_decision, kinds).read(iri, of_decision) for iri, of_decision in values.items()]
    return sorted(decisions, key=lambda decision: (decision.made or _FIRST, decision.iri.value))


def _kind_of(values: Mapping[NamedNode, Sequence[Term]], kinds: Iterable[Kind[D]]) -> Kind[D]:
    """The kind with the most classes of a node: a correction is a retraction, too."""
    fitting = [kind for kind in kinds if values[RDF.type] and {*kind.types} <= {*values[RDF.type]}]
    return max(fitting, key=lambda kind: len(kind.types))


def in_effect(decisions: Iterable[D]) -> list[D]:
    """Those that were not undone."""
    return [decision for decision in decisions if decision.undone is None]


def named(store: Store, names: Sequence[str], kinds: Sequence[Kind[D]]) -> list[D]:
    """The decisions in effect that IRIs name.

    Raises:
        UsageError: one is not in effect, or follows from the synonyms file.
    """
    standing = {decision.iri.value: decision for decision in in_effect(read_decisions(store, kinds))}
    for name in names:
        if name not in standing:
            raise UsageError(
                tr("no decision in effect has the IRI {iri}").format(iri=name),
                hint=tr("graphrag-rdf decisions list shows them"),
            )
        if standing[name].by == SYNONYMS:
            raise UsageError(
                tr("{iri} comes from the synonyms file").format(iri=name),
                hint=tr("remove its line from the file, and ingest again"),
            )
    return [standing[name] for name in dict.fromkeys(names)]


# --- making and undoing ----------------------------------------------------------------------------


def numbered(before: Iterable[Decision], drafts: Iterable[D]) -> list[D]:
    """Drafts as decisions, with their time and IRI.

    An IRI depends on the agent, the content, and the number of equal decisions.

    Args:
        before: all decisions about the same. None is later than a new one, as their order counts.
    """
    earlier = list(before)
    count = Counter((one.kind.name, one.by, one.content) for one in earlier)
    moment = max([now(), *(one.made for one in earlier if one.made)])
    decisions = []
    for draft in drafts:
        key = draft.kind.name, draft.by, draft.content
        kind, agent = f"{draft.kind.prefix}{draft.kind.name}", draft.by or PERSON
        iri = iris.decision(kind, agent.value, *draft.content, count[key])
        count[key] += 1
        decisions.append(replace(draft, iri=iri, made=moment))
    return decisions


def decide(
    engine: NeededComponents,
    decisions: Sequence[Decision],
    name: str | None = None,
    changes: Changes | None = None,
) -> None:
    """Write decisions, which then are in effect; those with one effect in one transaction.

    Args:
        name: of the person who decided.
        changes: others of the same transaction.
    """
    changes = changes or Changes()
    for effect, some in _by_effect(decisions):
        changes.add += [quad for decision in some for quad in decision.quads()]
        if name and (agent := some[0].by):
            changes.add += person_quads(agent, name)
        effect(engine, changes, some)
        changes = Changes()


def undo(engine: NeededComponents, decisions: Sequence[D]) -> list[D]:
    """Undo decisions. They stay in the store, marked; their effects are reversed."""
    moment = now()
    undone = [replace(decision, undone=moment) for decision in decisions]
    for effect, some in _by_effect(undone):
        parameters = {"decisions": [decision.iri for decision in some], "now": moment}
        effect(engine, Changes(updates=[("decisions/undo", parameters)]), some)
    return undone


def _by_effect(decisions: Sequence[D]) -> Iterator[tuple[Callable[..., object], list[D]]]:
    for effect in dict.fromkeys(decision.kind.effect for decision in decisions):
        yield effect, [decision for decision in decisions if decision.kind.effect == effect]


def system(s: NamedNode, p: NamedNode, o: Term) -> Quad:
    """A quad of the system graph."""
    return Quad(s, p, o, Graphs.SYSTEM)


def person_quads(agent: NamedNode, name: str) -> list[Quad]:
    """The name of a person who decided, in the system graph."""
    return [system(agent, RDF.type, PROV.Person), system(agent, RDFS.label, Literal(name))]


@dataclass(frozen=True, slots=True)
class Person:
    """The person who decides, and why.

    Attributes:
        name: of the person; None for the user of the command line.
        reason: for people; it must not quote documents.
    """

    name: str | None = None
    reason: str | None = None

    @property
    def node(self) -> NamedNode:
        """The agent."""
        return iris.person(self.name) if self.name else PERSON
