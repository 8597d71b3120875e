"""SHACL shapes of the user (https://www.w3.org/TR/shacl/): reading them, and validation with pySHACL.

`read_paths` finds the paths along which shapes read facts from a node. After a change, only the nodes from
which such a path leads to a changed fact are validated again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.rdf.validation import Result
from graphrag_rdf.store.base import Store

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

Step: TypeAlias = tuple[NamedNode | None, bool]
"""A predicate, None for any, and whether it is followed from object to subject."""
FactPath: TypeAlias = tuple[Step, ...]
Statement: TypeAlias = tuple[Term, Term, Term]

_TYPE: Step = (RDF.type, False)
_NO_PYSHACL = later("validation with SHACL shapes needs pySHACL")
_INSTALL = "pip install 'graphrag-rdf[shacl]'"


@dataclass(frozen=True)
class Shapes:
    """Shapes of one or several files or graphs.

    Attributes:
        sources: the files and IRIs, as the user names them.
        digest: SHA-256 of their triples, whatever the names of their blank nodes.
        paths: what they read from a node; None if they may read any fact.
    """

    sources: tuple[str, ...]
    digest: str
    graph: Graph
    paths: frozenset[FactPath] | None


def read_shapes(store: Store, sources: Sequence[str | Path]) -> Shapes:
    """Read shapes.

    Args:
        sources: files of RDF, IRIs of graphs of the store, or IRIs of loaded ontologies.

    Raises:
        UsageError: pySHACL is not installed; a file cannot be read; or the store has no such graph.
    """
    require_pyshacl()
    dataset = ox.Dataset()
    for source in sources:
        for triple in _triples(store, source):
            dataset.add(Quad(triple.subject, triple.predicate, triple.object))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    lines = sorted(f"{quad.triple} .\n" for quad in dataset)
    del dataset
    graph = graph_of_lines("".join(lines))
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return Shapes(tuple(map(str, sources)), digest, graph, read_paths(graph))


def require_pyshacl() -> None:
    """Raise a UsageError that names the extra, if pySHACL is not installed."""
    try:
        import pyshacl  # noqa: F401
    except ImportError as error:
        raise UsageError(tr(_NO_PYSHACL), hint=_INSTALL) from error


def is_iri(source: str | Path) -> bool:
    """Whether a source of shapes is an IRI, not a file."""
    return not isinstance(source, Path) and (source.startswith("urn:") or "://" in source)


def _triples(store: Store, source: str | Path) -> Iterator[Triple]:
    """The triples of a source, with blank nodes of its own."""
    if is_iri(source):
        named = {str(source)}
        for row in store.select("ontology/versions"):
            if row["ontology"] == NamedNode(str(source)) and row["active"]:
                named.add(row["graph"].value)
        rows = [row for iri in sorted(named) for row in store.select("validation/graph-triples", graph=iri)]
        if not rows:
            raise UsageError(
                tr("there is no graph {source} with shapes in the store").format(source=source),
                hint=tr("load it: graphrag-rdf import --graph IRI shapes.ttl"),
            )
        yield from (Triple(row["s"], row["p"], row["o"]) for row in rows)
    else:
        yield from _of_file(Path(source))


def read_graph(files: Iterable[Path]) -> Graph:
    """Files of shapes as a graph of rdflib.

    Raises:
        UsageError: a file cannot be read.
    """
    return graph_of((t.subject, t.predicate, t.object) for file in files for t in _of_file(file))


def _of_file(path: Path) -> list[Triple]:
    form = ox.RdfFormat.from_extension(path.suffix.removeprefix(".").lower()) or ox.RdfFormat.TURTLE
    try:
        quads = list(ox.parse(path=str(path), format=form, rename_blank_nodes=True, base_iri=_base(path)))
    except (OSError, SyntaxError, ValueError) as error:
        raise UsageError(
            tr("cannot read the shapes {path}: {error}").format(path=path, error=system_cause(error))
        ) from error.with_traceback(None)
    return [quad.triple for quad in quads]


def _base(path: Path) -> str:
    return path.resolve().as_uri()


# --- what shapes read -------------------------------------------------------------------------------------


class _AnyFactError(Exception):
    """A shape may read any fact."""


_NESTED = ("node", "property", "qualifiedValueShape", "not")
_LISTED = ("and", "or", "xone")
_PAIRS = ("equals", "disjoint", "lessThan", "lessThanOrEquals")
_TARGETS = ("targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf")
_LOCAL = frozenset(
    {
        *("path", "class", "closed", "ignoredProperties", "datatype", "nodeKind", "minCount", "maxCount"),
        *("minExclusive", "minInclusive", "maxExclusive", "maxInclusive", "minLength", "maxLength"),
        *("pattern", "flags", "languageIn", "uniqueLang", "hasValue", "in", "qualifiedMinCount"),
        *("qualifiedMaxCount", "qualifiedValueShapesDisjoint", "severity", "message", "deactivated"),
        *("name", "description", "order", "group", "defaultValue"),
    }
)
"""Terms of SHACL that read nothing more than the values of the path."""
_KNOWN = frozenset({*_NESTED, *_LISTED, *_PAIRS, *_TARGETS, *_LOCAL})


def read_paths(graph: Graph) -> frozenset[FactPath] | None:
    """The paths along which shapes read facts from a node that they validate, with all their beginnings.

    Returns:
        None if they may read any fact: paths of any length, shapes that refer to themselves, SPARQL.
    """
    try:
        paths = {path for shape in _with_targets(graph) for path in _of_target(graph, shape)}
    except _AnyFactError:
        return None
    return frozenset(path[:end] for path in paths for end in range(1, len(path) + 1))


def _with_targets(graph: Graph) -> Iterator[Node]:
    from rdflib import OWL, RDF, RDFS, SH

    if (None, RDF.type, SH.ConstraintComponent) in graph:
        raise _AnyFactError
    shapes = {shape for name in _TARGETS for shape in graph.subjects(SH[name])}
    kinds = (SH.NodeShape, SH.PropertyShape)
    implicit = {
        shape
        for kind in kinds
        for shape in graph.subjects(RDF.type, kind)
        if any((shape, RDF.type, each) in graph for each in (RDFS.Class, OWL.Class))
    }
    if (None, SH.target, None) in graph or (None, SH.rule, None) in graph:
        raise _AnyFactError
    yield from shapes | implicit


def _of_target(graph: Graph, shape: Node) -> set[FactPath]:
    """What is read to find the nodes of a shape and to validate them."""
    from rdflib import SH

    paths: set[FactPath] = {(_TYPE,)}
    paths |= {((_predicate(p), False),) for p in graph.objects(shape, SH.targetSubjectsOf)}
    paths |= {((_predicate(p), True),) for p in graph.objects(shape, SH.targetObjectsOf)}
    return paths | _of_shape(graph, shape, ())


def _of_shape(graph: Graph, shape: Node, above: tuple[Node, ...]) -> set[FactPath]:
    from rdflib import SH
    from rdflib.collection import Collection

    if shape in above:
        raise _AnyFactError
    above = (*above, shape)
    for predicate in graph.predicates(shape):
        name = str(predicate).removeprefix(str(SH))
        if name != str(predicate) and name not in _KNOWN:
            raise _AnyFactError  # SPARQL, JavaScript, terms of later versions
    path = graph.value(shape, SH.path)
    values: set[FactPath] = {()} if path is None else set(_alternatives(graph, path))
    beyond: set[FactPath] = {(_TYPE,)} if (shape, SH["class"], None) in graph else set()
    for name in _NESTED:
        for nested in graph.objects(shape, SH[name]):
            beyond |= _of_shape(graph, nested, above)
    for name in _LISTED:
        for listed in graph.objects(shape, SH[name]):
            for nested in Collection(graph, listed):
                beyond |= _of_shape(graph, nested, above)
    if str(graph.value(shape, SH.closed)).lower() in ("true", "1"):
        beyond.add(((None, False),))
    paths = values | {first + then for first, then in product(values, beyond)}
    paths |= {((_predicate(p), False),) for name in _PAIRS for p in graph.objects(shape, SH[name])}
    return paths


def _alternatives(graph: Graph, path: Node) -> list[FactPath]:
    """The sequences of steps that a SHACL property path (§2.3.1) stands for."""
    from rdflib import RDF, SH, URIRef
    from rdflib.collection import Collection

    if isinstance(path, URIRef):
        return [((_predicate(path), False),)]
    if (inverse := graph.value(path, SH.inversePath)) is not None:
        return [tuple((p, not back) for p, back in reversed(each)) for each in _alternatives(graph, inverse)]
    if (options := graph.value(path, SH.alternativePath)) is not None:
        return [each for option in Collection(graph, options) for each in _alternatives(graph, option)]
    if (optional := graph.value(path, SH.zeroOrOnePath)) is not None:
        return [(), *_alternatives(graph, optional)]
    if (path, RDF.first, None) not in graph:
        raise _AnyFactError
    parts = [_alternatives(graph, part) for part in Collection(graph, path)]
    return [tuple(step for part in parts_ for step in part) for parts_ in product(*parts)]


def _predicate(node: Node) -> NamedNode:
    return NamedNode(str(node))


# --- validation -------------------------------------------------------------------------------------------


def run_shacl(data: Graph, shapes: Graph, ontologies: Graph | None = None) -> list[Result]:
    """Validate a graph.

    Args:
        ontologies: with subclasses, which count for the targets of shapes and for `sh:class`.

    Raises:
        UsageError: pySHACL is not installed, or the shapes are malformed.
    """
    require_pyshacl()
    import pyshacl
    from pyparsing import ParseException
    from pyshacl.errors import ReportableRuntimeError
    from rdflib import SH

    try:
        _, report_graph, _ = pyshacl.validate(data, shacl_graph=shapes, ont_graph=ontologies)
    except (ReportableRuntimeError, ParseException, re.error) as error:  # malformed SPARQL and sh:pattern
        raise UsageError(tr("the shapes cannot be used: {error}").format(error=error)) from error
    reported = {
        result
        for report in report_graph.subjects(SH.result)
        for result in report_graph.objects(report, SH.result)
    }
    results = [
        Result(
            severity=_end(report_graph.value(result, SH.resultSeverity)),
            focus=_term(report_graph.value(result, SH.focusNode)),
            path=_term(report_graph.value(result, SH.resultPath)),
            value=_term(report_graph.value(result, SH.value)),
            message="; ".join(
                sorted(str(message) for message in report_graph.objects(result, SH.resultMessage))
            ),
            component=_end(report_graph.value(result, SH.sourceConstraintComponent)),
            shape=_term(report_graph.value(result, SH.sourceShape)),
            limit=_limit(report_graph, shapes, result),
            named_shape=_named_shape(shapes, report_graph.value(result, SH.sourceShape)),
        )
        for result in reported
    ]
    return sorted(results, key=_order)


def _limit(report_graph: Graph, shapes: Graph, result: Node) -> int | None:
    from rdflib import SH

    if (result, SH.sourceConstraintComponent, SH.MaxCountConstraintComponent) not in report_graph:
        return None
    shape = report_graph.value(result, SH.sourceShape)
    most = None
    if shape is not None:  # the report has a copy of one without a name
        most = shapes.value(shape, SH.maxCount) or report_graph.value(shape, SH.maxCount)
    return int(str(most)) if most is not None else None


def _named_shape(shapes: Graph, shape: Node | None) -> NamedNode | None:
    """The shape, or the nearest one with an IRI that a shape without is part of."""
    from rdflib import BNode, URIRef

    seen: set[Node] = set()
    level = {shape} if shape is not None else set()
    while level:
        if named := sorted(str(node) for node in level if isinstance(node, URIRef)):
            return NamedNode(named[0])
        seen |= level  # pySHACL keeps the ids of blank nodes in its report
        level = {up for node in level if isinstance(node, BNode) for up in shapes.subjects(None, node)} - seen
    return None


_SEVERITIES = ("Violation", "Warning", "Info")


def _order(result: Result) -> tuple[object, ...]:
    """The worst first, then by what they are about."""
    severity = result.severity
    rank = _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES)
    return rank, str(result.focus), str(result.path), str(result.value), result.message, str(result.shape)


def graph_of(statements: Iterable[Statement]) -> Graph:
    """Triples as a graph of rdflib. Triple terms are left out, because validators do not support them."""
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in statements if not isinstance(o, Triple))
    return graph_of_lines(lines)


def graph_of_lines(lines: str) -> Graph:
    """A graph of rdflib from N-Triples."""
    from rdflib import Graph

    return Graph().parse(data=lines, format="nt")


def _end(node: Node | None) -> str:
    """The end of an IRI of SHACL."""
    return str(node).rpartition("#")[2]


def _term(node: Node | None) -> Term | None:
    """A term of rdflib as one of ours; None for a blank node."""
    import rdflib

    if isinstance(node, rdflib.URIRef):
        return NamedNode(str(node))
    if not isinstance(node, rdflib.Literal):
        return None
    if node.language:
        return Literal(str(node), language=node.language)
    return Literal(str(node), datatype=NamedNode(str(node.datatype))) if node.datatype else Literal(str(node))
