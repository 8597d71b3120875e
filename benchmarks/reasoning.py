"""Reasoning: inferring everything, and following changes, in a store in a folder.

    python -m benchmarks.reasoning [--facts 1000000] [--profile rdfs|rl]

The data are made up, of the shape of a well-known benchmark (Guo, Pan and Heflin 2005, "LUBM"): departments
with staff, students, courses and publications; a hierarchy of classes and one of relations, domains and
ranges, and for `rl` also an inverse, a symmetric and a transitive relation. Most things have one asserted
type, a leaf of the hierarchy; one student in three has none.

Baselines of the same run: for a change (which includes writing it), inferring everything again; for that,
owlrl on a small part of the data, by its time for each triple. owlrl also checks what is inferred there.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal as Choice

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from benchmarks.common import cpu_seconds, peak_mb, table
from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.schema.reasoning import InferenceReport, Profile, infer, update
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore

_NS = "http://example.org/university#"
_TYPE = RDF["type"]
_SMALL = 5_000
"""Triples for owlrl, which takes minutes for a hundred thousand."""

_CLASSES = {
    **dict.fromkeys(("University", "Department", "ResearchGroup"), "Organization"),
    **dict.fromkeys(("Employee", "Student"), "Person"),
    **dict.fromkeys(("Faculty", "AdministrativeStaff"), "Employee"),
    **dict.fromkeys(("Professor", "Lecturer", "PostDoc"), "Faculty"),
    **dict.fromkeys(("FullProfessor", "AssociateProfessor", "Chair"), "Professor"),
    **dict.fromkeys(("GraduateStudent", "UndergraduateStudent"), "Student"),
    **dict.fromkeys(("Course", "Publication"), "Work"),
    **dict.fromkeys(("Article", "Book"), "Publication"),
    "GraduateCourse": "Course",
}
"""Class → the class above it."""
_RELATIONS = {
    "headOf": "worksFor",
    "worksFor": "memberOf",
    "doctoralDegreeFrom": "degreeFrom",
    "mastersDegreeFrom": "degreeFrom",
}
_ENDS = {
    "teacherOf": ("Faculty", "Course"),
    "takesCourse": ("Student", "Course"),
    "memberOf": ("Person", "Organization"),
    "degreeFrom": ("Person", "University"),
    "advisor": ("Person", "Professor"),
    "publicationAuthor": ("Publication", "Person"),
    "subOrganizationOf": ("Organization", "Organization"),
}
"""Relation → domain and range."""


def main() -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.reasoning", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--profile", choices=("rdfs", "rl"), default="rdfs")
    asked = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="graphrag-bench-"))
    try:
        _measure(place, asked.facts, asked.profile)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return 0


def _measure(place: Path, number: int, profile: Profile) -> None:
    axioms, facts = list(_axioms(profile)), list(_facts(number))
    known = len({*axioms, *facts})
    store = _store(place / "all", axioms, facts)
    scratch = _timed(lambda: infer(store, profile))
    inferred = store.count() - known
    gone = random.Random(7).sample(facts, len(facts) // 100)

    def change(changes: Changes) -> InferenceReport:
        store.commit(changes)
        return update(store, profile)

    deletion = _timed(lambda: change(Changes(remove=_quads(gone))))
    if not deletion[0].incremental:
        raise SystemExit("the deletion was not incremental")
    addition = _timed(lambda: change(Changes(add=_quads(gone))))
    peak = peak_mb()
    store.close()
    small, closure = _owlrl(place / "small", axioms, facts[:_SMALL], profile)
    each = scratch[1] / known
    rows = [
        _row("infer everything", scratch, f"{closure / _SMALL / each:.0f} times as fast a triple as owlrl"),
        _row("delete 1 %", deletion, f"{deletion[1] / scratch[1]:.3f} of inferring everything"),
        _row("add it again", addition, f"{addition[1] / scratch[1]:.3f} of inferring everything"),
        (f"owlrl, {_SMALL:,} triples", f"{closure:.1f}", "", ""),
    ]
    sys.stdout.write(
        f"\n{known:,} triples, {inferred:,} inferred ({profile}), peak {peak:,.0f} MB; {small}\n\n"
    )
    table(("what", "CPU s", "wall s", "ratio of CPU times"), rows)


def _row(what: str, timed: tuple[InferenceReport, float, float], ratio: str) -> tuple[str, str, str, str]:
    return what, f"{timed[1]:.1f}", f"{timed[2]:.1f}", ratio


def _timed(run: Callable[[], InferenceReport]) -> tuple[InferenceReport, float, float]:
    """What it returns, and its CPU and wall time in seconds."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    found = run()
    return found, cpu_seconds() - cpu, time.perf_counter() - wall


def _store(place: Path, axioms: list[Triple], facts: list[Triple]) -> EmbeddedStore:
    store = EmbeddedStore(TemplateLibrary(folder("queries")), place)
    store.bulk_add(_quads(facts))
    store.write_quads(_quads(axioms, Graphs.ONTOLOGY))
    store.optimize()
    return store


def _quads(triples: list[Triple], graph: NamedNode | None = None) -> list[Quad]:
    return [Quad(t.subject, t.predicate, t.object, graph or DefaultGraph()) for t in triples]


