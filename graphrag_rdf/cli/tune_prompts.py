"""`tune prompts`: have a model fit the extraction prompt to the documents, and see what that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.failures import DONE, IN_PART
from graphrag_rdf.cli.options import model_option
from graphrag_rdf.cli.output import format_option, note, warn
from graphrag_rdf.cli.session import in_folder, load, open_engine
from graphrag_rdf.cli.tuned_prompt import show, show_estimate
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.extract.prompts import PromptData
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.tuning.prompt_run import Outcome, Request


@click.command(
    "prompts",
    cls=Command,
    examples=[
        "graphrag-rdf tune prompts --model openai/gpt-4.1 --dry-run documents/",
        "graphrag-rdf tune prompts --model openai/gpt-4.1 --diff documents/",
        "graphrag-rdf tune prompts --model openai/gpt-4.1 --apply documents/",
        'graphrag-rdf tune prompts --domain "harbour law" --entity-types ship,person,rule --selection auto',
    ],
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@model_option
@click.option(
    "--selection",
    type=click.Choice(("random", "top", "auto", "all")),
    default="random",
    show_default=True,
    help="Which passages: by chance, the first, those that together name the most, or all.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=15, show_default=True, help="Passages to look at; not of all."
)
@click.option(
    "--held-out",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Other passages, to compare the prompts with; 0 compares nothing.",
)
@click.option("--domain", metavar="TEXT", help="What the documents are about (default: the model says).")
@click.option("--persona", metavar="TEXT", help="Who the model is to be (default: the model says).")
@click.option("--language", metavar="NAME", help="Of types and relations (default: that of each passage).")
@click.option(
    "--entity-types",
    metavar="LIST",
    help="Types, with commas (default: the setting extract.entity_types, else the model chooses).",
)
@click.option(
    "--discover-entity-types/--no-discover-entity-types",
    "discover",
    default=True,
    show_default=True,
    help="Without: no types are listed, for documents about anything.",
)
@click.option(
    "--examples",
    type=click.IntRange(0, 10),
    default=3,
    show_default=True,
    help="Worked examples from the documents, in place of the built-in one.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(500),
    default=4000,
    show_default=True,
    help="Of the prompt beside the passage, about: every call of an ingest pays for them.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is left to chance.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Calls at once.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost.")
@click.option("--diff", is_flag=True, help="Show what changes in the prompt.")
@click.option("--apply", is_flag=True, help="Put the tuned prompt into force, unless it does worse.")
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of pipelines that --apply writes into (default: the setting pipelines).",
)
@click.option(
    "--force", is_flag=True, help="Have --apply overwrite what is there, and apply also what does worse."
)
@format_option()
def prompts(
    paths: tuple[str, ...],
    model: str | None,
    jobs: int | None,
    dry_run: bool,
    diff: bool,
    apply: bool,
    folder: Path | None,
    force: bool,
    form: str,
    **asked: Any,
) -> int:
    """Fit the extraction prompt to your documents, and see whether it is any better, before you use it.

    A model looks at some passages of the store, or of documents named by PATH, and says what they are about
    and which types of things and relations they speak of; it works examples in excerpts of them, and each is
    held to its passage. Then the prompt in force and the tuned one read passages that were held out, and what
    each found is told.

    With --apply this is written to ingest/extract.yaml of your pipelines, to be edited, and recorded in the
    store. A run that was stopped goes on where it stopped, and one that is repeated takes the kept answers.
    """
    overrides = {"llm.model": model, "extract.jobs": jobs}
    settings = load(overrides).settings
    if not apply and (folder is not None or force):
        raise UsageError(
            f"nothing is written without --apply, so {'--force' if force else '--output'} has no effect",
            hint="add --apply, or leave it out",
        )
    target = _target(settings, folder, force=force) if apply else None
    with _opened(paths, settings, overrides, asked["seed"], dry_run=dry_run) as (engine, store, failures):
        engine.live.read()  # raises, if the store keeps settings that cannot be
        name = engine.settings.llm.model
        if name is None:
            raise _no_model()
        request = _request(engine.settings, asked)
        if dry_run:
            from graphrag_rdf.tuning.prompt_run import estimate

            _tell_estimate({**estimate(engine, store, request, model=name), "failures": failures}, form)
            return IN_PART if failures else DONE
        outcome = _run(engine, store, request, name)
        kept: dict[str, Any] = {"applied": False, "path": None, "tuning": None}
        worse = outcome.check is not None and outcome.check.worse
        if target is not None and outcome.changed and (force or not worse):
            from graphrag_rdf.tuning.prompt_keeping import keep

            kept = {"applied": True, "path": str(target), "tuning": keep(engine, outcome, target)}
    told = {**outcome.as_json(), **kept, "failures": failures}
    if diff:
        told["diff"] = outcome.diff()
    if form == "json":
        output.write_json(told)
    else:
        show(outcome, told, apply=apply, in_force=folder is None or _same(folder, settings.pipelines))
    return IN_PART if failures or outcome.in_part else DONE


def _run(engine: Engine, store: Store, request: Request, model: str) -> Outcome:
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.cli.signals import stop_requests
    from graphrag_rdf.tuning.prompt_run import tune_prompts

    with stop_requests() as stop, IngestProgress(engine.budget, "calls") as progress:
        try:
            return tune_prompts(engine, store, request, model=model, progress=progress, stop=stop)
        except KeyboardInterrupt:
            note("what was answered is kept: run the same command again to go on")
            raise


def _same(one: Path, other: Path | None) -> bool:
    return other is not None and one.resolve() == other.resolve()


def _tell_estimate(found: Mapping[str, Any], form: str) -> None:
    if form == "json":
        output.write_json(found)
    else:
        show_estimate(found)


def _target(settings: Settings, folder: Path | None, *, force: bool) -> Path:
    """The file to write; refuses before anything is paid for."""
    pipelines = folder or settings.pipelines
    if pipelines is None:
        raise UsageError(
            "no folder of your own pipelines is set, so what is written would not be read",
            hint="graphrag-rdf init --pipelines makes one; where there is a graphrag.toml, add "
            "'pipelines = \"pipelines\"' to it, or name a folder with --output",
        )
    from graphrag_rdf.tuning.prompt_keeping import file_in, require_writable

    path = file_in(pipelines)
    if path.exists() and not force:
        raise UsageError(
            f"{path} is there already", hint="--force overwrites it; without --apply the new one is shown"
        )
    require_writable(path)
    return path


@contextmanager
def _opened(
    paths: Sequence[str], settings: Settings, overrides: Mapping[str, Any], seed: int, *, dry_run: bool
) -> Iterator[tuple[Engine, Store, list[dict[str, str]]]]:
    """The engine, the store with the passages, and what of the documents could not be read."""
    from graphrag_rdf.store.folder import StoreFolder

    if not paths:
        with open_engine(overrides, read_only=dry_run) as engine:
            yield engine, engine.store, []
        return
    from graphrag_rdf.cli.ingest import require_documents
    from graphrag_rdf.tuning.in_memory import FILES, read_into_memory

    found = require_documents(paths, settings)
    if len(found.sources) > FILES:
        note(f"of {len(found.sources):,} documents {FILES} are read, which the seed chooses")
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
        "tuning prompts needs a language model, and none is set",
        hint="name one with --model, e.g. openai/gpt-4.1; or write ingest/extract.yaml of your pipelines by "
        "hand (docs/how-to/tune-prompts.md)",
    )


def _request(settings: Settings, asked: Mapping[str, Any]) -> Request:
    from graphrag_rdf.tuning.prompt_run import Request
    from graphrag_rdf.tuning.prompts import Wishes

    if asked["entity_types"] is None:
        typed, types = "the setting extract.entity_types", settings.extract.entity_types
    else:
        typed, types = "--entity-types", asked["entity_types"].split(",")
    given = _checked(
        {"domain": "--domain", "persona": "--persona", "language": "--language", "entity_types": typed},
        **{name: asked[name] for name in ("domain", "persona", "language")},
        entity_types=types,
    )
    wishes = Wishes(
        domain=given.domain,
        persona=given.persona,
        language=given.language,
        entity_types=tuple(kind.name for kind in given.entity_types),
        discover=asked["discover"],
        examples=asked["examples"],
        max_tokens=asked["max_tokens"],
    )
    return Request(
        wishes=wishes,
        selection=asked["selection"],
        limit=asked["limit"],
        held_out=asked["held_out"],
        seed=asked["seed"],
    )


def _checked(called: Mapping[str, str], **values: Any) -> PromptData:
    """What was given, as it can stand in the prompt.

    Args:
        called: what people know each value by.

    Raises:
        UsageError: when it cannot.
    """
    from pydantic import ValidationError

    from graphrag_rdf.extract.prompts import PromptData, in_words

    try:
        return PromptData(**values)
    except ValidationError as error:
        fault = error.errors()[0]
        raise UsageError(f"{called[str(fault['loc'][0])]}: {fault['input']!r}: {in_words(fault)}") from error
