"""Edited ontologies and individuals: what changed since they were loaded or exported, and its application.

A file is compared with what the store has under the IRI of its ontology: the active version of a loaded
ontology, or the facts as `owl` exports them (`{namespace}facts`). Blank nodes are compared by what
they say, as class expressions are trees (OWL 2 Structural Specification §8). Of an export of facts only
assertions count: declarations and the axioms that quote documents say nothing new.

What people add to an exported observed schema becomes an ontology beside it, `{schema}/edits`, so it stays
when facts change. What the schema observes follows from the facts: nobody can add or remove it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.foreign import take_facts
from graphrag_rdf.exchange.ontologies import (
    OntologyFile,
    as_ontology,
    keep_ontologies,
    load_ontologies,
    ontology_versions,
    read_ontologies,
    remove_ontology,
)
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.decisions import Person
from graphrag_rdf.ingest.entity_decisions import refresh_links
from graphrag_rdf.ingest.fact_decisions import correct_fact, remove_facts
from graphrag_rdf.ingest.gate import Gate, Passed
from graphrag_rdf.rdf.namespaces import OWL, RAG, RDF, RDFS, SCHEMA, SKOS, XSD
from graphrag_rdf.rdf.terms import Statement, Term
from graphrag_rdf.wings.ontologies.owl import (
    EDITS,
    FACTS,
    LINKS,
    exported_facts,
    observed_schema,
    schema_edits,
)

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

Said: TypeAlias = tuple[str, str, str]
"""Subject, predicate and object in N-Triples; a blank node as what it says, in brackets."""

_NAMES = (RDFS.label, SKOS.altLabel, SKOS.prefLabel)


@dataclass(slots=True)
class Difference:
    """What a file has otherwise than the store.

    Attributes:
        ontology: its IRI.
        known: whether the store has something under that IRI; else all is added.
        of_facts: whether it is an export of facts.
        added, removed: statements of the file, and of the store, only.
        changed: removed and added ones with the same subject and predicate, where there is one of each.
        names: added and removed names of entities, or what a schema observes, which are not applied: they
            follow from documents.
        broken: results of SHACL shapes, when applied.
    """

    JSON: ClassVar = (
        *("file", "ontology", "known", "of_facts", "added", "removed", "changed", "names"),
        "broken",
    )

    file: str
    ontology: str
    known: bool
    of_facts: bool
    added: list[Said] = field(default_factory=list)
    removed: list[Said] = field(default_factory=list)
    changed: list[tuple[Said, Said]] = field(default_factory=list)
    names: list[Said] = field(default_factory=list)
    broken: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be applied."""
        return not (self.added or self.removed or self.changed)


def find_differences(engine: Engine, paths: Sequence[Path]) -> list[Difference]:
    """What files have otherwise than the store; of imported files only those that are named.

    Links to vocabularies are left out: they follow from decisions.

    Args:
        paths: files, or folders such as `export_owl` writes.

    Raises:
        UsageError: see `exchange.ontologies.load_ontologies`.
    """
    return [difference for difference, *_ in _compared(engine, paths)]


def apply_edits(
    engine: Engine, paths: Sequence[Path], now: datetime, by: str | None = None, reason: str | None = None
) -> list[Difference]:
    """Make the store say what files say: new versions of ontologies; decisions of a person about facts.

    Removed facts stay removed if documents are read again, and `facts undo` takes that back. New facts come
    from the file, as imported ones do.

    Args:
        by: name of the person.
        reason: in words.

    Returns:
        what was applied.

    Raises:
        UsageError: see `find_differences`.
        BrokenShapesError: the facts break SHACL shapes, see `ingest.gate`; then nothing is applied.
    """
    found = _compared(engine, paths)
    person, gate = Person(by, reason), Gate(engine)
    edits = {
        id(difference): _edits(engine, difference, file, exported)
        for difference, file, exported in found
        if difference.of_facts and not difference.is_empty
    }
    passed = {key: gate.facts(edit.after, edit.before, stage="edited file") for key, edit in edits.items()}
    for difference, file, _ in found:
        if difference.is_empty:
            continue
        if difference.of_facts:
            allowed = passed[id(difference)]
            edits[id(difference)].apply(engine, file, person, allowed)
            difference.broken = len(allowed.results)
            continue
        _apply_ontology(engine, file, now, by)
        refresh_links(engine)
    return [difference for difference, *_ in found]


def _apply_ontology(engine: Engine, file: OntologyFile, now: datetime, by: str | None) -> None:
    settings = engine.settings
    namespace, keep = settings.extract.namespace, settings.reasoning.keep
    if not file.ontology.value.endswith(EDITS):
        load_ontologies(engine.store, [file.path], namespace, now, by=by, keep=keep)
    elif len(file.triples) > 1:  # more than its declaration
        keep_ontologies(engine.store, [file], namespace, now, by=by, keep=keep)
    else:
        remove_ontology(engine.store, file.ontology.value, namespace, keep)


