"""`config`: the settings in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, say
from graphrag_rdf.cli.session import load
from graphrag_rdf.errors import ConfigError

if TYPE_CHECKING:
    from graphrag_rdf.config import Loaded


@click.group(cls=Group, examples=["graphrag-rdf config list", "graphrag-rdf config get llm.model"])
def config_command() -> None:
    """Show the settings in force, and where each comes from.

    Settings are changed in graphrag.toml (see graphrag-rdf init), by variables like GRAPHRAG_RDF_LLM__MODEL,
    or on the command line.
    """


@config_command.command("list", examples=["graphrag-rdf config list --format json"])
@format_option()
def list_(form: str) -> None:
    """List every setting with its value and origin."""
    loaded = load()
    values = shown(loaded)
    rows = [{"key": key, "value": values[key], "origin": loaded.origins[key]} for key in values]
    if form == "json":
        output.write_json(rows)
        return
    output.table(
        ("setting", "value", "origin"), [(row["key"], _text(row["value"]), row["origin"]) for row in rows]
    )


@config_command.command("get", examples=["graphrag-rdf config get llm.model"])
@click.argument("key")
@format_option()
def get(key: str, form: str) -> None:
    """Print the value of one setting, e.g. llm.model."""
    loaded = load()
    values = shown(loaded)
    if key not in values:
        import difflib

        near = difflib.get_close_matches(key, values, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "graphrag-rdf config list shows all"
        raise ConfigError(f"there is no setting {key!r}", hint=hint)
    if form == "json":
        output.write_json({"key": key, "value": values[key], "origin": loaded.origins[key]})
    else:
        say(output.safe(_text(values[key])))


def shown(loaded: Loaded) -> dict[str, Any]:
    """Dotted key → value as JSON has it; of secrets only whether they are set."""
    from graphrag_rdf.config import flat_values

    return flat_values(loaded.settings)


def _text(value: object) -> str:
    if value is None:
        return "none"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
