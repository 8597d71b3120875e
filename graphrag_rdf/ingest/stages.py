"""The stages of the ingest, and `pipelines/ingest/pipeline.yaml`, which says which of them run.

`STAGES` declares what each stage does and needs. The file lists the stages in four parts: once at the
beginning of a run, for each document, for each chunk, and once at the end. A stage that is optional can be
left out. Those at the end run in the order of the file. A user's own copy of the folder takes the place of
ours (setting `pipelines`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_rdf.config import CONFIG_FILE, check_stored, trust
from graphrag_rdf.errors import ConfigError, short_cause
from graphrag_rdf.resources import folder

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings

NAME = "ingest"
FILE = "pipeline.yaml"
Part: TypeAlias = Literal["begin", "each_document", "each_chunk", "end"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the ingest.

    Attributes:
        does: what it does, in one line.
        needs: the stages that have to stand before it.
        optional: whether a pipeline may leave it out. What it wrote in earlier runs stays then.
        ways: what `use` may name; the first is the default.
        chooses: the setting that names the way; a given setting wins over `use`.
        with_model: the ways that need a model.
        settings: those that it obeys, besides `chooses`.
        templates: the queries and updates that it runs.
        prompts: files in the folder of the pipeline.yaml.
        refresh: the command below `refresh` that runs it again.
    """

    name: str
    part: Part
    does: str
    needs: tuple[str, ...] = ()
    optional: bool = False
    ways: tuple[str, ...] = ()
    chooses: str | None = None
    with_model: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    refresh: str | None = None


_TAKING_OUT = ("links/drop", "ingest/retract-facts")

