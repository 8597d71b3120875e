"""The stages of the ingest, and `pipelines/ingest/pipeline.yaml`, which says which of them run.

The file lists the stages in four parts: once at the beginning of a run, for each document, for each chunk,
and once at the end; and what each does, with its templates and prompts. `stages` says what a stage needs
and obeys, and whether it can be left out. Those at the end run in the order of the file. A user's own copy of
the folder takes the place of ours (setting `pipelines`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_rdf.config import CONFIG_FILE, Settings, check_stored, field_of, trust
from graphrag_rdf.errors import ConfigError, UsageError, short_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.resources import folder
from graphrag_rdf.wing import load, wings

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents
    from graphrag_rdf.ingest.files import Begun
    from graphrag_rdf.ingest.model_stage import ModelStage

NAME = "ingest"
FILE = "pipeline.yaml"
Part: TypeAlias = Literal["begin", "each_document", "each_chunk", "end"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the ingest. What it does, with which templates and prompts, is in our pipeline.yaml.

    Attributes:
        needs: the stages that have to stand before it.
        optional: whether a pipeline may leave it out. What it wrote in earlier runs stays then.
        chooses: the setting that names the way; a given setting wins over `use`.
        settings: those that it obeys, besides `chooses`.
        refresh: the command below `refresh` that runs it again.
    """

    name: str
    part: Part
    needs: tuple[str, ...] = ()
    optional: bool = False
    chooses: str | None = None
    settings: tuple[str, ...] = ()
    refresh: str | None = None

    @property
    def ways(self) -> tuple[str, ...]:
        """What `use` may name; the first is the default."""
        if self.chooses is None:
            return ()
        return get_args(field_of(self.chooses).annotation)


_OWN: tuple[Stage, ...] = (
    Stage("discover", "begin"),
    Stage("plan", "begin", needs=("discover",), settings=("extract.incremental",)),
    Stage("read", "each_document", settings=("documents.max_bytes",)),
    Stage(
        "chunk",
        "each_document",
        needs=("read",),
        settings=("documents.chunk_size", "documents.chunk_overlap", "documents.chunk_unit"),
    ),
    Stage("document", "each_document", needs=("chunk",)),
    Stage(
        "metadata",
        "each_document",
        needs=("document",),
        optional=True,
        settings=("extract.namespace", "extract.entity_min_length"),
    ),
    Stage("sentences", "each_chunk", needs=("chunk",)),
    Stage(
        "extract",
        "each_chunk",
        needs=("sentences",),
        chooses="extract.use",
        settings=(
            *("extract.entity_types", "extract.predicates", "extract.ontology"),
            *("extract.ontology_mode", "extract.ontology_terms", "extract.ontology_repairs"),
            *("extract.call_chunks", "extract.call_tokens"),
            *("extract.gleaning_rounds", "extract.jobs", "llm.model", "llm.style"),
        ),
        refresh="facts",
    ),
    Stage(
        "filter",
        "each_chunk",
        needs=("extract",),
        settings=("extract.entity_min_length",),
    ),
    Stage("mentions", "each_chunk", needs=("extract",), refresh="mentions"),
    Stage("evidence", "each_chunk", needs=("filter",)),
    Stage("write", "each_chunk", needs=("mentions", "evidence"), settings=("extract.namespace",)),
    Stage("authority", "end", settings=("documents.authority",)),
    Stage("names", "end", refresh="names"),
    Stage("schema", "end", needs=("names",), settings=("extract.namespace",), refresh="schema"),
    Stage("index", "end", needs=("names",), settings=("embedding.model", "relations.min_count")),
    Stage("links", "end", needs=("index",)),
    Stage("boilerplate", "end", optional=True, needs=("names",)),
    Stage("duplicates", "end", optional=True, needs=("index",)),
    Stage("validate", "end", optional=True, needs=("names",)),
)


