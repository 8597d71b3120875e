"""The W3C's suites for SPARQL and RDF over HTTP, beside the engine: what fails here that the engine passes?

    pip download --no-deps --no-binary rdflib rdflib==7.1.4 && tar xzf rdflib-7.1.4.tar.gz
    python -m benchmarks.w3c rdflib-7.1.4/test/data/suites/w3c       # or a checkout of w3c/rdf-tests

The suites are not part of this program; rdflib's source package has those of SPARQL 1.0 and 1.1 and of RDF
1.1, as they were in 2013. Evaluation (rows in JSON, graphs in N-Triples), updates, and syntax, right and
wrong. Rows are compared without regard to their order, with blank nodes up to isomorphism, and numbers as the
engine spells them. Left out, and counted: `SERVICE`, `LOAD`, entailment, and tests of the protocol, whose
requests are prose there (tests/server/test_protocol.py has them in our words).
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import urljoin

import httpx
import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store

from benchmarks.common import table
from tests.support.endpoint import Endpoint

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
_ASSUMED_BASE = NamedNode(f"{MF}assumedTestBase")
_BASES = {
    "dawg-data-r2": "http://www.w3.org/2001/sw/DataAccess/tests/data-r2/",
    "sparql11": "http://www.w3.org/2009/sparql/docs/tests/data-sparql11/",
    "turtle": "http://www.w3.org/2013/TurtleTests/",
    "trig": "http://www.w3.org/2013/TrigTests/",
    "rdf-xml": "http://www.w3.org/2013/RDFXMLTests/",
}
"""Folder → the address that its tests were written for."""
_KINDS = {
    "QueryEvaluationTest": ("query", True),
    "CSVResultFormatTest": ("query", True),
    "PositiveSyntaxTest": ("query-syntax", True),
    "PositiveSyntaxTest11": ("query-syntax", True),
    "NegativeSyntaxTest": ("query-syntax", False),
    "NegativeSyntaxTest11": ("query-syntax", False),
    "UpdateEvaluationTest": ("update", True),
    "PositiveUpdateSyntaxTest11": ("update-syntax", True),
    "NegativeUpdateSyntaxTest11": ("update-syntax", False),
}
_RDF_TEST = re.compile(
    r"Test(?:Turtle|Trig|NTriples|NQuads|XML)(Eval|PositiveSyntax|NegativeSyntax|NegativeEval)"
)
_SUFFIXES = {
    ".ttl": RdfFormat.TURTLE,
    ".trig": RdfFormat.TRIG,
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".rdf": RdfFormat.RDF_XML,
}
_RESULTS = {
    ".srx": ox.QueryResultsFormat.XML,
    ".srj": ox.QueryResultsFormat.JSON,
    ".tsv": ox.QueryResultsFormat.TSV,
}
_FROM = re.compile(r"\bFROM\s+(?:NAMED\s+)?<([^>]*)>", re.IGNORECASE)
_CALLS = re.compile(r"\b(?:SERVICE|LOAD)\b", re.IGNORECASE)

Outcome: TypeAlias = Any
"""What is compared: True or False, a set of statements, or lines of CSV."""
Files: TypeAlias = Sequence[tuple[str, Path]]
"""Name of a graph, empty for the default one → its file."""


@dataclass(frozen=True, slots=True)
class Case:
    """A test.

    Attributes:
        base: of the IRIs in its files.
        right: whether its text is well-formed.
        data, result: graphs before and after; a query's result is a file of rows or of a graph.
    """

    suite: str
    name: str
    kind: str
    right: bool
    base: str
    text: Path
    data: Files = ()
    result: Files = ()


class System(Protocol):
    """What is tested."""

    def load(self, quads: Sequence[Quad]) -> None:
        """Hold these statements and nothing else."""

    def query(self, text: str, base: str, accept: str) -> Outcome:
        """The result of a query."""

    def update(self, text: str, base: str) -> Outcome:
        """The statements after an update."""

    def read(self, file: Path, base: str) -> Outcome:
        """The statements of a file."""


class RefusedError(Exception):
    """A system takes a text for malformed."""


class FailedError(Exception):
    """A system cannot evaluate a text that it does not take for malformed."""


# --- the two systems ----------------------------------------------------------------------------------


class Engine:
    """pyoxigraph."""

    def __init__(self) -> None:
        self._store = Store()

    def load(self, quads: Sequence[Quad]) -> None:
        """See `System`."""
        self._store.clear()
        self._store.extend(quads)

    def query(self, text: str, base: str, accept: str) -> Outcome:
        """See `System`."""
        with _refusals():
            found = self._store.query(text, base_iri=base)
            if accept == "text/csv" and not isinstance(found, ox.QueryTriples):
                return found.serialize(format=ox.QueryResultsFormat.CSV)
            return outcome_of(found)

    def update(self, text: str, base: str) -> Outcome:
        """See `System`."""
        with _refusals():
            self._store.update(text, base_iri=base)
        return isomorphic(self._store)

    def read(self, file: Path, base: str) -> Outcome:
        """See `System`."""
        with _refusals():
            self._store.clear()
            self._store.load(path=str(file), format=_SUFFIXES[file.suffix], base_iri=base)
        return isomorphic(self._store)


class Server:
    """`graphrag-rdf serve`, to which anybody may write."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def load(self, quads: Sequence[Quad]) -> None:
        """See `System`."""
        self._sent("/update", data={"update": "DROP ALL"})
        if quads:
            data = ox.serialize(quads, format=RdfFormat.N_QUADS)
            self._sent("/store", content=data, headers={"Content-Type": "application/n-quads"})

    def query(self, text: str, base: str, accept: str) -> Outcome:
        """See `System`."""
        accepted = accept or "application/sparql-results+json, application/n-triples"
        asked = {"query": f"BASE <{base}> {text}", "dialect": "rdf12"}
        got = self._sent("/sparql", data=asked, headers={"Accept": accepted})
        kind = got.headers["content-type"].partition(";")[0]
        if kind == "text/csv":
            return got.content
        if kind == "application/n-triples":
            return isomorphic(ox.parse(got.content, format=RdfFormat.N_TRIPLES))
        return outcome_of(ox.parse_query_results(got.content, format=ox.QueryResultsFormat.JSON))

    def update(self, text: str, base: str) -> Outcome:
        """See `System`."""
        self._sent("/update", data={"update": f"BASE <{base}> {text}"})
        return self._held()

    def read(self, file: Path, base: str) -> Outcome:
        """See `System`."""
        self.load(())
        form = _SUFFIXES[file.suffix]
        headers = {"Content-Type": form.media_type}
        if form.supports_datasets:
            self._sent("/store", content=file.read_bytes(), headers=headers | {"Content-Location": base})
            return self._held()
        self._sent("/store", params={"graph": base}, content=file.read_bytes(), headers=headers)
        return isomorphic(Quad(q.subject, q.predicate, q.object) for q in self._quads())

    def _held(self) -> Outcome:
        return isomorphic(self._quads())

    def _quads(self) -> Iterator[Quad]:
        got = self._client.get("/store", headers={"Accept": "application/n-quads;version=1.2"})
        return iter(ox.parse(got.content, format=RdfFormat.N_QUADS))

    def _sent(self, path: str, **request: Any) -> httpx.Response:
        got = self._client.post(path, **request)
        if got.status_code == 400:
            raise RefusedError(got.text)
        if got.status_code in (404, 409, 501):
            raise FailedError(got.text)
        got.raise_for_status()
        return got


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except SyntaxError as error:
        raise RefusedError(str(error)) from None
    except (ValueError, RuntimeError) as error:
        raise FailedError(str(error)) from None


