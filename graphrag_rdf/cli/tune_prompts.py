"""`tune prompts`: fit the prompts of the ingest to the documents, and compare the extractions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, model_option
from graphrag_rdf.cli.output import (
    counts,
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
from graphrag_rdf.cli.process import DONE, IN_PART, stop_requests
from graphrag_rdf.cli.session import in_folder, load, open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import ngettext, tr

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.extract.prompts import PromptData
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.tuning.prompt_check import Check
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
    type=click.Choice(("random", "auto")),
    default="random",
    show_default=True,
    help="Chunks to sample: at random, or those that together name the most.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=15, show_default=True, help="Number of chunks to sample."
)
@click.option(
    "--held-out",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Number of held-out chunks to compare the prompts on; 0: no comparison.",
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
@click.option(
    "--examples",
    type=click.IntRange(0, 10),
    default=3,
    show_default=True,
    help="Number of examples from the documents; they replace the built-in one.",
)
@click.option(
    "--claims/--no-claims",
    default=None,
    help="Also fit the prompt of claims (default: the setting claims.build).",
)
@click.option(
    "--reports/--no-reports",
    default=None,
    help="Also fit the prompt of reports of communities (default: the setting communities.auto).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Number of concurrent model calls.")
@click.option("--dry-run", is_flag=True, help="Estimate the model calls and their cost, and write nothing.")
@click.option("--diff", is_flag=True, help="Show the changes of the prompt.")
@click.option("--apply", is_flag=True, help="Use the tuned prompt from now on, unless it does worse.")
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of pipelines for --apply (default: the setting pipelines).",
)
@click.option(
    "--force", is_flag=True, help="Let --apply overwrite the file, and apply a prompt that does worse."
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
    """Fit the prompts of the ingest to your documents, and compare the extraction with the current prompt.

    A model reads a sample of the chunks of the store, or of the documents at PATH. It finds their topic, the
    types of entities and relations, and examples, each of which is verified against its chunk. Then both
    prompts extract facts from held-out chunks, and the program prints the results.

    The prompts of claims, merged descriptions and reports are told the domain and the persona too; --claims
    and --reports also find what these should look for.

    With --apply the tuned prompt is written to ingest/extract.yaml of your pipelines, where you can edit it,
    and recorded in the store. A stopped run continues where it stopped. A repeated run uses cached answers.
    """
    overrides = {"llm.model": model, "extract.jobs": jobs}
    settings = load(overrides).settings
    if not apply and (folder is not None or force):
        raise UsageError(
            tr("{option} has no effect without --apply").format(option="--force" if force else "--output"),
            hint=tr("add --apply, or leave out the option"),
        )
    target = _target(settings, folder, force=force) if apply else None
    with _opened(paths, settings, overrides, asked["seed"], dry_run=dry_run) as (engine, store, failures):
        engine.live.read()  # raises for invalid settings in the store
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
            from graphrag_rdf.tuning.prompt_run import keep

            kept = {"applied": True, "path": str(target), "tuning": keep(engine, outcome, target)}
    told = {**outcome.as_json(), **kept, "failures": failures}
    if diff:
        told["diff"] = outcome.diff()
    if not output.write(form, told):
        show(outcome, told, apply=apply, in_force=folder is None or _same(folder, settings.pipelines))
    return IN_PART if failures or outcome.in_part else DONE


def _run(engine: Engine, store: Store, request: Request, model: str) -> Outcome:
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.tuning.prompt_run import tune_prompts

    with stop_requests() as stop, IngestProgress(engine.budget, "calls") as progress:
        try:
            return tune_prompts(engine, store, request, model=model, progress=progress, stop=stop)
        except KeyboardInterrupt:
            note(tr("the answers so far are kept: run the same command again to continue"))
            raise


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
    from graphrag_rdf.tuning.prompt_run import file_in, require_writable

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
    from graphrag_rdf.tuning.prompt_run import Request
    from graphrag_rdf.tuning.prompts import Wishes

    if asked["entity_types"] is None:
        typed, types = tr("the setting extract.entity_types"), settings.extract.entity_types
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
        claims=settings.claims.build if asked["claims"] is None else asked["claims"],
        reports=settings.communities.auto if asked["reports"] is None else asked["reports"],
    )
    return Request(
        wishes=wishes,
        selection=asked["selection"],
        limit=asked["limit"],
        held_out=asked["held_out"],
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


_LISTED = 8
"""Number of types and of relations that are listed with their counts."""


def show_estimate(found: Mapping[str, Any]) -> None:
    """Print the estimate of `--dry-run`."""
    llm, passages = found["llm"], found["passages"]
    sampled = tr("{seen:,} sampled, {held_out:,} held out, of {all:,}").format(**passages)
    model = planned(llm["calls"], llm["in_tokens"], llm["out_tokens"], llm["cost_usd"])
    say(tr("Nothing was asked or written. This would be done, at most:"))
    pairs([(tr("chunks"), sampled), (tr("model"), model)], indent="  ")


def show(outcome: Outcome, told: Mapping[str, Any], *, apply: bool, in_force: bool) -> None:
    """Print the result of a run.

    Args:
        told: the result as JSON.
        apply: whether `--apply` was given.
        in_force: whether the written file is in the folder of the setting pipelines.
    """
    data, sample, tokens = outcome.data, outcome.sample, told["prompt"]["tokens"]
    found = (
        tr("{number} from the documents (rejected: {rejected})")
        if outcome.rejected
        else tr("{number} from the documents")
    )
    examples = found.format(number=len(data.examples), rejected=counts(outcome.rejected))
    rows: list[tuple[str, object]] = [
        (
            tr("chunks"),
            tr("{sampled:,} sampled, {held_out:,} held out, of {all:,} ({selection}, seed {seed})").format(
                sampled=len(sample.seen),
                held_out=len(sample.held_out),
                all=sample.all,
                selection=outcome.request.selection,
                seed=outcome.request.seed,
            ),
        ),
        (tr("domain"), data.domain),
        (tr("persona"), data.persona),
        (tr("language"), data.language or tr("that of each chunk")),
        (tr("entity types"), _names(kind.name for kind in data.entity_types)),
        (tr("relations"), _names(kind.name for kind in data.relation_types)),
        (tr("examples"), examples),
        *([(tr("claims"), data.claim_description)] if data.claim_description else []),
        *([(tr("examples of claims"), f"{len(data.claim_examples)}")] if data.claim_examples else []),
        *([(tr("importance"), data.importance)] if data.importance else []),
        (
            tr("prompt"),
            tr("about {after:,} tokens without the chunk (current: {before:,})").format(
                after=tokens["after"], before=tokens["before"]
            ),
        ),
        (tr("model"), usage(outcome.llm)),
    ]
    pairs(rows)
    for warning in outcome.warnings:
        warn_of(warning)
    if outcome.check is not None:
        _show_check(told["check"])
    if "diff" in told:
        say()
        say(safe(told["diff"]) or tr("no changes of the prompt"))
    say()
    _verdict(outcome, told, apply=apply, in_force=in_force)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or tr("none listed")


def _show_check(found: Mapping[str, Any]) -> None:
    for one in found["failures"]:
        told = (
            tr("{title} ({chunk}), current prompt: {reason}")
            if one["prompt"] == "before"
            else tr("{title} ({chunk}), tuned prompt: {reason}")
        )
        warn(told.format(title=one["title"], chunk=one["chunk"], reason=one["reason"]))
    if not found["passages"]:
        return
    say()
    titles = {
        "facts": tr("facts"),
        "verified": tr("verified facts"),
        "entities": tr("entities"),
        "left_out": tr("left out"),
        "in_tokens": tr("tokens of the prompt"),
    }
    rows = [
        (titles[name], f"{figures['before']:,.1f}", f"{figures['after']:,.1f}", _gain(figures))
        for name, figures in found["measures"].items()
    ]
    say(tr("means over {passages:,} held-out chunks:").format(passages=found["passages"]))
    output.table(("", tr("current"), tr("tuned"), tr("difference (95 %)")), rows)
    share = found["verified_share"]
    say()
    lines = [(tr("verified"), _both(*(_percent(share[side]) for side in ("before", "after"))))]
    for name, title in (("types", tr("types used")), ("predicates", tr("relations used"))):
        used = found[name]
        lines.append((title, _both(*(f"{len(used[side]):,}" for side in ("before", "after")))))
        lines += [
            (f"  {told}", _most(used[side]))
            for side, told in (("before", tr("current")), ("after", tr("tuned")))
        ]
    pairs(lines)


def _gain(figures: Mapping[str, Any]) -> str:
    low, high = figures["gain_ci95"]
    return tr("{gain:+,.1f} ({low:+,.1f} to {high:+,.1f})").format(gain=figures["gain"], low=low, high=high)


def _both(before: str, after: str) -> str:
    return tr("{before} current, {after} tuned").format(before=before, after=after)


def _percent(share: float | None) -> str:
    return tr("nothing to verify") if share is None else f"{share:.0%}"


def _most(used: Mapping[str, int]) -> str:
    listed = [f"{name} {number}" for name, number in list(used.items())[:_LISTED]]
    return ", ".join(listed + (["…"] if len(used) > _LISTED else [])) or tr("none")


def _verdict(outcome: Outcome, told: Mapping[str, Any], *, apply: bool, in_force: bool) -> None:
    if not outcome.changed:
        say(tr("the tuned prompt is the same as the current one"))
        return
    if outcome.check is not None:
        say(_gained(outcome.check, told["check"]["measures"]["verified"]))
    elif not outcome.request.held_out:
        say(tr("no chunks were held out, so the prompts were not compared"))
    if told["applied"]:
        say(safe(tr("wrote {path}").format(path=told["path"])))
        if in_force:
            note(tr("the next ingest extracts all facts again; see the cost: graphrag-rdf ingest --dry-run"))
        else:
            note(tr("to use it, set pipelines to that folder"))
    elif apply:
        say(tr("the tuned prompt was not applied; --force applies it anyway"))
    else:
        note(tr("--apply uses it from now on; whether the facts are right was not measured"))


def _gained(found: Check, verified: Mapping[str, Any]) -> str:
    if not found.readings:
        return tr("the prompts cannot be compared: no held-out chunk has an answer with both")
    if found.lost > 0:
        return ngettext(
            "the tuned prompt failed on {lost:,} more held-out chunk than the current one",
            "the tuned prompt failed on {lost:,} more held-out chunks than the current one",
            found.lost,
        ).format(lost=found.lost)
    before, after = found.total("verified")
    if after == before:
        return tr("no gain: the held-out chunks give as many verified facts as before")
    low, high = verified["gain_ci95"]
    if low <= 0 <= high:
        told = tr("verified facts of the held-out chunks: {before:,} → {after:,}, which may be chance")
    else:
        told = tr("verified facts of the held-out chunks: {before:,} → {after:,}")
    return told.format(before=before, after=after)
