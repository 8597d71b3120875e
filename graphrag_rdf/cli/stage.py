"""The command of a stage with a model: `refresh relations`, `refresh claims`, `communities build` and so on.

The stage declares its help, examples and options; the body is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import annotated_types
import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, model_option
from graphrag_rdf.cli.output import counts, format_option, made_by, model_rows, pairs, planned
from graphrag_rdf.cli.process import DONE, outcome, stop_requests
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.config import field_of
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.model_stage import ModelStage, Option, StageEstimate, StageReport

F = TypeVar("F", bound=Callable[..., Any])


def source_options(command: F) -> F:
    """`--source` and `--all`; the parameters are `sources` and `every`."""
    source = click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="DOC",
        help="Only this document (path, title or IRI); may be repeated.",
    )
    every = click.option("--all", "every", is_flag=True, help="All documents (the default).")
    return source(every(command))


def check_sources(sources: Sequence[str], *, every: bool) -> None:
    """Refuse `--source` together with `--all`. Raises UsageError."""
    if sources and every:
        raise UsageError(tr("--source and --all cannot be combined"), hint=tr("give one of them"))


def documents_of(engine: Engine, sources: Sequence[str]) -> list[NamedNode]:
    """The documents that `--source` names; empty for all."""
    from graphrag_rdf.ingest.plan import find_documents

    return find_documents(engine.store, sources) if sources else []


def stage_command(kind: type[ModelStage[Any, Any, Any]]) -> click.Command:
    """The command of a stage."""

    def body(
        *,
        model: str | None,
        again: bool,
        form: str,
        sources: tuple[str, ...] = (),
        every: bool = False,
        dry_run: bool = False,
        **given: Any,
    ) -> int:
        check_sources(sources, every=every)
        overrides = {option.key: given[_parameter(option)] for option in kind.options}
        overrides["llm.model"] = model
        if dry_run:
            return _estimate(kind, overrides, sources, form, again=again)
        return _run(kind, overrides, sources, form, again=again)

    dry_run = click.option(
        "--dry-run", is_flag=True, help="Estimate the model calls and their cost, and write nothing."
    )
    decorators: list[Callable[..., Any]] = [source_options] if kind.of_documents else []
    decorators += [model_option, *map(_click_option, kind.options)]
    decorators += [dry_run] if kind.can_estimate else []
    decorators += [click.option("--again", is_flag=True, help=kind.again_help), format_option()]
    command: Callable[..., Any] = body
    for decorate in reversed(decorators):
        command = decorate(command)
    attributes = {"help": kind.help, "examples": kind.examples}
    return click.command(kind.command[1], cls=Command, **attributes)(command)


def _parameter(option: Option) -> str:
    return option.key.rpartition(".")[2]


def _click_option(option: Option) -> Callable[..., Any]:
    flag = f"--{_parameter(option).replace('_', '-')}"
    return click.option(flag, type=_type_of(option.key), metavar=option.metavar, help=option.help)


def _type_of(key: str) -> click.ParamType[Any] | None:
    """The type of a setting, with its bounds."""
    field = field_of(key)
    if get_origin(field.annotation) is Literal:
        return click.Choice(get_args(field.annotation))
    least: Any = None
    most: Any = None
    is_open = False
    for bound in field.metadata:
        match bound:
            case annotated_types.Ge():
                least = bound.ge
            case annotated_types.Gt():
                least, is_open = bound.gt, True
            case annotated_types.Le():
                most = bound.le
    if field.annotation is int:
        return click.IntRange(least, most)
    return click.FloatRange(least, most, min_open=is_open) if field.annotation is float else None


def _estimate(
    kind: type[ModelStage[Any, Any, Any]],
    overrides: dict[str, Any],
    sources: Sequence[str],
    form: str,
    *,
    again: bool,
) -> int:
    from graphrag_rdf.ingest.model_stage import estimate

    with open_engine(overrides, read_only=True, beside=True) as engine:
        planned_run = estimate(engine, kind, documents_of(engine, sources), again=again)
    if not output.write(form, planned_run.as_json()):
        _show_estimate(planned_run)
    return DONE


def _show_estimate(planned_run: StageEstimate) -> None:
    llm, kind = planned_run.llm, planned_run.stage
    output.say(tr("Nothing was written. This would be done:"))
    model = planned(llm.calls, llm.in_tokens, llm.out_tokens, llm.cost_usd)
    number = counts(planned_run.counts.named(kind.done)) or tr("none")
    pairs([(tr(kind.tasks), number), (tr("model"), model)], indent="  ")


def _run(
    kind: type[ModelStage[Any, Any, Any]],
    overrides: dict[str, Any],
    sources: Sequence[str],
    form: str,
    *,
    again: bool,
) -> int:
    from graphrag_rdf.cli.progress import IngestProgress

    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget, kind.tasks) as progress,
    ):
        documents = documents_of(engine, sources)
        report = engine.refresh(kind.stage.name, documents, again=again, progress=progress, stop=stop)
    if not output.write(form, report.as_json()):
        _show(report)
    return outcome(report.stopped, failed=bool(report.failures))


def _show(report: StageReport) -> None:
    kind = report.stage
    rows: list[tuple[str, object]] = [*kind.rows(report)]
    rows.append((tr(kind.tasks), counts(report.counts.named(kind.done)) or tr("none")))
    if report.by != "none":
        rows.append((tr("made"), made_by(report.by)))
    pairs([*rows, *model_rows(report.rejected, report.llm)])
    for warning in report.warnings:
        output.warn_of(warning)
    if report.stopped:
        output.warn(tr(kind.unfinished))