@dataclass(frozen=True, slots=True)
class PlainStage:
    """A stage of a wing, that asks no model.

    Attributes:
        before: what it does before the documents, if it is of the part `begin`.
        after: what it does after them, if it is of the part `end`; our own code runs all other stages.
    """

    stage: Stage
    before: Callable[[NeededComponents], object] | None = None
    after: Callable[[Begun], object] | None = None


@cache
def plain_stages() -> Mapping[str, PlainStage]:
    """The stages of wings that ask no model, by name."""
    found: list[PlainStage] = [load(place) for wing in wings() for place in wing.plain_stages]
    return {one.stage.name: one for one in found}


@cache
def model_stages() -> tuple[type[ModelStage[Any, Any, Any]], ...]:
    """The stages of wings, in the order of our file; those that it does not list follow."""
    found = [load(place) for wing in wings() for place in wing.stages]
    return tuple(sorted(found, key=lambda kind: _place(kind.stage)))


def _place(stage: Stage) -> int:
    """Where our file has a stage; those of other packages come last."""
    return _places().get(stage.name, len(_places()))


@cache
def _places() -> Mapping[str, int]:
    import yaml

    listed = yaml.safe_load(_ours().read_text("utf-8"))
    names = (entry["stage"] for part in get_args(Part) for entry in listed[part])
    return {name: place for place, name in enumerate(names)}


def model_stage(name: str) -> type[ModelStage[Any, Any, Any]]:
    """The stage of that name. Raises UsageError."""
    for kind in model_stages():
        if kind.stage.name == name:
            return kind
    listed = ", ".join(kind.stage.name for kind in model_stages())
    raise UsageError(
        tr("there is no stage {name!r} with a model").format(name=name),
        hint=tr("known: {known}").format(known=listed),
    )


@cache
def stages() -> Mapping[str, Stage]:
    """All stages by name."""
    plain = (one.stage for one in plain_stages().values())
    listed = sorted((*_OWN, *plain, *(kind.stage for kind in model_stages())), key=_place)
    return {stage.name: stage for stage in listed}


@cache
def normalising() -> frozenset[str]:
    """The stages that merge entities by their names."""
    return frozenset(stage.name for stage in stages().values() if "extract.normalise" in stage.settings)


class StageEntry(BaseModel):
    """A stage as the file lists it. Templates and prompts may be left out of a copy.

    Attributes:
        use: one of the stage's ways.
        prompts: files in the folder.
        templates: the queries and updates that it runs.
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

    Without `extract.normalise`, it lacks the stages that merge entities.

    Raises:
        ConfigError: the file is malformed; names an unknown stage, way, template, prompt or setting; lacks a
            stage; or lists one before a stage that it needs.
    """
    own = _own(settings)
    pipeline = _read(own or _ours())
    if own is None:  # stages of other packages
        more = [stage for stage in stages().values() if stage.name not in pipeline]
        longer: dict[str, Any] = {
            part: (*entries, *(StageEntry(stage=stage.name) for stage in more if stage.part == part))
            for part, entries in pipeline.parts()
        }
        pipeline = pipeline.model_copy(update=longer)
    if settings.extract.normalise:
        return pipeline
    return _only(pipeline, stages().keys() - normalising())


def _only(pipeline: IngestPipeline, names: Collection[str]) -> IngestPipeline:
    """The pipeline with these stages only."""
    parts: dict[str, Any] = {
        part: tuple(entry for entry in entries if entry.stage in names) for part, entries in pipeline.parts()
    }
    return pipeline.model_copy(update=parts)


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


def _ours() -> Path:
    return folder("pipelines") / NAME / FILE


def _read(path: Path) -> IngestPipeline:
    try:
        return _parsed(path, path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            tr("{path} cannot be read: {cause}").format(path=path, cause=short_cause(error))
        ) from error