# --- comparing ----------------------------------------------------------------------------------------


def isomorphic(quads: Any) -> Outcome:
    """Statements that equal others if they differ only in the names of blank nodes, or in the spelling of
    numbers, which the engine makes canonical."""
    store = Store()
    store.extend(quads)
    found = ox.Dataset(store)
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return frozenset(found)


def outcome_of(found: Any) -> Outcome:
    """The result of a query: a truth value, a graph, or rows as statements."""
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    if isinstance(found, ox.QueryTriples):
        return isomorphic(Quad(t.subject, t.predicate, t.object) for t in found)
    names = [variable.value for variable in found.variables]
    return rows_of([dict(zip(names, row, strict=True)) for row in found])


def rows_of(rows: Sequence[Mapping[str, Any]]) -> Outcome:
    """Rows as statements about a blank node each."""
    quads: list[Quad] = []
    for row in rows:
        node = BlankNode()
        quads.append(Quad(node, NamedNode("urn:row"), Literal("")))
        quads += [Quad(node, NamedNode(f"urn:{k}"), v) for k, v in row.items() if v is not None]
    return isomorphic(quads)


def _as_csv(data: bytes) -> Outcome:
    head, *lines = csv.reader(io.StringIO(data.decode()))
    plain = [["_:" if cell.startswith("_:") else cell for cell in line] for line in lines]
    return head, sorted(plain)


