"""`tune prompts`: fit the prompts of the ingest to the documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, model_option
from graphrag_rdf.cli.output import (
    format_option,
    note,
    pairs,
    planned,
    safe,
    say,
    usage,
    warn,
    warn_of,
)
from graphrag_rdf.cli.process import DONE, IN_PART
from graphrag_rdf.cli.session import in_folder, load, open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.extract.prompts import PromptData
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.tuning.prompts import Outcome, Request


@click.command(
    "prompts",
    cls=Command,
    examples=[
        "graphrag-rdf tune prompts --model openai/gpt-4.1 --dry-run documents/",
        "graphrag-rdf tune prompts --model openai/gpt-4.1 --diff documents/",
        "graphrag-rdf tune prompts --model openai/gpt-4.1 --apply documents/",
        'graphrag-rdf tune prompts --domain "harbour law" --entity-types ship,person,rule',
    ],
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@model_option
@click.option(
    "--limit", type=click.IntRange(1), default=15, show_default=True, help="Number of chunks to sample."
)
@click.option("--domain", metavar="TEXT", help="Topic of the documents (default: the model decides).")
@click.option(
    "--persona", metavar="TEXT", help="Role that the prompt gives the model (default: the model decides)."
)
@click.option(
    "--language", metavar="NAME", help="Language of types and relations (default: that of each chunk)."
)
@click.option(
    "--entity-types",
    metavar="LIST",
    help="Entity types, comma-separated (default: the setting extract.entity_types, or the model decides).",
)
@click.option(
    "--discover-entity-types/--no-discover-entity-types",
    "discover",
    default=True,
    show_default=True,
    help="Let the model find entity types, or list none.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--dry-run", is_flag=True, help="Estimate the model calls and their cost, and write nothing.")
@click.option("--diff", is_flag=True, help="Show the changes of the prompt.")
@click.option("--apply", is_flag=True, help="Use the tuned prompt from now on.")
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of pipelines for --apply (default: the setting pipelines).",
)
@click.option("--force", is_flag=True, help="Let --apply overwrite the file.")
@format_option()
def prompts(
    paths: tuple[str, ...],
    model: str | None,
    dry_run: bool,
    diff: bool,
    apply: bool,
    folder: Path | None,
    force: bool,
    form: str,
    **asked: Any,
) -> int:
    """Fit the prompts of the ingest to your documents.

    A model reads a sample of the chunks of the store, or of the documents at PATH. It finds their topic, and
    the types of entities and relations. The prompts of claims, merged descriptions and reports are told the
    domain and the persona too.

    With --apply the tuned prompt is written to ingest/extract.yaml of your pipelines, where you can edit it,
    and recorded in the store. A repeated run uses cached answers.
    """
    overrides = {"llm.model": model}
    settings = load(overrides).settings
    if not apply and (folder is not None or force):
        raise UsageError(
            tr("{option} has no effect without --apply").format(option="--force" if force else "--output"),
            hint=tr("add --apply, or leave out the option"),
        )
    target = _target(settings, folder, force=force) if apply else None
    with _opened(paths, settings, overrides, asked["seed"], dry_run=dry_run) as (engine, store, failures):
        from graphrag_rdf.tuning.prompts import estimate, keep, tune_prompts

        engine.live.read()  # raises for invalid settings in the store
        name = engine.settings.llm.model
        if name is None:
            raise _no_model()
        request = _request(engine.settings, asked)
        if dry_run:
            _tell_estimate({**estimate(engine, store, request, model=name), "failures": failures}, form)
            return IN_PART if failures else DONE
        outcome = tune_prompts(engine, store, request, model=name)
        kept: dict[str, Any] = {"applied": False, "path": None, "tuning": None}
        if target is not None and outcome.changed:
            kept = {"applied": True, "path": str(target), "tuning": keep(engine, outcome, target)}
    told = {**outcome.as_json(), **kept, "failures": failures}
    if diff:
        told["diff"] = outcome.diff()
    if not output.write(form, told):
        show(outcome, told, in_force=folder is None or _same(folder, settings.pipelines))
    return IN_PART if failures else DONE


def _same(one: Path, other: Path | None) -> bool:
    return other is not None and one.resolve() == other.resolve()


def _tell_estimate(found: Mapping[str, Any], form: str) -> None:
    if not output.write(form, found):
        show_estimate(found)


def _target(settings: Settings, folder: Path | None, *, force: bool) -> Path:
    """The file to write. Raises UsageError before any model is called."""
    pipelines = folder or settings.pipelines
    if pipelines is None:
        raise UsageError(
            tr("--apply needs a folder of your own pipelines, and none is set"),
            hint=tr(
                "run: graphrag-rdf init --pipelines. If there is a graphrag.toml, add "
                "'pipelines = \"pipelines\"' to it, or name a folder with --output"
            ),
        )
    from graphrag_rdf.tuning.prompts import file_in, require_writable

    path = file_in(pipelines)
    if path.exists() and not force:
        raise UsageError(
            tr("{path} already exists").format(path=path),
            hint=tr("overwrite it with --force, or leave out --apply to see the new one"),
        )
    require_writable(path)
    return path


@contextmanager
def _opened(
    paths: Sequence[str], settings: Settings, overrides: Mapping[str, Any], seed: int, *, dry_run: bool
) -> Iterator[tuple[Engine, Store, list[dict[str, str]]]]:
    """The engine, the store with the chunks, and the documents that could not be read."""
    from graphrag_rdf.store.folder import StoreFolder

    if not paths:
        with open_engine(overrides, read_only=dry_run, beside=dry_run) as engine:
            yield engine, engine.store, []
        return
    from graphrag_rdf.cli.ingest import require_documents
    from graphrag_rdf.tuning.sample import FILES, read_into_memory

    found = require_documents(paths, settings)
    if len(found.sources) > FILES:
        note(
            tr("reading a random sample of {files} of {count:,} documents").format(
                files=FILES, count=len(found.sources)
            )
        )
    missing = (
        in_folder(settings)
        and not StoreFolder.of_collection(Path(settings.store), settings.collection).exists
    )
    if missing and settings.llm.model is None:
        raise _no_model()
    if missing and dry_run:
        overrides = {**overrides, "store": ":memory:", "collection": "default"}
    with (
        open_engine(overrides, create=not dry_run, read_only=dry_run and not missing) as engine,
        read_into_memory(found, engine.settings, seed) as (given, report),
    ):
        failures = [{"path": one.path, "reason": one.reason} for one in report.failures]
        for one in failures:
            warn(f"{one['path']}: {one['reason']}")
        yield engine, given.store, failures


def _no_model() -> UsageError:
    return UsageError(
        tr("tune prompts needs a language model, and none is set"),
        hint=tr(
            "name one with --model, e.g. openai/gpt-4.1, or edit ingest/extract.yaml of your pipelines "
            "(see docs/how-to/tune-prompts.md)"
        ),
    )


def _request(settings: Settings, asked: Mapping[str, Any]) -> Request:
    from graphrag_rdf.tuning.prompts import Request

    if asked["entity_types"] is None:
        typed, types = tr("the setting extract.entity_types"), settings.extract.entity_types
    else:
        typed, types = "--entity-types", asked["entity_types"].split(",")
    given = _checked(
        {"domain": "--domain", "persona": "--persona", "language": "--language", "entity_types": typed},
        **{name: asked[name] for name in ("domain", "persona", "language")},
        entity_types=types,
    )
    return Request(
        domain=given.domain,
        persona=given.persona,
        language=given.language,
        entity_types=tuple(kind.name for kind in given.entity_types),
        discover=asked["discover"],
        limit=asked["limit"],
        seed=asked["seed"],
    )


def _checked(called: Mapping[str, str], **values: Any) -> PromptData:
    """The validated values of options, as data of the prompt.

    Args:
        called: value → its option or setting, for messages.

    Raises:
        UsageError: when a value is invalid.
    """
    from pydantic import ValidationError

    from graphrag_rdf.errors import in_words
    from graphrag_rdf.extract.prompts import PromptData

    try:
        return PromptData(**values)
    except ValidationError as error:
        fault = error.errors()[0]
        raise UsageError(f"{called[str(fault['loc'][0])]}: {fault['input']!r}: {in_words(fault)}") from error


# --- output ----------------------------------------------------------------------------------------


def show_estimate(found: Mapping[str, Any]) -> None:
    """Print the estimate of `--dry-run`."""
    llm, passages = found["llm"], found["passages"]
    sampled = tr("{seen:,} sampled, of {all:,}").format(**passages)
    model = planned(llm["calls"], llm["in_tokens"], llm["out_tokens"], llm["cost_usd"])
    say(tr("Nothing was asked or written. This would be done, at most:"))
    pairs([(tr("chunks"), sampled), (tr("model"), model)], indent="  ")


def show(outcome: Outcome, told: Mapping[str, Any], *, in_force: bool) -> None:
    """Print the result of a run.

    Args:
        told: the result as JSON.
        in_force: whether the written file is in the folder of the setting pipelines.
    """
    data, sample, tokens = outcome.data, outcome.sample, told["prompt"]["tokens"]
    sampled = tr("{seen:,} sampled, of {all:,}").format(seen=len(sample.seen), all=sample.all)
    length = tr("about {after:,} tokens without the chunk (current: {before:,})")
    pairs(
        [
            (tr("chunks"), sampled),
            (tr("domain"), data.domain),
            (tr("persona"), data.persona),
            (tr("language"), data.language or tr("that of each chunk")),
            (tr("entity types"), _names(kind.name for kind in data.entity_types)),
            (tr("relations"), _names(kind.name for kind in data.relation_types)),
            (tr("prompt"), length.format(after=tokens["after"], before=tokens["before"])),
            (tr("model"), usage(outcome.llm)),
        ]
    )
    for warning in outcome.warnings:
        warn_of(warning)
    if "diff" in told:
        say()
        say(safe(told["diff"]) or tr("no changes of the prompt"))
    say()
    if not outcome.changed:
        say(tr("the tuned prompt is the same as the current one"))
    elif not told["applied"]:
        note(tr("--apply uses it from now on; whether the facts are right was not measured"))
    else:
        say(safe(tr("wrote {path}").format(path=told["path"])))
        if in_force:
            note(tr("the next ingest extracts all facts again; see the cost: graphrag-rdf ingest --dry-run"))
        else:
            note(tr("to use it, set pipelines to that folder"))


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or tr("none listed")
