"""Communities of the entities of a store, in `urn:graph:community`: rebuilt, never edited."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import double, integer
from graphrag_rdf.store.base import Changes, Row, Store, updates_in_batches
from graphrag_rdf.store.derivations import Made
from graphrag_rdf.store.records import COMMUNITIES, parameters_of
from graphrag_rdf.wings.communities.clustering import Cluster, cluster

CENTRAL = 3
"""How many members stand for a community: those with the greatest weight within it."""
REPORTS = Made(
    "report",
    "reports",
    find="communities/reports-of",
    drop="communities/drop-reports",
    texts="communities/report-texts",
    origins=("communities", "entities", "sources"),
)
"""Reports of communities; those that derive from others go with these."""
_WEIGHTS = ("statement_weight", "sentence_weight", "topic_weight")
_COUNTS = ("statements", "sentences", "chunks")


@dataclass(frozen=True, slots=True)
class CommunitySettings:
    """How communities are built: the settings `communities` have the meaning of each."""

    resolution: float = 1.0
    max_size: int = 10
    seed: int = 0
    statement_weight: float = 1.0
    sentence_weight: float = 0.5
    topic_weight: float = 0.25

    @classmethod
    def of(cls, section: object) -> CommunitySettings:
        """Those of a section of the settings, which has the same names."""
        return cls(**{field.name: getattr(section, field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Origins:
    """What communities were built from.

    Attributes:
        entities: that were clustered; `alone`: those of them without an edge.
        edges: pairs of entities that belong together. Of these, pairs in facts (`by_facts`), in sentences
            that name both (`by_sentences`), and of the topic of a chunk and an entity that the chunk names
            (`by_topics`).
    """

    entities: int
    alone: int
    edges: int
    by_facts: int
    by_sentences: int
    by_topics: int


@dataclass(frozen=True, slots=True)
class Built:
    """The record of a build.

    Attributes:
        content_commit: of the store, that the communities reflect.
    """

    settings: CommunitySettings
    origins: Origins
    content_commit: int


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did.

    Attributes:
        communities: how many there are, by level.
        added, kept, removed: compared with those before.
        unchanged: neither the content nor the settings changed since the last build, so nothing was done.
    """

    communities: dict[int, int]
    added: int
    kept: int
    removed: int
    origins: Origins
    unchanged: bool
    seconds: float


def has_communities(store: Store) -> bool:
    """Whether communities were built or imported."""
    return parameters_of(store, COMMUNITIES) is not None


def built(store: Store) -> Built | None:
    """The record of the last build; None if there is none, or the communities were imported."""
    text = parameters_of(store, COMMUNITIES)
    parameters = json.loads(text or "{}")
    if "settings" not in parameters:
        return None
    settings, origins = CommunitySettings(**parameters["settings"]), Origins(**parameters["origins"])
    return Built(settings, origins, parameters["content_commit"])


def is_outdated(store: Store) -> bool:
    """Whether content changed since communities were built."""
    before = built(store)
    return before is not None and before.content_commit != store.content_commit()


def build_communities(store: Store, settings: CommunitySettings, *, again: bool = False) -> BuildReport:
    """Cluster all entities and replace the communities of the store.

    A community has the IRI of its level and members, so one that has not changed keeps what refers to it.

    Args:
        again: build also when neither content nor settings changed since the last build.

    Raises:
        ConfigError: when the clustering cannot be imported.
    """
    begun = time.perf_counter()
    previous = _levels(store)
    before, commit = built(store), store.content_commit()
    if not again and before is not None and (before.settings, before.content_commit) == (settings, commit):
        return _report(previous, previous, before.origins, begun, unchanged=True)
    rows = store.select("communities/edges", **{name: getattr(settings, name) for name in _WEIGHTS})
    # the engine would take longer to order them; sums of weights are the same in the same order
    edges: list[tuple[str, str, float]] = sorted((row["one"], row["other"], row["weight"]) for row in rows)
    paired = {node for start, end, _ in edges for node in (start, end)}
    entities = paired | {row["entity"] for row in store.select("communities/entities")}
    clusters = cluster(
        [edge for edge in edges if edge[2] > 0],
        entities,
        resolution=settings.resolution,
        max_size=settings.max_size,
        seed=settings.seed,
    )
    named = [iris.community(each.level, each.members) for each in clusters]
    quads = [*_quads(clusters, named, edges)]
    changes = Changes(updates=[("communities/clear", {})], add=quads, content=False)
    gone = previous.keys() - {iri.value for iri in named}
    REPORTS.drop_made(store, changes, communities=[*map(NamedNode, sorted(gone))])
    store.commit(changes)
    origins = Origins(
        len(entities), len(entities - paired), len(edges), *(_pairs(rows, key) for key in _COUNTS)
    )
    # the record comes last: a build that was cut off has none, and is done again
    updates = updates_in_batches("communities/text-units", "communities", named)
    updates += updates_in_batches("communities/years", "communities", named)
    record = [*_record(Built(settings, origins, commit))]
    store.commit(Changes(updates=updates, add=record, content=False))
    current = {iri.value: each.level for iri, each in zip(named, clusters, strict=True)}
    return _report(previous, current, origins, begun)


