"""What a wing plugs in, declared as data, and the wings that are installed.

A wing is one feature in one place. Its module `wing.py` has a `Wing` named `WING`; the distribution that
brings it names that as an entry point of the group `graphrag_rdf.wings`. The declaration says where things
are as strings, `module:attribute`, so that nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import bracketed, listed, tr

GROUP = "graphrag_rdf.wings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wing:
    """One feature.

    Attributes:
        name: of its folder.
        about: what it brings, in a sentence.
        needs: names of wings that it imports.
        commands: command → (`module:attribute` of it, its line in the table of commands, marked by `later`,
            the section that it stands in: a key of `cli.app.SECTIONS`, `other` for other packages).
        subcommands: words of a command in a group of the core, "facts compare" → `module:attribute`.
        imports: word before the files of `import` → `module:attribute` of a function, see `cli.exchange`.
        exports: word before the folder of `export` → the same.
        settings: section of the settings file → `module:attribute` of its model, a `section.Section`, in a
            module that imports little: each command that reads settings imports it.
        elsewhere: `module:attribute` of settings of other systems → settings or parameters here.
        flags: `module:attribute` of a function that makes flag → whether it is on, for `doctor`, see
            `checks.diagnosis.feature_flags`.
        packs: `module:attribute` of a function that writes a trace to a file with all that proves it, for
            `trace export --pack`.
        preview: the pipeline of `/ranking/preview`; that of the first wing that has one counts.
        examples: name of what is extracted, "claims" → `module:attribute` of a function that finds the
            faults of an answer in an example, given how many items it has.
        steps: modules that register kinds of steps.
        stages: `module:attribute` of stages of the ingest, see `ingest.model_stage`.
        plain_stages: of stages that ask no model, see `ingest.stages.PlainStage`.
        lists: modules that register lists.
        syntaxes: `module:attribute` of functions that read ontologies: the bytes of a file to triples, or
            to None if it is in another syntax.
        counts: `module:attribute` of a function that names the query template that counts what a question
            asks, if there is one; the step `route` calls it.
        guides: `module:attribute` of functions that make an `extract.guide.ExtractionGuide` of settings,
            store and gateway; the first counts.
        readers: media type → (`module:attribute` of a function that reads the bytes of such a file, see
            `documents.readers.content.Reader`; suffixes). It may replace a reader of the core.
        rests: `module:attribute` of a function that gets the engine while no write is under way: when a
            store is opened to write (`opening=True`), and if more than traces has changed, before the next
            write of a server and when the store is closed.
        indexes: `module:attribute` of a function that gets a `components.Components` whose store is behind an
            endpoint and only read, and returns the indexes that another process made of it (`place`,
            `renew`); None if the settings name none.
        past: `module:attribute` of a function that finds an earlier state of a store (with its `folder`),
            given the store's folder and the value of `--at`.
        workers: `module:attribute` of a function that gets the settings, and opens the processes that read
            documents for an ingest; None if the settings name none. See `ingest.workers`.
        watches: `module:attribute` of a function that gets the messages of each question as they come, and
            passes them on.
        rules: `module:attribute` of a function that makes an `ingest.extractors.RuleReader` of settings.
        routes: `module:attribute` of sequences of `server.routing.Route`, and of WebSocket routes.
        data: a package with folders `queries` and `pipelines`; ours are beside those of the core.
    """

    name: str
    about: str
    needs: tuple[str, ...] = ()
    commands: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    subcommands: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str = ""
    flags: str = ""
    packs: str = ""
    preview: str = ""
    examples: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    plain_stages: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    syntaxes: tuple[str, ...] = ()
    counts: str = ""
    guides: tuple[str, ...] = ()
    readers: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    rests: str = ""
    indexes: str = ""
    past: str = ""
    workers: str = ""
    watches: str = ""
    rules: str = ""
    routes: tuple[str, ...] = ()
    data: str = ""


def load(place: str) -> Any:
    """What is at `module:attribute`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


@cache
def wings() -> tuple[Wing, ...]:
    """The wings that are installed, in the order of their names."""
    return tuple(wing for _, wing in sorted(_installed()) if wing is not None)


@cache
def absent() -> tuple[str, ...]:
    """Names of wings that a distribution lists and does not contain."""
    return tuple(name for name, wing in sorted(_installed()) if wing is None)


def finder_of_states() -> Any:
    """The function that finds earlier states of a store, see `Wing.past`; None if no wing brings one."""
    return next((load(wing.past) for wing in wings() if wing.past), None)


def in_words() -> str:
    """Which wings this installation lacks, as a note in brackets; nothing if it has all."""
    if not absent():
        return ""
    return bracketed(tr("this installation lacks the wings {names}").format(names=listed(absent())))


def data_folders(name: str) -> list[Path]:
    """The folders of that name, `queries` or `pipelines`, that wings bring."""
    places = [Path(*import_module(wing.data).__path__) / name for wing in wings() if wing.data]
    return [place for place in places if place.is_dir()]


def _installed() -> Iterator[tuple[str, Wing | None]]:
    for point in {point.name: point for point in metadata.entry_points(group=GROUP)}.values():
        try:
            yield point.name, point.load()
        except ModuleNotFoundError as error:
            if not point.module.startswith(f"{error.name}"):
                raise _broken(point, error) from error
            yield point.name, None
        except Exception as error:
            raise _broken(point, error) from error


def _broken(point: metadata.EntryPoint, error: Exception) -> GraphRagError:
    package = point.dist.name if point.dist else point.module
    return GraphRagError(
        tr("the wing {wing} of the package {package} cannot be loaded: {cause}").format(
            wing=point.name, package=package, cause=f"{type(error).__name__}: {error}"
        ),
        tr("repair or remove the package {package}").format(package=package),
    )


def all_of(kind: Callable[[Wing], Mapping[str, Any]]) -> dict[str, Any]:
    """What all wings bring of one kind, by name.

    Raises:
        ValueError: two wings bring the same name.
    """
    brought: dict[str, Any] = {}
    for wing in wings():
        for name, value in kind(wing).items():
            if name in brought:
                raise ValueError(f"two wings bring {name}; the second is {wing.name}")
            brought[name] = value
    return brought