@dataclass(frozen=True, slots=True)
class _Edits:
    """The changes of facts that a file makes; `corrected` are pairs of old and new facts."""

    removed: Sequence[Statement]
    corrected: Sequence[tuple[Statement, Statement]]
    new: Sequence[Triple]

    @property
    def before(self) -> list[Statement]:
        """The facts that go."""
        return [*self.removed, *(before for before, _ in self.corrected)]

    @property
    def after(self) -> list[tuple[Term, Term, Term]]:
        """The facts and names that come."""
        new = [(triple.subject, triple.predicate, triple.object) for triple in self.new]
        return [*(after for _, after in self.corrected), *new]

    def apply(self, engine: Engine, file: OntologyFile, person: Person, passed: Passed) -> None:
        """Write the changes, and the report of the gate that they passed."""
        remove_facts(engine, self.removed, person)
        for before, after in self.corrected:
            correct_fact(engine, before, after, person, passed=passed)
        if self.new:
            data = serialize(self.new, format=RdfFormat.N_TRIPLES)
            assert data is not None  # noqa: S101 - no output was given
            quads = [Quad(t.subject, t.predicate, t.object) for t in self.new]
            source = NamedNode(file.path.resolve().as_uri())
            name, by = file.path.name, person.name
            take_facts(engine, data, quads, name=name, source=source, by=by, passed=passed)
        passed.keep()


def _edits(engine: Engine, difference: Difference, file: OntologyFile, exported: Exported) -> _Edits:
    """What a difference of an export of facts asks for."""
    said = {_said(triple, {}): triple for triple in file.triples}
    facts = {_said(triple, {}): fact for triple, fact in exported.items()}
    corrected = [
        (facts[before], _stated(engine, said[after], facts[before], exported))
        for before, after in difference.changed
    ]
    new = [Triple(*_stated(engine, said[one], None, exported)) for one in difference.added]
    about = {term for triple in new for term in (triple.subject, triple.object)}
    about -= {triple.subject for triple in exported}  # those that have names
    new += [t for t in file.triples if t.predicate in _NAMES and t.subject in about]
    return _Edits([facts[one] for one in difference.removed], corrected, new)


Exported: TypeAlias = Mapping[Triple, Statement]
"""Assertion of an export → the fact that it stands for."""


def _compared(engine: Engine, given: Sequence[Path]) -> list[tuple[Difference, OntologyFile, Exported]]:
    paths = [path for each in given for path in _files(each)]
    observed = {row["schema"].value for row in engine.store.select("ontology/observed-schemas")}
    versions = {each.ontology: each for each in ontology_versions(engine.store) if each.active}
    named = {path.resolve() for path in paths}
    files, _ = read_ontologies(list(paths))
    found: list[tuple[Difference, OntologyFile, Exported]] = []
    for file in files:
        iri = file.ontology.value
        if file.path.resolve() not in named or iri == f"{engine.settings.extract.namespace}{LINKS}":
            continue
        if iri in observed:
            found.append((*_edited_schema(engine, file), {}))
            continue
        of_facts = iri == f"{engine.settings.extract.namespace}{FACTS}"
        exported: Exported = exported_facts(engine.store) if of_facts else {}
        version = versions.get(iri)
        before: Iterable[Triple] = ()
        theirs: Iterable[Triple] = file.triples
        if of_facts:
            before, theirs = _assertions(exported, file.triples), _assertions(file.triples, file.triples)
        elif version is not None:
            before = (quad.triple for quad in engine.store.quads(NamedNode(version.graph)))
        difference = Difference(str(file.path), iri, of_facts or version is not None, of_facts)
        named_before = {str(triple.subject) for triple in exported}
        _fill(difference, _statements(before), _statements(theirs), named_before)
        found.append((difference, file, exported))
    return found


def _edited_schema(engine: Engine, file: OntologyFile) -> tuple[Difference, OntologyFile]:
    """What an exported observed schema has otherwise, and the ontology of all that people added to it."""
    observed = _statements(observed_schema(engine.store, file.ontology))
    before = _statements(schema_edits(engine.store, file.ontology))
    difference = Difference(str(file.path), file.ontology.value, known=True, of_facts=False)
    said = _statements(file.triples)
    added = {one for one in said - observed if one[1] not in _OBSERVED}
    _fill(difference, before, added, set())
    difference.names = sorted(one for one in observed - said if one[1] != str(OWL.versionIRI))
    inside = _inside(file.triples)
    kept = [t for t in file.triples if isinstance(t.subject, NamedNode) and _said(t, inside) in added]
    roots = {node for node in inside if (_described(node, inside, ()), "", "") in added}
    waiting = [*roots, *(t.object for t in kept if isinstance(t.object, BlankNode))]
    while waiting:
        within = inside.pop(waiting.pop(), [])
        kept += within
        waiting += [t.object for t in within if isinstance(t.object, BlankNode)]
    return difference, as_ontology(NamedNode(file.ontology.value + EDITS), kept, file)


