"""`tune prompts`: fit the prompts of the ingest to the documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, model_option
from graphrag_rdf.cli.output import format_option, note, pairs, safe, say, usage, warn_of
from graphrag_rdf.cli.session import load, open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.wings.tuning.prompts import Outcome, Request


@click.command(
    "prompts",
    cls=Command,
    examples=[
        "graphrag-rdf tune prompts --model openai/gpt-4.1",
        "graphrag-rdf tune prompts --model openai/gpt-4.1 --apply",
        'graphrag-rdf tune prompts --domain "harbour law" --entity-types ship,person,rule',
    ],
)
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
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--apply", is_flag=True, help="Use the tuned prompt from now on.")
@click.option("--force", is_flag=True, help="Let --apply overwrite the file.")
@format_option()
def prompts(model: str | None, apply: bool, force: bool, form: str, **options: Any) -> None:
    """Fit the prompts of the ingest to your documents.

    A model reads a sample of the chunks of the store. It finds their topic, and the types of entities and
    relations. The prompts of claims, merged descriptions and reports are told the domain and the persona too.

    With --apply the tuned prompt is written to ingest/extract.yaml of your pipelines, where you can edit it,
    and recorded in the store. A repeated run uses cached answers.
    """
    overrides = {"llm.model": model}
    target = _target(load(overrides).settings, force=force) if apply else None
    with open_engine(overrides) as engine:
        from graphrag_rdf.wings.tuning.prompts import keep, tune_prompts

        engine.live.read()  # raises for invalid settings in the store
        name = engine.settings.llm.model
        if name is None:
            raise UsageError(
                tr("tune prompts needs a language model, and none is set"),
                hint=tr(
                    "name one with --model, e.g. openai/gpt-4.1, or edit ingest/extract.yaml of your "
                    "pipelines (see docs/how-to/tune-prompts.md)"
                ),
            )
        outcome = tune_prompts(engine, _request(engine.settings, options), model=name)
        kept: dict[str, Any] = {"applied": False, "path": None, "tuning": None}
        if target is not None and outcome.changed:
            kept = {"applied": True, "path": str(target), "tuning": keep(engine, outcome, target)}
    if not output.write(form, {**outcome.as_json(), **kept}):
        _show(outcome, kept)


def _target(settings: Settings, *, force: bool) -> Path:
    """The file to write. Raises UsageError before any model is called."""
    from graphrag_rdf.wings.tuning.prompts import file_in

    if settings.pipelines is None:
        raise UsageError(
            tr("--apply needs a folder of your own pipelines, and none is set"),
            hint=tr(
                "run: graphrag-rdf init --pipelines. If there is a graphrag.toml, add "
                "'pipelines = \"pipelines\"' to it"
            ),
        )
    path = file_in(settings.pipelines)
    if path.exists() and not force:
        raise UsageError(
            tr("{path} already exists").format(path=path),
            hint=tr("overwrite it with --force, or leave out --apply to see the new one"),
        )
    there = next(place for place in path.parents if place.exists())
    cause = None
    if path.is_dir():
        cause = tr("it is a folder")
    elif not there.is_dir():
        cause = tr("{folder} is not a folder").format(folder=there)
    elif not os.access(there, os.W_OK | os.X_OK):
        cause = tr("there is no permission to write to {there}").format(there=there)
    if cause:
        raise UsageError(tr("cannot write {path}: {cause}").format(path=path, cause=cause))
    return path


def _request(settings: Settings, options: Mapping[str, Any]) -> Request:
    """The request of the options.

    Raises:
        UsageError: when a value is invalid.
    """
    from pydantic import ValidationError

    from graphrag_rdf.errors import in_words
    from graphrag_rdf.extract.prompts import PromptData
    from graphrag_rdf.wings.tuning.prompts import Request

    names = {"domain": "--domain", "persona": "--persona", "language": "--language"}
    types, listed = settings.extract.entity_types, options["entity_types"]
    names["entity_types"] = "--entity-types" if listed is not None else tr("the setting extract.entity_types")
    if listed is not None:
        types = listed.split(",")
    texts = {name: options[name] for name in ("domain", "persona", "language")}
    try:
        data = PromptData.model_validate({**texts, "entity_types": types})
    except ValidationError as error:
        fault = error.errors()[0]
        raise UsageError(f"{names[str(fault['loc'][0])]}: {fault['input']!r}: {in_words(fault)}") from error
    return Request(
        domain=data.domain,
        persona=data.persona,
        language=data.language,
        entity_types=tuple(kind.name for kind in data.entity_types),
        limit=options["limit"],
        seed=options["seed"],
    )


def _show(outcome: Outcome, kept: Mapping[str, Any]) -> None:
    """Print the result of a run, and what --apply wrote."""
    from graphrag_rdf.wings.tuning.prompts import prompt_tokens

    data, sample = outcome.data, outcome.sample
    sampled = tr("{seen:,} sampled, of {all:,}").format(seen=len(sample.seen), all=sample.all)
    length = tr("about {after:,} tokens without the chunk (current: {before:,})").format(
        after=prompt_tokens(outcome.after), before=prompt_tokens(outcome.before)
    )
    pairs(
        [
            (tr("chunks"), sampled),
            (tr("domain"), data.domain),
            (tr("persona"), data.persona),
            (tr("language"), data.language or tr("that of each chunk")),
            (tr("entity types"), _names(kind.name for kind in data.entity_types)),
            (tr("relations"), _names(kind.name for kind in data.relation_types)),
            (tr("prompt"), length),
            (tr("model"), usage(outcome.llm)),
        ]
    )
    for warning in outcome.warnings:
        warn_of(warning)
    say()
    if not outcome.changed:
        say(tr("the tuned prompt is the same as the current one"))
    elif kept["applied"]:
        say(safe(tr("wrote {path}").format(path=kept["path"])))
        note(tr("the next ingest extracts all facts again; see the cost: graphrag-rdf ingest --dry-run"))
    else:
        note(tr("--apply uses it from now on; whether the facts are right was not measured"))


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or tr("none listed")