def _levels(store: Store) -> dict[str, int]:
    """The level of each community."""
    rows = store.select("communities/levels")
    return {row["community"]: row["level"] for row in rows}


def _report(
    before: Mapping[str, int],
    current: Mapping[str, int],
    origins: Origins,
    begun: float,
    *,
    unchanged: bool = False,
) -> BuildReport:
    return BuildReport(
        communities=dict(sorted(Counter(current.values()).items())),
        added=len(current.keys() - before.keys()),
        kept=len(current.keys() & before.keys()),
        removed=len(before.keys() - current.keys()),
        origins=origins,
        unchanged=unchanged,
        seconds=round(time.perf_counter() - begun, 3),
    )


def _pairs(rows: Sequence[Row], count: str) -> int:
    """The number of pairs for which a count is not 0."""
    return sum(row[count] != 0 for row in rows)


def _quads(
    clusters: Sequence[Cluster], named: Sequence[NamedNode], edges: Sequence[tuple[str, str, float]]
) -> Iterator[Quad]:
    homes: dict[str, list[int]] = defaultdict(list)
    for index, each in enumerate(clusters):
        for member in each.members:
            homes[member].append(index)
    inside = [0] * len(clusters)
    weights = [0.0] * len(clusters)
    strength: list[dict[str, float]] = [defaultdict(float) for _ in clusters]
    for start, end, weight in edges:
        for index in {*homes[start]}.intersection(homes[end]):
            inside[index] += 1
            weights[index] += weight
            strength[index][start] += weight
            strength[index][end] += weight
    for index, (each, iri) in enumerate(zip(clusters, named, strict=True)):
        central = sorted(each.members, key=lambda member: (-strength[index].get(member, 0.0), member))[
            :CENTRAL
        ]
        yield Quad(iri, RDF.type, RAG.Community, Graphs.COMMUNITY)
        yield Quad(iri, RAG.level, integer(each.level), Graphs.COMMUNITY)
        yield Quad(iri, RAG.memberCount, integer(len(each.members)), Graphs.COMMUNITY)
        yield Quad(iri, RAG.edgeCount, integer(inside[index]), Graphs.COMMUNITY)
        yield Quad(iri, RAG.edgeWeight, double(weights[index]), Graphs.COMMUNITY)
        yield Quad(iri, PROV.wasGeneratedBy, COMMUNITIES, Graphs.COMMUNITY)
        if each.parent is not None:
            yield Quad(iri, DCTERMS.isPartOf, named[each.parent], Graphs.COMMUNITY)
        for member in each.members:
            yield Quad(iri, PROV.hadMember, NamedNode(member), Graphs.COMMUNITY)
        for member in central:
            yield Quad(iri, RAG.centralEntity, NamedNode(member), Graphs.COMMUNITY)


def _record(build: Built) -> Iterator[Quad]:
    yield Quad(COMMUNITIES, RDF.type, PROV.Activity, Graphs.COMMUNITY)
    parameters = json.dumps(asdict(build), sort_keys=True)
    yield Quad(COMMUNITIES, RAG.parameters, Literal(parameters), Graphs.COMMUNITY)