_OBSERVED = frozenset(
    str(predicate)
    for predicate in (
        *(RAG.observedCount, RAG.valueRelation, SCHEMA.domainIncludes, SCHEMA.rangeIncludes),
        *(RDFS.isDefinedBy, OWL.versionIRI),
    )
)
"""What an observed schema says by itself; in an older export it is of older facts."""
_SUFFIXES = frozenset({".ttl", ".rdf", ".owl", ".owx", ".ofn", ".jsonld", ".nt"})


def _files(path: Path) -> list[Path]:
    """A file, or the ontologies in a folder."""
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if each.suffix.lower() in _SUFFIXES)
    if not found:
        raise UsageError(
            tr("{path} has no ontology").format(path=path),
            hint=tr("name a file, or a folder with {names}").format(names=", ".join(sorted(_SUFFIXES))),
        )
    return found


def _fill(difference: Difference, before: set[Said], after: set[Said], known: set[str]) -> None:
    """Sort the statements that only one side has; `known` are the individuals of an export."""
    pairs: defaultdict[tuple[str, str], tuple[list[Said], list[Said]]] = defaultdict(lambda: ([], []))
    names = {str(name) for name in _NAMES} if difference.of_facts else set()
    for side, only in enumerate((before - after, after - before)):
        for one in sorted(only):
            if one[1] in names:
                difference.names += [one] * (one[0] in known)  # a new one gets its name with its facts
            else:
                pairs[one[:2]][side].append(one)
    for gone, new in pairs.values():
        if len(gone) == len(new) == 1:
            difference.changed.append((gone[0], new[0]))
        else:
            difference.removed += gone
            difference.added += new


def _assertions(triples: Iterable[Triple], file: Iterable[Triple]) -> list[Triple]:
    """The assertions among triples, without declarations, quotes, and what is said of the terms of a file."""
    terms = {
        t.subject
        for t in file
        if t.predicate == RDF.type and t.object in OWL and t.object != OWL.NamedIndividual
    }
    return [
        t
        for t in triples
        if isinstance(t.subject, NamedNode)
        and t.subject not in terms
        and not (t.predicate == RDF.type and t.object in OWL)
    ]


# --- statements ------------------------------------------------------------------------------------


def _statements(triples: Iterable[Triple]) -> set[Said]:
    """What triples say. Blank nodes that nothing refers to stand as subjects, others in their statement."""
    listed = list(triples)
    inside = _inside(listed)
    referred = {triple.object for triple in listed if isinstance(triple.object, BlankNode)}
    said = {_said(triple, inside) for triple in listed if isinstance(triple.subject, NamedNode)}
    roots = (node for node in inside if node not in referred)
    return said | {(_described(root, inside, ()), "", "") for root in roots}


def _inside(triples: Iterable[Triple]) -> dict[BlankNode, list[Triple]]:
    """Blank node → what is said of it."""
    inside: dict[BlankNode, list[Triple]] = {}
    for triple in triples:
        if isinstance(triple.subject, BlankNode):
            inside.setdefault(triple.subject, []).append(triple)
    return inside


def _said(triple: Triple, inside: Mapping[BlankNode, list[Triple]]) -> Said:
    s, p, o = (_described(term, inside, ()) for term in (triple.subject, triple.predicate, triple.object))
    return s, p, o


def _described(term: Term, inside: Mapping[BlankNode, list[Triple]], above: tuple[BlankNode, ...]) -> str:
    if not isinstance(term, BlankNode):
        return str(term)
    if term in above:  # a cycle, which no class expression has
        return "[]"
    parts = sorted(
        f"{triple.predicate} {_described(triple.object, inside, (*above, term))}"
        for triple in inside.get(term, ())
    )
    return f"[ {' ; '.join(parts)} ]"


def _stated(engine: Engine, triple: Triple, before: Statement | None, exported: Exported) -> Statement:
    """The fact that an assertion stands for, with the property and the datatype that OWL 2 lacks."""
    relations = {asserted.predicate: fact[1] for asserted, fact in exported.items()}
    predicate = relations.get(triple.predicate, triple.predicate)
    value = triple.object
    was = before[2] if before else None
    if (
        isinstance(value, Literal)
        and value.datatype == XSD.string
        and isinstance(was, Literal)
        and was.datatype not in (XSD.string, RDF.langString)
    ):
        typed = Literal(value.value, datatype=was.datatype)
        value = value if engine.store.refused([typed]) else typed
    assert isinstance(triple.subject, NamedNode)  # noqa: S101 - see _assertions
    return triple.subject, predicate, value  # type: ignore[return-value]