def _owlrl(place: Path, axioms: list[Triple], facts: list[Triple], profile: Profile) -> tuple[str, float]:
    """Whether owlrl infers the same of the things, and the CPU seconds that it takes."""
    import owlrl
    import rdflib

    store = _store(place, axioms, facts)
    infer(store, profile)
    own = {quad.triple for quad in store.quads(Graphs.INFERRED)}
    store.close()
    graph = rdflib.Graph()
    graph.parse(data="".join(f"{each} .\n" for each in (*axioms, *facts)), format="nt")
    rules = owlrl.RDFS_Semantics if profile == "rdfs" else owlrl.OWLRL_Semantics
    cpu = cpu_seconds()
    owlrl.DeductiveClosure(rules).expand(graph)
    spent = cpu_seconds() - cpu
    things = {str(each.subject).strip("<>") for each in facts}
    ends = {f"{_NS}{name}" for name in (*_CLASSES, *_CLASSES.values())} | things
    known = {tuple(str(part).strip("<>") for part in each) for each in {*own, *facts}}
    theirs = {tuple(map(str, each)) for each in graph if isinstance(each[2], rdflib.URIRef)}
    terms = {f"{_NS}{name}" for name in (*_RELATIONS, *_ENDS, "collaboratesWith", "hasAlumnus")} | {
        _TYPE.value
    }
    of_things, ours = (
        {each for each in found if each[0] in things and each[1] in terms and each[2] in ends}
        for found in (theirs, known)
    )
    same = "the same" if of_things == ours else f"{len(of_things ^ ours):,} triples differ"
    return f"owlrl infers of {len(facts):,}: {same}", spent


# --- data --------------------------------------------------------------------------------------------


def _n(name: str) -> NamedNode:
    return NamedNode(_NS + name)


def _axioms(profile: Choice["rdfs", "rl"]) -> Iterator[Triple]:
    for below, above in _CLASSES.items():
        yield Triple(_n(below), RDFS.subClassOf, _n(above))
    for below, above in _RELATIONS.items():
        yield Triple(_n(below), RDFS.subPropertyOf, _n(above))
    for relation, (domain, range_) in _ENDS.items():
        yield Triple(_n(relation), RDFS.domain, _n(domain))
        yield Triple(_n(relation), RDFS.range, _n(range_))
    if profile == "rl":
        yield Triple(_n("hasAlumnus"), OWL.inverseOf, _n("degreeFrom"))
        yield Triple(_n("subOrganizationOf"), _TYPE, OWL.TransitiveProperty)
        yield Triple(_n("collaboratesWith"), _TYPE, OWL.SymmetricProperty)


def _facts(number: int) -> Iterator[Triple]:
    made, department = 0, 0
    choose = random.Random(1)
    while made < number:
        for each in _department(department, choose):
            yield each
            made += 1
            if made == number:
                return
        department += 1


def _department(number: int, choose: random.Random) -> Iterator[Triple]:
    def thing(kind: str, index: int) -> NamedNode:
        return _n(f"d{number}-{kind}{index}")

    here, universities = _n(f"d{number}"), number // 15 + 1
    yield Triple(here, _TYPE, _n("Department"))
    yield Triple(here, _n("subOrganizationOf"), _n(f"u{number // 15}"))
    staff = [thing("staff", index) for index in range(30)]
    courses = [thing("course", index) for index in range(50)]
    for index in range(10):
        yield Triple(thing("group", index), _TYPE, _n("ResearchGroup"))
        yield Triple(thing("group", index), _n("subOrganizationOf"), here)
    for index, one in enumerate(staff):
        yield Triple(one, _TYPE, _n(("FullProfessor", "AssociateProfessor", "Lecturer")[index % 3]))
        yield Triple(one, _n("worksFor" if index else "headOf"), here)
        yield Triple(one, _n("doctoralDegreeFrom"), _n(f"u{choose.randrange(universities)}"))
        yield Triple(one, _n("collaboratesWith"), choose.choice(staff))
        yield Triple(one, RDFS.label, Literal(f"staff {index} of {number}"))
        for course in (courses[index], courses[(index + 25) % 50]):
            yield Triple(one, _n("teacherOf"), course)
        for other in range(8):
            paper = thing(f"paper{index}-", other)
            yield Triple(paper, _TYPE, _n("Article"))
            yield Triple(paper, _n("publicationAuthor"), one)
            yield Triple(paper, RDFS.label, Literal(f"paper {other} of {index} in {number}"))
    for index in range(300):
        one = thing("student", index)
        if index % 3:
            yield Triple(one, _TYPE, _n("GraduateStudent" if index % 4 == 0 else "UndergraduateStudent"))
        yield Triple(one, _n("memberOf"), here)
        yield Triple(one, RDFS.label, Literal(f"student {index} of {number}"))
        for _ in range(3):
            yield Triple(one, _n("takesCourse"), choose.choice(courses))
        if index % 4 == 0:
            yield Triple(one, _n("advisor"), choose.choice(staff))


if __name__ == "__main__":
    sys.exit(main())
