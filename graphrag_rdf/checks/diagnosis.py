"""The output of `doctor`: versions, settings and their origins, the store and its indexes. Never a secret.

`config_drift` finds data in the store that were made with other settings than the current ones.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf import __version__
from graphrag_rdf.errors import ConfigError, GraphRagError, SearchIndexError, short_cause, without_credentials
from graphrag_rdf.extract.names import LONGEST_NAME
from graphrag_rdf.i18n import later, ngettext, tr
from graphrag_rdf.index.manifest import read
from graphrag_rdf.index.records import KINDS
from graphrag_rdf.ingest.entity_graph import built_with
from graphrag_rdf.ingest.extractors import choose_extractor, prompt_data, way_of
from graphrag_rdf.ingest.files import ingest_settings
from graphrag_rdf.ingest.forget import is_pending
from graphrag_rdf.ingest.relations import built, relation_counts, relation_names, relation_settings
from graphrag_rdf.ingest.stages import ingest_pipeline, model_stages, normalising
from graphrag_rdf.layout import foreign
from graphrag_rdf.live_settings import describe
from graphrag_rdf.rdf.namespaces import prefixed
from graphrag_rdf.store.base import Row
from graphrag_rdf.wing import load, wings

if TYPE_CHECKING:
    from graphrag_rdf.config import Loaded, Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.llm.gateway import LlmGateway


DEPENDENCIES = ("pyoxigraph", "litellm", "tantivy", "numpy", "rdflib", "SPARQLWrapper", "pydantic", "click")
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "onnx": ("onnxruntime", "tokenizers"),
    "fastembed": ("fastembed",),
    "usearch": ("usearch",),
    "ms-graphrag": ("arro3.io",),
    "shacl": ("pyshacl",),
    "mcp": ("mcp",),
    "ocr": ("rapidocr", "onnxruntime"),
    "langchain": ("langchain_core",),
    "llama-index": ("llama_index.core",),
    "dask": ("distributed",),
    "shared-index": ("fsspec",),
    "sign": ("cryptography",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}
"""Extra of this package → its modules."""

_RELATIONS = 50
_WEIGHT = re.compile(r"\.(?:weight_\w+|\w+_weight|passage_(?:entities|words|meaning))\Z")


def environment(loaded: Loaded) -> dict[str, Any]:
    """The state without a store: versions, extras, and each setting with its origin."""
    return {
        "versions": _versions(),
        "extras": {name: _health(modules) for name, modules in EXTRAS.items()},
        **settings_facts(loaded, None),
    }


def settings_facts(loaded: Loaded, engine: Engine | None) -> dict[str, Any]:
    """Settings with their origin, their version in the store, weights, and models.

    Args:
        engine: of the store with settings; None without one.

    Raises:
        ConfigError: for invalid settings in the store.
    """
    in_force = engine.live.read() if engine is not None else None
    settings = describe(loaded, in_force)
    return {
        "settings_file": str(loaded.file) if loaded.file else None,
        "settings": settings,
        "settings_version": in_force.version.value if in_force and in_force.version else None,
        "weights": {key: entry for key, entry in settings.items() if _WEIGHT.search(key)},
        "models": _models(in_force.settings if in_force else loaded.settings),
    }


def diagnostics(engine: Engine) -> dict[str, Any]:
    """The state of an open store and the current settings, without importing any extra.

    Raises:
        ConfigError: for invalid settings in the store.
    """
    return {"versions": _versions(), **settings_facts(engine.loaded, engine), **store_facts(engine)}


def _versions() -> dict[str, str | None]:
    return {
        "graphrag-rdf": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "executable": sys.executable,
        **{name: _version(name) for name in DEPENDENCIES},
    }


def store_facts(engine: Engine) -> dict[str, Any]:
    """The state of an open store: version, sizes, graphs, indexes, and statistics of the facts."""
    from graphrag_rdf.store.migrations import store_version

    store, extract, relations = engine.store, engine.settings.extract, engine.settings.relations
    aliases = store.select("system/alias-counts")[0]
    total, with_aliases = aliases["total"], aliases["with_aliases"]
    indexes = index_status(engine)
    return {
        "store": {
            "version": store_version(store),
            "commit": store.commit_number(),
            "quads": store.count(),
            **store.select("server/counts")[0],
            **store.select("system/chunk-count")[0],
            "questions": store.select("server/trace-count")[0]["traces"],
            "graphs": {row["graph"] or "default": row["quads"] for row in store.select("system/graph-sizes")},
            "paths": _paths(engine),
            "foreign": [str(path) for path in foreign(engine.place.root)] if engine.place else [],
            **_endpoint(engine),
        },
        "erasure_pending": is_pending(store),
        **indexes,
        "configuration_drift": config_drift(engine),
        "feature_flags": feature_flags(engine, indexes),
        "entity_aliases": {
            "total_entities": total,
            "with_aliases": with_aliases,
            "ratio": round(with_aliases / total, 4) if total else 0.0,
        },
        "noise_control": {
            "entity_min_length": extract.entity_min_length,
            "entity_max_length": LONGEST_NAME,
            "cooccur_min_count": relations.min_count,
            "hub_limit": relations.hub_limit,
            "relation_min_confidence": relations.min_confidence,
            "rejected": {row["reason"]: row["candidates"] for row in store.select("system/rejected-counts")},
        },
        "relation_counts": {
            _relation(row): row["facts"] for row in store.select("system/relation-counts", limit=_RELATIONS)
        }
        | relation_names(relation_counts(store))
        | dict(store.select("system/relation-totals")[0]),
        "warnings": warnings(engine, indexes),
    }


def warnings(engine: Engine, indexes: Mapping[str, Any]) -> list[dict[str, str]]:
    """Limitations, with the warning types of answers and summaries (docs/how-to/trouble.md).

    Args:
        indexes: see `index_status`.
    """
    entries: list[dict[str, str]] = []

    def warn(kind: str, detail: str) -> None:
        entries.append({"type": kind, "detail": detail})

    for words in engine.live.now.notes():
        warn("setting_ignored", words)
    if is_pending(engine.store):
        warn("erasure_pending", tr("files of the store may still hold text that was forgotten"))
    if engine.settings.llm.model is None:
        warn("no_llm", tr("No language model is configured: the program uses rules only."))
    try:
        prompt_data(engine.settings)
    except ConfigError as error:
        warn("prompt_unread", error.message)
    for name, entry in indexes["indexes"].items():
        if "error" in entry:
            way_out = entry["hint"] or "graphrag-rdf index rebuild"
            warn("index_missing", f"{name}: {entry['error']}; {way_out}")
        elif name == "vectors" and not entry["up_to_date"]:
            warn("embedding_failed", tr("the newest data have no vectors"))
    failures: dict[str, dict[NamedNode, str]] = {}
    for row in engine.store.select("ingest/failures"):
        reason = f"{row['path']}: {row['reason']}" if row["stage"] == "read" else row["reason"]
        failures.setdefault(row["stage"], {})[row["failure"]] = reason
    if unread := failures.get("read"):
        warn(
            "documents_failed",
            ngettext(
                "{count:,} file could not be read: {first}",
                "{count:,} files could not be read: {first}",
                len(unread),
            ).format(count=len(unread), first=next(iter(unread.values()))),
        )
    if extract := failures.get("extract"):
        warn(
            "extraction_failed",
            tr("{count:,} chunks: {extract}").format(
                count=len(extract), extract=next(iter(extract.values()))
            ),
        )
    for kind in model_stages():
        if reasons := failures.get(kind.failed_at):
            warn(kind.warning, kind.failed(len(reasons), next(iter(reasons.values()))))
    return entries


def remedy(kind: str) -> str | None:
    """What mends a warning of this type; None if its detail names that."""
    stages = {stage.warning: " ".join(("graphrag-rdf", *stage.command)) for stage in model_stages()}
    return tr(_REMEDIES[kind]) if kind in _REMEDIES else stages.get(kind)


_REMEDIES: Mapping[str, str] = {
    "no_llm": later("if you want one: graphrag-rdf config set llm.model PROVIDER/MODEL"),
    "erasure_pending": later("wait ten minutes, or stop the server that uses the store"),
    "embedding_failed": "graphrag-rdf index rebuild",
    "documents_failed": later("mend these files, or leave them out with --exclude, and ingest again"),
    "extraction_failed": later("ingest the documents again: only what is missing is done"),
}


def _relation(row: Row) -> str:
    """The label of a relation, or its prefixed name, as for vocabularies without labels in the store."""
    relation: NamedNode = row["relation"]
    label: str | None = row["label"]
    return label if label is not None else prefixed(relation) or relation.value


def feature_flags(engine: Engine, indexes: Mapping[str, Any]) -> dict[str, bool]:
    """Features that are on and work."""
    settings = engine.settings
    stages = {entry.stage for entry in ingest_pipeline(settings).entries()}
    vectors = indexes["indexes"].get("vectors")
    flags = {
        "llm_enabled": settings.llm.model is not None,
        "vectors_enabled": settings.embedding.model is not None
        and vectors is not None
        and "error" not in vectors,
        "rerank_enabled": settings.rerank.model is not None,
        "entity_extraction_enabled": settings.extract.use != "none",
        "entity_normalize_enabled": not stages.isdisjoint(normalising()),
        "hash_incremental_enabled": settings.extract.incremental,
        "gleaning_enabled": settings.extract.gleaning_rounds > 0,
        "prompt_tuned": _told_of_documents(settings),
        "cache_enabled": settings.cache.enabled,
        "trace_full": settings.trace.detail == "full",
    }
    for wing in wings():
        if wing.flags:
            flags |= load(wing.flags)(engine, indexes["indexes"])
    return flags


def _told_of_documents(settings: Settings) -> bool:
    """Whether the extraction prompt has valid data (`extract.yaml`)."""
    try:
        return not prompt_data(settings).is_empty
    except ConfigError:
        return False


def index_status(engine: Engine) -> dict[str, Any]:
    """The commit and contents of each index, or its error, and the commit of the store."""
    commit = engine.store.content_commit()
    out: dict[str, dict[str, Any]] = {}
    try:
        text = engine.text_index
        out["text"] = {
            "commit": text.commit_number,
            "up_to_date": text.commit_number == commit,
            "counts": {kind: text.count(kind) for kind in KINDS},
        }
    except SearchIndexError as error:
        out["text"] = {"error": error.message, "hint": error.hint}
    try:
        vectors = engine.vectors
        if vectors is not None:
            out["vectors"] = {
                "commit": vectors.commit_number,
                "up_to_date": vectors.commit_number == commit,
                "counts": {kind: vectors.count(kind) for kind in KINDS},
                "model": vectors.model,
                "dimension": vectors.dimension,
            }
    except SearchIndexError as error:
        out["vectors"] = {"error": error.message, "hint": error.hint}
    return {"content_commit": commit, "indexes": out}


def probe(engine: Engine) -> dict[str, dict[str, Any]]:
    """Send each configured model a minimal request, without retries, and check that vectors fit the index.

    Returns:
        `llm`, `embedding` and `rerank`, each with `model`, `reachable`, and `seconds` or `error` and `hint`;
        `embedding` with `dimension`, `index_dimension` and `fits` (None without an index of vectors).
    """
    probes: dict[str, dict[str, Any]] = {}
    gateway = engine.impatient_gateway()
    if model := engine.settings.llm.model:
        probes["llm"] = _tried(model, lambda: _answers(gateway))
    if name := engine.settings.embedding.model:
        probes["embedding"] = _tried(name, lambda: _dimensions(engine, name, gateway))
    if reranker := engine.settings.rerank.model:
        probes["rerank"] = _tried(reranker, lambda: _scores(engine, reranker, gateway))
    return probes


def _tried(model: str, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    begun = time.perf_counter()
    try:
        outcome = call()
    except GraphRagError as error:
        return {"model": model, "reachable": False, "error": error.message, "hint": error.hint}
    return {"model": model, "reachable": True, "seconds": round(time.perf_counter() - begun, 3), **outcome}


def _answers(gateway: LlmGateway) -> dict[str, Any]:
    gateway.chat([{"role": "user", "content": "Answer with the word: yes"}], purpose="probe", max_tokens=16)
    return {}


def _scores(engine: Engine, name: str, gateway: LlmGateway) -> dict[str, Any]:
    from graphrag_rdf.index.rerankers import reranker_for

    if name.startswith("local:"):
        reranker = engine.cross_encoder
    else:
        reranker = reranker_for(
            name, lexical=lambda _: 0.0, embedder=engine.embedder, gateway_rerank=gateway.rerank
        )
    reranker.scores("probe", ["probe"])
    return {}


def _dimensions(engine: Engine, name: str, gateway: LlmGateway) -> dict[str, Any]:
    from graphrag_rdf.index.embedders import embedder_for

    embedder = embedder_for(name, gateway_embed=gateway.embed)
    dimension = int(embedder.embed(["probe"]).shape[1]) if embedder else 0
    try:
        indexed = engine.vectors.dimension if engine.vectors is not None else None
    except SearchIndexError:  # of another model: its status reports it
        return {"dimension": dimension, "index_dimension": None, "fits": False}
    return {
        "dimension": dimension,
        "index_dimension": indexed,
        "fits": None if not indexed else indexed == dimension,
    }


def folder_size(path: Path) -> int:
    """Total size of the files in a folder and below, in bytes; 0 without the folder."""
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # files may vanish while a store is in use
            continue
    return total


def _paths(engine: Engine) -> dict[str, dict[str, Any]]:
    place = engine.place
    if place is None:
        return {}
    folders = {
        "store": place.root,
        "database": place.database,
        "librarian": place.blobs,
        "index": place.index,
        "cache": place.cache.parent,
    }
    if _endpoint(engine):
        del folders["database"]
    return {name: {"path": str(path.resolve()), "bytes": folder_size(path)} for name, path in folders.items()}


def _endpoint(engine: Engine) -> dict[str, dict[str, Any]]:
    """The addresses and features of a remote store's endpoint; empty for other stores."""
    from graphrag_rdf.store.remote import RemoteStore

    store = engine.store
    if not isinstance(store, RemoteStore):
        return {}
    can, addresses = store.capabilities, store.endpoint.addresses
    return {
        "endpoint": {
            "query_url": without_credentials(addresses.query),
            "update_url": without_credentials(addresses.update),
            "dialect": can.dialect,
            "facts_graph": can.facts_graph.value if can.facts_graph else "default",
            "lateral": can.lateral,
            "numbers_commits": can.numbered,
        }
    }