STAGES: tuple[Stage, ...] = (
    Stage(
        "synonyms",
        "begin",
        "Merge the entities that the synonyms file says are one.",
        optional=True,
        settings=("extract.synonyms", "extract.namespace"),
        templates=("ingest/synonyms", "labels/known"),
    ),
    Stage("discover", "begin", "Find the files that the given paths name."),
    Stage(
        "plan",
        "begin",
        "Compare each file with the store: new, changed, moved or unchanged.",
        needs=("discover",),
        templates=("ingest/documents", "ingest/locations", "ingest/extracted", "ingest/failures"),
    ),
    Stage(
        "read",
        "each_document",
        "Read text, pages, tables, speakers, language and metadata of the file.",
        settings=("documents.max_bytes",),
    ),
    Stage(
        "chunk",
        "each_document",
        "Cut the text into chunks, at ends of sentences.",
        needs=("read",),
        settings=("documents.chunk_size", "documents.chunk_overlap", "documents.chunk_unit"),
    ),
    Stage(
        "document",
        "each_document",
        "Write the document, its version, pages, tables and the places of its chunks; retract what is gone.",
        needs=("chunk",),
        templates=(
            *("ingest/has-document", "ingest/document-quads", "ingest/document-facts"),
            *("ingest/chunk-places", "ingest/chunk-extractors", "ingest/sentences-of", "ingest/tombstones"),
            *("ingest/contained-in-chunks", "ingest/cited-chunks", "ingest/retract-chunks"),
            *("ingest/entomb-chunks", "ingest/outdate-chunks", "ingest/clear-failures", *_TAKING_OUT),
            *("derived/part", "derived/drop-shared", "derived/drop-follows"),
        ),
    ),
    Stage(
        "metadata",
        "each_document",
        "State who wrote and published what the title names, and when.",
        needs=("document",),
        optional=True,
        settings=("extract.namespace", "extract.entity_min_length", "extract.entity_max_length"),
        templates=(
            *("labels/known", "entities/decisions", "facts/decisions", "facts/corrections"),
            *("ingest/contained-in-subgraphs", "ingest/retract-subgraphs", "ingest/retract-facts"),
        ),
    ),
    Stage("sentences", "each_chunk", "Split the chunk into sentences and rows of tables.", needs=("chunk",)),
    Stage(
        "extract",
        "each_chunk",
        "Find entities and statements.",
        needs=("sentences",),
        ways=("auto", "rules", "llm"),
        chooses="extract.use",
        with_model=("llm",),
        settings=(
            *("extract.entity_types", "extract.predicates", "extract.ontology"),
            *("extract.gleaning_rounds", "extract.jobs", "llm.model", "llm.style"),
        ),
        prompts=("extract.j2", "glean.j2", "extract_names.j2", "extract_relations.j2"),
        refresh="facts",
    ),
    Stage(
        "filter",
        "each_chunk",
        "Reject names and statements that cannot be facts.",
        needs=("extract",),
        settings=("extract.entity_min_length", "extract.entity_max_length"),
    ),
    Stage(
        "mentions",
        "each_chunk",
        "Find the names in the sentences, and what the chunk is about.",
        needs=("extract",),
        templates=("ingest/names-in-chunk",),
        refresh="mentions",
    ),
    Stage(
        "evidence",
        "each_chunk",
        "Locate the quote of each fact in the text.",
        needs=("filter",),
    ),
    Stage(
        "write",
        "each_chunk",
        "Write the chunk with its sentences, names, facts and evidence, in one transaction.",
        needs=("mentions", "evidence"),
        settings=("extract.namespace",),
        templates=(
            *("labels/known", "entities/decisions", "facts/decisions", "facts/corrections"),
            *("ingest/document-stands", "ingest/clear-sentences", "ingest/clear-failures"),
            *("ingest/sentences-of", "ingest/retract-chunks"),
            *("ingest/contained-in-subgraphs", "ingest/retract-subgraphs", *_TAKING_OUT),
        ),
    ),
    Stage(
        "names",
        "end",
        "Elect labels, and link entities that are one by decisions.",
        templates=(
            *("labels/unsettled", "labels/unsupported", "labels/elect", "entities/decisions"),
            *("entities/named", "ingest/canonical-links", "derived/drop-co-occurrences"),
            *("derived/drop-synonyms", "checks/retracted-asserted", "facts/withhold"),
            "checks/runs-finished",
        ),
        refresh="names",
    ),
    Stage(
        "index",
        "end",
        "Index chunks, sentences and entities by words and, with an embedding model, by meaning.",
        needs=("names",),
        settings=("embedding.model",),
        templates=(
            *("index/all-chunks", "index/all-entities"),
            *("index/chunks", "index/sentences", "index/entities"),
        ),
        refresh="index",
    ),
    Stage(
        "links",
        "end",
        "Link the names of what chunks are about in other chunks, where reading missed them.",
        needs=("index",),
        templates=(
            *("links/unlinked", "links/chunks", "links/topics", "links/names-in", "links/mentioned"),
            *("index/chunks", "index/sentences"),
        ),
    ),
    Stage(
        "duplicates",
        "end",
        "Warn of new documents whose text the store has already.",
        optional=True,
        needs=("index",),
        templates=("documents/shared-chunks", "documents/texts", "documents/paths"),
    ),
    Stage(
        "written_together",
        "end",
        "Merge LiHua and Li Hua, and a speaker with the first name that a chat calls them by.",
        optional=True,
        needs=("names",),
        templates=(
            *("ingest/names-in-documents", "ingest/speakers", "retrieval/entities-by-label"),
            *("entities/decisions", "entities/types", "entities/all-names", "labels/known"),
        ),
    ),
    Stage(
        "aliases",
        "end",
        "Merge an entity with what a document calls by another name that a model gave.",
        optional=True,
        needs=("names",),
        templates=(
            *("ingest/names-in-documents", "retrieval/entities-by-label"),
            *("entities/decisions", "entities/types", "labels/known"),
        ),
    ),
    Stage(
        "relations",
        "end",
        "With relations.build: relate neighbouring chunks, chunks that share entities, and entities.",
        optional=True,
        needs=("names",),
        ways=("auto", "structure", "llm"),
        chooses="relations.use",
        with_model=("llm",),
        settings=(
            *("relations.build", "relations.window", "relations.truncate", "relations.min_confidence"),
            *("relations.sentence_window", "relations.min_count", "relations.hub_limit"),
        ),
        templates=(
            *("relations/journal", "relations/passages", "relations/sentences", "relations/failures"),
            *("relations/clear-failures", "relations/retract", "derived/built", "derived/chunks"),
            *("derived/entities", "derived/clear", "derived/drop-shared", "derived/drop-follows"),
            *("derived/drop-co-occurrences", "derived/frequencies", "derived/shared-entities"),
            *("derived/co-occurrences", "derived/typed", "system/derived-counts"),
        ),
        prompts=("relations.j2",),
        refresh="relations",
    ),
)
_BY_NAME: Mapping[str, Stage] = {stage.name: stage for stage in STAGES}


class StageEntry(BaseModel):
    """A stage as the file lists it. See `Stage`; templates and prompts may be left out.

    Attributes:
        parameters: settings of the stage that differ from their defaults, by their full key.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    stage: str
    use: str | None = None
    prompts: tuple[str, ...] | None = None
    templates: tuple[str, ...] | None = None
    parameters: dict[str, bool | int | float | str | list[str]] = {}


class IngestPipeline(BaseModel):
    """What the file says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["ingest"]
    summary: str
    begin: tuple[StageEntry, ...]
    each_document: tuple[StageEntry, ...]
    each_chunk: tuple[StageEntry, ...]
    end: tuple[StageEntry, ...]

    def parts(self) -> Iterator[tuple[Part, tuple[StageEntry, ...]]]:
        """The parts in their order, with their stages."""
        yield "begin", self.begin
        yield "each_document", self.each_document
        yield "each_chunk", self.each_chunk
        yield "end", self.end

    def entries(self) -> Iterator[StageEntry]:
        """All stages in their order."""
        for _, entries in self.parts():
            yield from entries

    def __contains__(self, stage: object) -> bool:
        return any(entry.stage == stage for entry in self.entries())


