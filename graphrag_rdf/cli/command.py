"""Commands with the same common options, before or after their name, and examples in their help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from graphrag_rdf.cli import common


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep a value; one given nearer to the command wins, and -v counts together."""
    if not value:
        return
    kept = common.kept(ctx)
    name = param.name or ""
    kept[name] = kept.get(name, 0) + value if name == "verbose" else value
    if name in ("verbose", "quiet"):
        from graphrag_rdf.cli.logs import set_up_logging

        set_up_logging(kept.get("verbose", 0), quiet=kept.get("quiet", False))


def common_options() -> list[click.Option]:
    """The options of every command."""
    keep: dict[str, Any] = {"expose_value": False, "callback": _keep}
    return [
        click.Option(
            ["--store"],
            metavar="PATH|URL",
            help="Folder of the store, or URL of a SPARQL endpoint (default: ./graphrag-store); :memory: "
            "keeps nothing.",
            **keep,
        ),
        click.Option(
            ["--collection"], metavar="NAME", help="A store beside the others of the folder.", **keep
        ),
        click.Option(
            ["--config"],
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Settings file (default: graphrag.toml of the current folder).",
            **keep,
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            help="Say more, with tracebacks of failed documents; -vv: all tracebacks.",
            **keep,
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Say results and errors only.", **keep),
    ]


class _Help(click.Command):
    """Help in three parts: own options, common options, examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        self.examples = tuple(examples)
        self.common = common_options()
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *self.common]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Own options first."""
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
        """Examples that can be copied."""
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
    """A command with commands of its own."""

    command_class = Command
