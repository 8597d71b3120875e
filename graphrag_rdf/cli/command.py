"""Commands with common options, before or after the command's name, and examples in their help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep a value. The last one given wins, except that the numbers of -v are added."""
    if not value:
        return
    kept = given_options(ctx)
    name = param.name or ""
    kept[name] = kept.get(name, 0) + value if name == "verbose" else value
    if name in ("verbose", "quiet"):
        from graphrag_rdf.cli.logs import set_up_logging

        set_up_logging(kept.get("verbose", 0), quiet=kept.get("quiet", False))


def common_options() -> list[click.Option]:
    """The options that every command has."""
    keep: dict[str, Any] = {"expose_value": False, "callback": _keep}
    return [
        click.Option(
            ["--store"],
            metavar="PATH|URL",
            help="Folder of the store, URL of a SPARQL endpoint, or :memory: for a temporary store "
            "(default: ./graphrag-store).",
            **keep,
        ),
        click.Option(
            ["--collection"], metavar="NAME", help="Name of a separate store in the same folder.", **keep
        ),
        click.Option(
            ["--config"],
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Settings file (default: graphrag.toml in the current folder).",
            **keep,
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            help="Print more, with tracebacks of failed documents; -vv: all tracebacks.",
            **keep,
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print results and errors only.", **keep),
    ]


class _Help(click.Command):
    """Help in three parts: own options, common options, examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        self.examples = tuple(examples)
        self.common = common_options()
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *self.common]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then the common ones."""
        common = set(map(id, self.common))
        own = [
            p.get_help_record(ctx)
            for p in self.get_params(ctx)
            if isinstance(p, click.Option) and id(p) not in common
        ]
        for title, records in (
            ("Options", own),
            ("Common options", [p.get_help_record(ctx) for p in self.common]),
        ):
            shown = [record for record in records if record is not None]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        del ctx
        if self.examples:
            with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
                for line in self.examples:
                    formatter.write(f"{' ' * formatter.current_indent}{line}\n")


class Command(_Help):
    """A command of the program.

    Args:
        examples: command lines that its help shows.
    """


class Group(_Help, click.Group):
    """A command with subcommands."""

    command_class = Command


_KEY = "graphrag_rdf.common"


def given_options(context: click.Context | None = None) -> dict[str, Any]:
    """The common options that the user gave, shared by a command and its groups; empty outside of commands.

    Args:
        context: None for the context of the running command.
    """
    context = context or click.get_current_context(silent=True)
    found: dict[str, Any] = {} if context is None else context.meta.setdefault(_KEY, {})
    return found