def expected(case: Case) -> Outcome:
    """The published result."""
    if case.kind != "query":
        return isomorphic(_data(case.result, case.base))
    ((_, file),) = case.result
    if file.suffix == ".csv":
        return _as_csv(file.read_bytes())
    if file.suffix in _RESULTS:
        return outcome_of(ox.parse_query_results(path=str(file), format=_RESULTS[file.suffix]))
    store = Store()
    store.extend(_data([("", file)], case.base))
    kind = NamedNode(f"{RS}ResultSet")
    sets = [quad.subject for quad in store.quads_for_pattern(None, NamedNode(f"{RDF}type"), kind)]
    if not sets:
        return isomorphic(store)
    for quad in store.quads_for_pattern(sets[0], NamedNode(f"{RS}boolean"), None):
        return quad.object == Literal(True)
    rows: Any = store.query(
        f"SELECT ?row ?name ?value {{ ?set <{RS}solution> ?row OPTIONAL {{ ?row <{RS}binding> ?b . "
        f"?b <{RS}variable> ?name ; <{RS}value> ?value }} }}"
    )
    found: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        named = row["name"]
        found[row["row"]] |= {named.value: row["value"]} if named is not None else {}
    return rows_of(list(found.values()))


def _data(files: Files, base: str) -> list[Quad]:
    found: list[Quad] = []
    for name, file in files:
        parsed = ox.parse(path=str(file), format=_SUFFIXES[file.suffix], base_iri=urljoin(base, file.name))
        found += (Quad(q.subject, q.predicate, q.object, NamedNode(name)) if name else q for q in parsed)
    return found


def passes(case: Case, system: System) -> bool:
    """Whether a system gives what the suite wants."""
    text = case.text.read_text("utf-8") if case.kind != "rdf" else ""
    try:
        if case.kind == "rdf":
            found = system.read(case.text, case.base)
        else:
            system.load(_data(case.data, case.base))
            wants_csv = any(file.suffix == ".csv" for _, file in case.result)
            if case.kind.startswith("query"):
                found = system.query(text, case.base, "text/csv" if wants_csv else "")
                found = _as_csv(found) if wants_csv else found
            else:
                found = system.update(text, case.base)
    except RefusedError:
        return not case.right
    except FailedError:
        return case.right and case.kind.endswith("-syntax")
    if not case.right:
        return False
    return not case.result or found == expected(case)


# --- manifests ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Manifest:
    folder: Path
    suite: str
    address: str
    store: Store = field(default_factory=Store)

    def one(self, subject: Any, predicate: str) -> Any:
        """An object, or None."""
        found = self.store.quads_for_pattern(subject, NamedNode(predicate), None)
        return next((quad.object for quad in found), None)

    def file(self, node: Any) -> Path:
        """The file that an IRI names."""
        name: str = node.value
        return self.folder / name.removeprefix(self.address)

    def graphs(self, node: Any, prefix: str) -> Files:
        """The default graph's files and those of named graphs."""
        every = self.store.quads_for_pattern
        found = [("", self.file(q.object)) for q in every(node, NamedNode(f"{prefix}data"), None)]
        for quad in every(node, NamedNode(f"{prefix}graphData"), None):
            graph = self.one(quad.object, f"{prefix}graph") or self.one(quad.object, f"{prefix}data")
            label = self.one(quad.object, LABEL.value)
            file = self.file(graph or quad.object)
            found.append((label.value if label else urljoin(self.address, file.name), file))
        return found