def _models(settings: Settings) -> dict[str, str | None]:
    return {
        "llm": settings.llm.model,
        "embedding": settings.embedding.model,
        "rerank": settings.rerank.model,
        "extraction": way_of(settings),
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _health(modules: tuple[str, ...]) -> dict[str, Any]:
    """Whether an extra's modules can be imported, with the errors."""
    problems: dict[str, str] = {}
    for name in modules:
        try:
            import_module(name)
        except Exception as error:  # noqa: BLE001 - a broken package may raise anything at import
            problems[name] = short_cause(error)
    return {"ok": not problems, "problems": problems}


_AGAIN = later("make them again with: graphrag-rdf ingest DOCUMENTS")
_RELATE = "graphrag-rdf refresh relations"


def config_drift(engine: Engine) -> list[dict[str, Any]]:
    """All differences, with the keys `what`, `in_force` and `made_with` (keys of the settings; None for
    none), `count` and `remedy`.

    Data of imports and evaluation sets do not depend on settings.
    """
    comparisons = (_chunks, _facts, _vectors, _relations, _model_stages)
    return [entry for differing in comparisons for entry in differing(engine)]


def _chunks(engine: Engine) -> Iterator[dict[str, Any]]:
    in_force = ingest_settings(engine.settings).chunks.key
    yield from _differing(engine, "system/chunkers", later("documents cut"), in_force, ("sentences/",))


def _facts(engine: Engine) -> Iterator[dict[str, Any]]:
    try:
        in_force = choose_extractor(engine.settings, lambda: engine.gateway, engine.store).key
    except GraphRagError:  # there is no valid extractor, which ingest reports
        return
    yield from _differing(
        engine, "system/extractors", later("subgraphs extracted"), in_force, ("rules/", "llm/")
    )


def _differing(
    engine: Engine, template: str, what: str, in_force: str, ours: tuple[str, ...], remedy: str = _AGAIN
) -> Iterator[dict[str, Any]]:
    for row in engine.store.select(template):
        made_with = row["made_with"]
        if made_with.startswith(ours) and made_with != in_force:
            yield _entry(what, in_force, made_with, row["number"], remedy)


def _vectors(engine: Engine) -> Iterator[dict[str, Any]]:
    """Vectors of another model, read from the manifest: the index cannot be opened with another model."""
    in_force = engine.settings.embedding.model
    try:
        manifest = read(engine.place.vector_index, form=None) if engine.place else None
    except SearchIndexError:  # the status of the index reports it
        return
    made_with = manifest.get("model") if manifest else None
    if made_with is None or made_with == (engine.embedder.name if engine.embedder else None):
        return
    remedy = "graphrag-rdf index rebuild" if in_force else "set embedding.model, or search by words only"
    yield _entry(later("vectors made"), in_force, made_with, 1, remedy)


def _relations(engine: Engine) -> Iterator[dict[str, Any]]:
    """Relations that were built with other settings, or from an older state of the store."""
    before, wanted = built(engine.store), relation_settings(engine.settings)
    if before is None:
        return
    min_count = engine.settings.relations.min_count
    parameters = [
        {**asdict(settings), "content_commit": commit, "min_count": least}
        for settings, commit, least in (
            (wanted, engine.store.content_commit(), min_count),
            (before.settings, before.content_commit, built_with(engine.store, min_count)),
        )
    ]
    if parameters[0] != parameters[1]:
        in_force, made_with = (json.dumps(values, sort_keys=True) for values in parameters)
        count = sum(relation_counts(engine.store).values())
        yield _entry(later("relations derived"), in_force, made_with, count, _RELATE)


def _model_stages(engine: Engine) -> Iterator[dict[str, Any]]:
    """What was read by another model, or with another prompt or settings."""
    for kind in model_stages():
        try:
            reader = kind(engine).chosen if kind.read_with is not None else None
        except GraphRagError:  # there is no valid reader, which refresh reports
            continue
        if reader is not None and kind.read_with is not None:
            prefix, what = kind.read_with
            remedy = " ".join(("graphrag-rdf", *kind.command))
            yield from _differing(engine, "system/extractors", what, reader.key, (prefix,), remedy)


def _entry(what: str, in_force: str | None, made_with: str, count: object, remedy: str) -> dict[str, Any]:
    return {
        "what": what,
        "in_force": in_force,
        "made_with": made_with,
        "count": count,
        "remedy": tr(remedy),
    }
