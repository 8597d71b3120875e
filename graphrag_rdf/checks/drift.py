"""Configuration drift: data in the store that were made with other settings than the current ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.ingest.extractors import choose_extractor, choose_relation_reader
from graphrag_rdf.ingest.files import ingest_settings
from graphrag_rdf.ingest.relations import built, relation_counts, relation_settings
from graphrag_rdf.rdf.terms import text_of, to_python

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_AGAIN = "make them again with: graphrag-rdf ingest DOCUMENTS"
_RELATE = "graphrag-rdf refresh relations"


def config_drift(engine: Engine) -> list[dict[str, Any]]:
    """All differences, with the keys `what`, `in_force` and `made_with` (keys of the settings; None for
    none), `count` and `remedy`.

    Data of imports and evaluation sets do not depend on settings.
    """
    return [*_chunks(engine), *_facts(engine), *_vectors(engine), *_relations(engine), *_pairs(engine)]


def _chunks(engine: Engine) -> Iterator[dict[str, Any]]:
    in_force = ingest_settings(engine.settings).chunks.key
    yield from _differing(engine, "system/chunkers", "documents cut", in_force, ("sentences/",))


def _facts(engine: Engine) -> Iterator[dict[str, Any]]:
    try:
        in_force = choose_extractor(engine.settings, lambda: engine.gateway).key
    except GraphRagError:  # there is no valid extractor, which ingest reports
        return
    yield from _differing(engine, "system/extractors", "subgraphs extracted", in_force, ("rules/", "llm/"))


def _differing(
    engine: Engine, template: str, what: str, in_force: str, ours: tuple[str, ...], remedy: str = _AGAIN
) -> Iterator[dict[str, Any]]:
    for row in engine.store.select(template):
        made_with = text_of(row["made_with"])
        if made_with.startswith(ours) and made_with != in_force:
            yield _entry(what, in_force, made_with, to_python(row["number"]), remedy)


def _vectors(engine: Engine) -> Iterator[dict[str, Any]]:
    """Vectors of another model, read from the manifest: the index cannot be opened with another model."""
    in_force = engine.settings.embedding.model
    place = engine.place.index / "vectors" / "manifest.json" if engine.place else None
    if place is None or not place.is_file():
        return
    try:
        manifest = json.loads(place.read_text("utf-8"))
    except (OSError, ValueError):  # the status of the index reports it
        return
    made_with = manifest.get("model") if isinstance(manifest, Mapping) else None
    if made_with is None or made_with == (engine.embedder.name if engine.embedder else None):
        return
    remedy = "graphrag-rdf index rebuild" if in_force else "set embedding.model, or search by words only"
    yield _entry("vectors made", in_force, made_with, 1, remedy)


def _relations(engine: Engine) -> Iterator[dict[str, Any]]:
    """Relations that were built with other settings, or from an older state of the store."""
    before, wanted = built(engine.store), relation_settings(engine.settings)
    if before is None:
        return
    said = [
        {**asdict(settings), "content_commit": commit}
        for settings, commit in (
            (wanted, engine.store.content_commit()),
            (before.settings, before.content_commit),
        )
    ]
    if said[0] != said[1]:
        in_force, made_with = (json.dumps(one, sort_keys=True) for one in said)
        count = sum(relation_counts(engine.store).values())
        yield _entry("relations derived", in_force, made_with, count, _RELATE)


def _pairs(engine: Engine) -> Iterator[dict[str, Any]]:
    try:
        reader = choose_relation_reader(engine.settings)
    except GraphRagError:  # there is no valid reader, which refresh reports
        return
    if reader is not None:
        yield from _differing(
            engine, "system/extractors", "pairs of chunks read", reader.key, ("relations/",), _RELATE
        )


def _entry(what: str, in_force: str | None, made_with: str, count: object, remedy: str) -> dict[str, Any]:
    return {
        "what": what,
        "in_force": in_force,
        "made_with": made_with,
        "count": count,
        "remedy": remedy,
    }