def ingest_pipeline(settings: Settings) -> IngestPipeline:
    """The pipeline in force: the user's own, where the folder of their pipelines has one, else ours.

    Raises:
        ConfigError: the file is malformed; names an unknown stage, way, template, prompt or setting; lacks a
            stage; or lists one before a stage that it needs.
    """
    own = _own(settings)
    return _read(own or folder("pipelines") / NAME / FILE)


def own_parameters(settings: Settings) -> dict[str, Any]:
    """The settings that the user's own ingest pipeline says, by key; empty without one.

    Raises:
        ConfigError: see `ingest_pipeline`.
    """
    own = _own(settings)
    return dict(_settings_of(_read(own), own)) if own else {}


def _own(settings: Settings) -> Path | None:
    path = settings.pipelines / NAME / FILE if settings.pipelines else None
    return path if path and path.is_file() else None


def _read(path: Path) -> IngestPipeline:
    try:
        return _parsed(path, path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {short_cause(error)}") from error


@lru_cache(maxsize=16)
def _parsed(path: Path, text: str) -> IngestPipeline:
    import yaml

    try:
        pipeline = IngestPipeline.model_validate(yaml.safe_load(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigError(f"{path}: {short_cause(error)}") from error
    _check_order(pipeline, path)
    for entry in pipeline.entries():
        stage = _BY_NAME[entry.stage]
        _check_names(path, stage, "way", (entry.use,) if entry.use else (), stage.ways)
        _check_names(path, stage, "template", entry.templates or (), stage.templates)
        _check_names(path, stage, "prompt", entry.prompts or (), stage.prompts)
        _check_names(path, stage, "setting", entry.parameters, stage.settings)
    list(_settings_of(pipeline, path))
    return pipeline


def _check_order(pipeline: IngestPipeline, path: Path) -> None:
    """Refuse unknown stages, stages in another part or twice, required ones that lack, and a wrong order."""
    listed: list[str] = []
    for part, entries in pipeline.parts():
        known = [stage.name for stage in STAGES if stage.part == part]
        for entry in entries:
            if entry.stage not in known:
                what = "belongs to another part" if entry.stage in _BY_NAME else "is unknown"
                raise ConfigError(
                    f"{path}: {part}: the stage {entry.stage!r} {what}", hint=f"known: {', '.join(known)}"
                )
            if entry.stage in listed:
                raise ConfigError(f"{path}: {part}: the stage {entry.stage!r} is listed twice")
            if early := [need for need in _BY_NAME[entry.stage].needs if need not in listed]:
                raise ConfigError(f"{path}: {part}: the stage {entry.stage!r} needs {early[0]!r} before it")
            listed.append(entry.stage)
    if lacking := [stage.name for stage in STAGES if not stage.optional and stage.name not in listed]:
        optional = ", ".join(stage.name for stage in STAGES if stage.optional)
        raise ConfigError(
            f"{path}: the stage {lacking[0]!r} is missing", hint=f"these can be left out: {optional}"
        )


def _check_names(
    path: Path, stage: Stage, kind: str, named: tuple[str, ...] | Mapping[str, Any], known: tuple[str, ...]
) -> None:
    if unknown := [name for name in named if name not in known]:
        raise ConfigError(
            f"{path}: the stage {stage.name!r} has no {kind} {unknown[0]!r}",
            hint=f"known: {', '.join(known) or 'none'}",
        )


def _settings_of(pipeline: IngestPipeline, path: Path) -> Iterator[tuple[str, Any]]:
    """The settings that a pipeline says."""
    for entry in pipeline.entries():
        given = dict(entry.parameters)
        stage = _BY_NAME[entry.stage]
        if stage.chooses and entry.use not in (None, stage.ways[0]):
            given[stage.chooses] = entry.use or ""
        for key, value in given.items():
            where = f"{path}: the stage {entry.stage!r}: {key}"
            try:
                checked = check_stored(key, value)
            except ConfigError as error:
                raise ConfigError(f"{where}: {error.message}", hint=error.hint) from error
            if effect := trust.effect(key, checked, None):  # the folder may come with a cloned repository
                raise ConfigError(f"{where} needs trust: {effect}", hint=f"set it in {CONFIG_FILE}")
            yield key, checked
