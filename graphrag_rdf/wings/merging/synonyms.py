"""The synonyms file: names that mean the same.

Each line is `Preferred name = other name; other name`; a line that begins with `#` is a comment. Each entry
is a decision, and a subgraph of the decision contains its names, so the preferred entity has a name without
any document. Removing the line undoes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import ConfigError, system_cause
from graphrag_rdf.extract.names import reject_reason
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.decisions import SYNONYMS
from graphrag_rdf.ingest.entity_decisions import MERGE, settle
from graphrag_rdf.ingest.names import KnownNames, Minter, unsettled
from graphrag_rdf.ingest.resolutions import Resolution
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, SKOS, TG
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.render import encode_removal
from graphrag_rdf.store.base import Changes, Store

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


SYNONYMS_KEY = "synonyms/1"


@dataclass(frozen=True, slots=True)
class Synonyms:
    """One entry: names that mean the same.

    Attributes:
        preferred: the name of the entity that represents all.
        others: the other names.
    """

    preferred: str
    others: tuple[str, ...]


def read_synonyms(path: Path) -> list[Synonyms]:
    """The entries of a file; lines with the same preferred name are one entry.

    Raises:
        ConfigError: when the file cannot be read, or a line is malformed, names nothing, or contradicts
            another; the message names the line.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            tr("the synonyms file {path} cannot be read: {strerror}").format(
                path=path, strerror=system_cause(error)
            )
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            tr("the synonyms file {path} is not UTF-8: {reason}").format(path=path, reason=error.reason)
        ) from error
    mint = Minter()
    spelling: dict[str, str] = {}
    others: dict[str, dict[str, None]] = {}
    owner: dict[str, str] = {}  # entity of another name -> the preferred one
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}, line {number}"
        preferred, names = _parsed_entry(line, place)
        key = mint.entity(preferred).value
        spelling.setdefault(key, preferred)
        mine = others.setdefault(key, {})
        for name in names:
            other = mint.entity(name).value
            if owner.setdefault(other, key) != key:
                taken = spelling[owner[other]]
                raise ConfigError(
                    tr("{place}: {name!r} is already another name of {taken!r}").format(
                        place=place, name=name, taken=taken
                    )
                )
            mine[name] = None
    for number, line in enumerate(text.split("\n"), start=1):
        key = mint.entity(line.partition("=")[0].strip()).value if "=" in line else ""
        if key in spelling and owner.get(key, key) != key:
            raise ConfigError(
                tr("{path}, line {number}: {name!r} is itself another name of {preferred!r}").format(
                    path=path, number=number, name=spelling[key], preferred=spelling[owner[key]]
                ),
                hint=tr("put all names that mean the same in one line"),
            )
    return [Synonyms(spelling[key], tuple(names)) for key, names in others.items()]


def _parsed_entry(line: str, place: str) -> tuple[str, list[str]]:
    preferred, sign, rest = line.partition("=")
    if not sign:
        raise ConfigError(
            tr("{place}: the line has no '='").format(place=place),
            hint=tr("write: Preferred name = other name; other name"),
        )
    names = [" ".join(name.split()) for name in (preferred, *rest.split(";"))]
    wanted = [names[0], *filter(None, names[1:])]
    if len(wanted) == 1:
        raise ConfigError(tr("{place}: no other name after '='").format(place=place))
    for name in wanted:
        if reason := reject_reason(name, min_length=1):
            raise ConfigError(
                tr("{place}: {name!r} cannot be a name ({reason})").format(
                    place=place, name=name, reason=reason.replace("_", " ")
                )
            )
    return wanted[0], wanted[1:]


def apply_synonyms(engine: NeededComponents, path: Path) -> None:
    """Bring the decisions in the store in line with the synonyms file.

    Raises:
        ConfigError: see `read_synonyms`.
    """
    store, mint = engine.store, Minter(engine.settings.extract.namespace)
    wanted: list[Quad] = []
    names: list[tuple[NamedNode, NamedNode, str]] = []
    for entry in read_synonyms(path):
        node = mint.entity(entry.preferred)
        names.append((node, RDFS.label, entry.preferred))
        names += [(node, SKOS.altLabel, name) for name in entry.others if name != entry.preferred]
        wanted += _entry_decision(node, entry, mint, path)
    stood = [_quad(row["graph"], row["s"], row["p"], row["o"]) for row in store.select("ingest/synonyms")]
    new, old = {_kept(quad, store): quad for quad in wanted}, set(stood)
    if set(new) == old:
        return
    changes = Changes(
        remove=[quad for quad in stood if quad not in new],
        add=[quad for kept, quad in new.items() if kept not in old],
    )
    touched = {node for node, _, _ in names}
    for prop in (RAG.canonicalEntity, RAG.member):
        touched.update(_objects_of([*stood, *wanted], prop))
    known = KnownNames(store)
    known.load(node for node, _, _ in names)
    for node, prop, name in names:
        if asserted := known.add(node, Literal(name), alias=prop == SKOS.altLabel):
            changes.add.append(prov.fact(node, asserted, Literal(name)))
    changes.add += unsettled(sorted(touched, key=str))
    store.commit(changes)
    engine.indexer.changed(entities=settle(store))
    engine.indexer.flush(final=True)


def _entry_decision(node: NamedNode, entry: Synonyms, mint: Minter, path: Path) -> Iterator[Quad]:
    """The decision in the system graph, and the subgraph that contains its names."""
    decision = Resolution(
        iri=iris.merge(SYNONYMS_KEY, node),
        kind=MERGE,
        members=tuple(dict.fromkeys([node, *map(mint.entity, entry.others)])),
        canonical=node,
        by=SYNONYMS,
        confidence=1.0,
        source=NamedNode(path.resolve().as_uri()),
    )
    yield from decision.quads()
    subgraph = iris.subgraph(decision.iri, SYNONYMS_KEY)
    yield prov.source(subgraph, RDF.type, TG.Subgraph)
    yield prov.source(subgraph, PROV.wasDerivedFrom, decision.iri)
    yield prov.source(subgraph, PROV.wasAttributedTo, SYNONYMS)
    yield _contained(subgraph, node, RDFS.label, entry.preferred)
    for name in entry.others:
        if name != entry.preferred:
            yield _contained(subgraph, node, SKOS.altLabel, name)


def _contained(subgraph: NamedNode, node: NamedNode, prop: NamedNode, name: str) -> Quad:
    return list(prov.contained(subgraph, node, prop, Literal(name)))[1]


def _objects_of(quads: Iterable[Quad], predicate: NamedNode) -> list[NamedNode]:
    return [
        node for quad in quads if quad.predicate == predicate and isinstance(node := quad.object, NamedNode)
    ]


def _kept(quad: Quad, store: Store) -> Quad:
    """As the store has it: without triple terms it has a node for what is contained."""
    (found,) = encode_removal([quad], store.renderer.dialect)
    return found


def _quad(graph: Term, s: Term, p: Term, o: Term) -> Quad:
    return Quad(s, p, o, graph)  # type: ignore[arg-type]
