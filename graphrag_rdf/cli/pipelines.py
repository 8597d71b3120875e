"""`pipelines`: the pipelines, their steps, and what `--set` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, safe, say, styled
from graphrag_rdf.cli.session import load
from graphrag_rdf.i18n import bracketed, tr
from graphrag_rdf.wing import in_words

if TYPE_CHECKING:
    from graphrag_rdf.pipeline import Pipeline, StepDefinition


@click.group(cls=Group, examples=["graphrag-rdf pipelines list", "graphrag-rdf pipelines show graph_rag"])
def pipelines_command() -> None:
    """The pipelines that answer questions, with the parameters of their steps."""


@pipelines_command.command("list", examples=["graphrag-rdf pipelines list"])
@format_option()
def list_(form: str) -> None:
    """List the pipelines."""
    found = [{"name": one.definition.name, "summary": tr(one.definition.summary)} for one in _all()]
    if form == "json":
        output.write_json(found)
    else:
        output.table((tr("name"), tr("summary")), [tuple(one.values()) for one in found])
    if lacking := in_words():
        output.note(lacking.strip())


@pipelines_command.command("show", examples=["graphrag-rdf pipelines show graph_rag"])
@click.argument("name")
@format_option()
def show(name: str, form: str) -> None:
    """Show a pipeline: its steps, what each can use, and the parameters that --set takes.

    Values are those of the pipeline.yaml; graphrag-rdf config list shows those that a store keeps.
    """
    from graphrag_rdf.live_settings import pipeline_folders
    from graphrag_rdf.pipeline import load_pipeline

    pipeline = load_pipeline(name, pipeline_folders(load().settings))
    described = describe(pipeline)
    if form == "json":
        output.write_json(described)
        return
    say(styled(safe(name), bold=True) + bracketed(described["flow"]))
    say(safe(described["summary"]))
    say(safe(f"  {pipeline.folder / 'pipeline.yaml'}"))
    for step in described["steps"]:
        say()
        say(styled(safe(step["name"]), bold=True) + safe(tr(": ") + step["about"]))
        if step["uses"]:
            say(safe(tr("  use: {use} ({names})").format(use=step["use"], names=", ".join(step["uses"]))))
        rows = [
            (
                f"{step['name']}.{one['name']}",
                value_text(one["value"]),
                one["takes"],
                about_parameter(step, one),
            )
            for one in step["parameters"]
        ]
        if rows:
            output.table(
                (tr("  parameter"), tr("value"), tr("takes"), tr("about")),
                [(f"  {a}", *rest) for a, *rest in rows],
            )


def describe(pipeline: Pipeline) -> dict[str, Any]:
    """What `pipelines show --format json` prints."""
    definition = pipeline.definition
    return {
        "name": definition.name,
        "summary": tr(definition.summary),
        "flow": definition.flow,
        "steps": [_step(step) for step in definition.steps],
    }


def _step(step: StepDefinition) -> dict[str, Any]:
    from graphrag_rdf.steps.kinds import takes

    kind, values = step.kind, step.values()
    return {
        "name": step.name,
        "step": kind.name,
        "about": tr(kind.about),
        "use": step.use or kind.default,
        "uses": kind.uses,
        "auto": None
        if kind.auto is None
        else dict(zip(("without_model", "with_model"), kind.auto, strict=True)),
        "parameters": [
            {
                "name": name,
                "value": values[name],
                "default": parameter.default,
                "takes": takes(parameter),
                "about": tr(parameter.description) if parameter.description else "",
                "ways": [use for use, way in kind.ways.items() if name in way.parameters.model_fields],
            }
            for name, parameter in kind.parameters.items()
        ],
    }


def about_parameter(step: dict[str, Any], parameter: dict[str, Any]) -> str:
    """What a parameter does, and which ways of its step follow it."""
    ways = len(step["uses"]) - bool(step["auto"])
    if len(parameter["ways"]) == ways:
        return str(parameter["about"])
    return tr("{about} (only {ways})").format(about=parameter["about"], ways=", ".join(parameter["ways"]))


def value_text(value: Any) -> str:
    """A value as on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _all() -> list[Pipeline]:
    from graphrag_rdf.live_settings import pipeline_folders
    from graphrag_rdf.pipeline import all_pipelines

    return all_pipelines(pipeline_folders(load().settings))