@lru_cache(maxsize=16)
def _parsed(path: Path, text: str) -> IngestPipeline:
    import yaml

    try:
        pipeline = IngestPipeline.model_validate(yaml.safe_load(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigError(f"{path}: {short_cause(error)}") from error
    if path == _ours():
        pipeline = _only(pipeline, stages())  # a wing of ours may not be installed
    _check_order(pipeline, path)
    ours = {entry.stage: entry for entry in (pipeline if path == _ours() else _read(_ours())).entries()}
    for entry in pipeline.entries():
        stage = stages()[entry.stage]
        our = ours.get(entry.stage, StageEntry(stage=entry.stage))
        _check_names(path, stage, "way", (entry.use,) if entry.use else (), stage.ways)
        _check_names(path, stage, "template", entry.templates or (), our.templates or ())
        _check_names(path, stage, "prompt", entry.prompts or (), our.prompts or ())
        _check_names(path, stage, "setting", entry.parameters, stage.settings)
    list(_settings_of(pipeline, path))
    return pipeline


def _check_order(pipeline: IngestPipeline, path: Path) -> None:
    """Refuse unknown stages, stages in another part or twice, required ones that lack, and a wrong order."""
    listed: list[str] = []
    for part, entries in pipeline.parts():
        known = [stage.name for stage in stages().values() if stage.part == part]
        for entry in entries:
            if entry.stage not in known:
                told = (
                    tr("{path}: {part}: the stage {stage!r} belongs to another part")
                    if entry.stage in stages()
                    else tr("{path}: {part}: the stage {stage!r} is unknown")
                )
                raise ConfigError(
                    told.format(path=path, part=part, stage=entry.stage),
                    hint=tr("known: {known}").format(known=", ".join(known)),
                )
            if entry.stage in listed:
                raise ConfigError(
                    tr("{path}: {part}: the stage {stage!r} is listed twice").format(
                        path=path, part=part, stage=entry.stage
                    )
                )
            if early := [need for need in stages()[entry.stage].needs if need not in listed]:
                raise ConfigError(
                    tr("{path}: {part}: the stage {stage!r} needs {early!r} before it").format(
                        path=path, part=part, stage=entry.stage, early=early[0]
                    )
                )
            listed.append(entry.stage)
    required = [stage.name for stage in stages().values() if not stage.optional]
    if lacking := [name for name in required if name not in listed]:
        optional = ", ".join(stage.name for stage in stages().values() if stage.optional)
        raise ConfigError(
            tr("{path}: the stage {lacking!r} is missing").format(path=path, lacking=lacking[0]),
            hint=tr("these can be left out: {optional}").format(optional=optional),
        )


def _check_names(
    path: Path, stage: Stage, kind: str, named: tuple[str, ...] | Mapping[str, Any], known: tuple[str, ...]
) -> None:
    if unknown := [name for name in named if name not in known]:
        raise ConfigError(
            tr("{path}: the stage {stage!r} has no {kind} {unknown!r}").format(
                path=path, stage=stage.name, kind=kind, unknown=unknown[0]
            ),
            hint=tr("known: {names}").format(names=", ".join(known) or tr("none")),
        )


def _settings_of(pipeline: IngestPipeline, path: Path) -> Iterator[tuple[str, Any]]:
    """The settings that a pipeline says."""
    for entry in pipeline.entries():
        given = dict(entry.parameters)
        stage = stages()[entry.stage]
        if stage.chooses and entry.use not in (None, stage.ways[0]):
            given[stage.chooses] = entry.use or ""
        for key, value in given.items():
            where = f"{path}: the stage {entry.stage!r}: {key}"
            try:
                checked = check_stored(key, value)
            except ConfigError as error:
                raise ConfigError(f"{where}: {error.message}", hint=error.hint) from error
            if effect := trust.effect(key, checked, None):  # the folder may come with a cloned repository
                raise ConfigError(
                    tr("{where} needs trust: {effect}").format(where=where, effect=effect),
                    hint=tr("set it in {config_file}").format(config_file=CONFIG_FILE),
                )
            yield key, checked