def cases(root: Path) -> Iterator[Case | None]:
    """The tests below a folder; None for one that is left out."""
    for path in sorted(root.rglob("manifest*.ttl")):
        parts = path.relative_to(root).parts
        top = parts[0] if len(parts) > 1 else root.name
        if top == "n3":  # another language
            continue
        base = _BASES.get(top, f"http://www.example/{top}/")
        manifest = _Manifest(path.parent, top, base + "".join(f"{part}/" for part in parts[1:-1]))
        manifest.store.load(path=str(path), format=RdfFormat.TURTLE, base_iri=manifest.address + path.name)
        if (
            assumed := next(iter(manifest.store.quads_for_pattern(None, _ASSUMED_BASE, None)), None)
        ) is not None:
            manifest.address = assumed.object.value  # type: ignore[union-attr]
        types = manifest.store.quads_for_pattern(None, NamedNode(f"{RDF}type"), None)
        for quad in sorted(types, key=str):
            kind = quad.object.value.rpartition("#")[2]  # type: ignore[union-attr]
            if kind in _KINDS or _RDF_TEST.fullmatch(kind):
                yield _case(manifest, quad.subject, kind)
            elif kind.endswith("Test"):
                yield None


def _case(manifest: _Manifest, test: Any, kind: str) -> Case | None:
    action, result = manifest.one(test, f"{MF}action"), manifest.one(test, f"{MF}result")
    name = f"{manifest.folder.name}/{test.value.rpartition('#')[2]}"
    if (rdf := _RDF_TEST.fullmatch(kind)) is not None:
        file = manifest.file(action)
        base = urljoin(manifest.address, file.relative_to(manifest.folder).as_posix())
        read = [("", manifest.file(result))] if result is not None else []
        return Case(manifest.suite, name, "rdf", not rdf[1].startswith("Neg"), base, file, (), read)
    if manifest.folder.name in ("entailment", "service", "syntax-fed"):
        return None
    what, right = _KINDS[kind]
    prefix, request = (UT, "request") if what == "update" else (QT, "query")
    text = manifest.file(
        action if isinstance(action, NamedNode) else manifest.one(action, f"{prefix}{request}")
    )
    if not text.exists():
        return None
    said = text.read_text("utf-8", "replace")
    if _CALLS.search(said) and what != "query-syntax":
        return None
    data = [*manifest.graphs(action, prefix)]
    if not data and what == "query":
        names = dict.fromkeys(_FROM.findall(said))
        data = [(urljoin(manifest.address, each), manifest.folder / each) for each in names]
    after: Files = manifest.graphs(result, UT) if what == "update" else ()
    if what == "query" and result is not None:
        after = [("", manifest.file(result))]
    suite = f"{manifest.suite}: {what}"
    return Case(suite, name, what, right, urljoin(manifest.address, text.name), text, data, after)


# --- the run ------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each suite, and the tests that only fail over HTTP; exit code 1 if there are some."""
    parser = argparse.ArgumentParser(description="The W3C's suites over HTTP, beside the engine.")
    parser.add_argument("suites", type=Path, help="a folder with manifests")
    parser.add_argument("-v", action="store_true", help="also name the tests that the engine fails")
    given = parser.parse_args(argv)
    every = list(cases(given.suites))
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    worse: list[str] = []
    with (
        Endpoint.start(":memory:", "--anonymous", "write") as endpoint,
        endpoint.client() as client,
    ):
        engine, server = Engine(), Server(client)
        for case in every:
            if case is None:
                continue
            first, second = _tried(case, engine), _tried(case, server)
            row = counts[case.suite]
            row[0] += 1
            row[1] += not first
            row[2] += second
            row[3] += first and not second
            if first and not second:
                worse.append(f"{case.suite} {case.name}")
            elif given.v and not first:
                print("the engine fails:", case.suite, case.name)
    table(["suite", "tests", "the engine fails", "pass over HTTP", "fail only over HTTP"], _lines(counts))
    print(
        f"left out: {sum(case is None for case in every)} (SERVICE, LOAD, entailment, prose, missing files)"
    )
    for name in worse:
        print("fails only over HTTP:", name)
    return 1 if worse else 0


def _lines(counts: Mapping[str, list[int]]) -> list[list[str]]:
    return [[suite, *map(str, row)] for suite, row in sorted(counts.items())]


def _tried(case: Case, system: System) -> bool:
    try:
        return passes(case, system)
    except (OSError, ValueError, SyntaxError, httpx.HTTPError) as error:
        print(f"{case.suite} {case.name}: {type(system).__name__}: {type(error).__name__}: {error}")
        return False


if __name__ == "__main__":
    raise SystemExit(main())
