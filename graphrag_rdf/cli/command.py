"""Commands with common options, before or after the name, and examples in their help; shared options."""

from __future__ import annotations

import copy
import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from graphrag_rdf import i18n
from graphrag_rdf.errors import UsageError, alternatives
from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.wing import all_of, in_words, load

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.config import Settings


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep a value. The last one given wins, except that the numbers of -v are added."""
    if not value:
        return
    kept = given_options(ctx)
    name = param.name or ""
    kept[name] = kept.get(name, 0) + value if name == "verbose" else value
    if name == "lang":
        _set_language(value)
    if name in ("verbose", "quiet"):
        from graphrag_rdf.cli.process import set_up_logging

        set_up_logging(kept.get("verbose", 0), quiet=kept.get("quiet", False))


def _set_language(wanted: str) -> None:
    found = i18n.best([wanted])
    if found is None:
        raise UsageError(
            tr("there are no messages in {wanted!r}").format(wanted=wanted),
            hint=tr("languages: {names}").format(names=", ".join(i18n.languages())),
        )
    i18n.set_process_language(found)


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
            ["--at"],
            metavar="COMMIT|TIME",
            help="Read the store as it was: 1204, 2026-03, 2026-03-31T14:00 … `log` lists its states.",
            **keep,
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
        click.Option(
            ["--lang"],
            metavar="LANGUAGE",
            is_eager=True,
            help="Language of messages: en, zh (default: as LANGUAGE, LC_ALL, LC_MESSAGES or LANG say).",
            **keep,
        ),
    ]


class _Help(click.Command):
    """Help with own options and examples; the help of the program also has the options of all commands."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        self.examples = tuple(examples)
        self.common = common_options()
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *self.common]

    @property
    def help(self) -> str | None:
        """The help, in the language of messages."""
        return self._help and tr(inspect.cleandoc(self._help))

    @help.setter  # noqa: A003 - its name in click
    def help(self, text: str | None) -> None:
        self._help = text

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence of the help, cut to a number of columns; in Chinese it ends at "。"."""
        first, stop, _ = (self.help or "").partition("\n\n")[0].partition("。")
        return _cut(f"{first}{stop}", limit) if stop else super().get_short_help_str(limit)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, with lines that fit also where characters are wide."""
        del ctx
        if self.help:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(_fitted(self.help, formatter.width - formatter.current_indent))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, and the common ones for the program itself."""
        common = set(map(id, self.common))
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)
        titled = {tr("Options"): [option for option in options if id(option) not in common]}
        if ctx.parent is None:
            titled[tr("Common options, before or after a command")] = self.common
        for title, shown in titled.items():
            records = (_record(option, ctx, formatter.width) for option in shown)
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and where the common options are explained."""
        if self.examples:
            with formatter.section(ngettext("Example", "Examples", len(self.examples))):
                for line in self.examples:
                    formatter.write(f"{' ' * formatter.current_indent}{line}\n")
        if ctx.parent is not None:
            formatter.write_paragraph()
            formatter.write_text(tr("Common options (--store, --lang, -v …): graphrag-rdf --help"))


_NAMES = 34
"""The most columns of click's help that the names of an option take, with the space around them."""


def _record(option: click.Option, ctx: click.Context, width: int) -> tuple[str, str] | None:
    """The lines of an option in help, in the language of messages."""
    shown = copy.copy(option)
    shown.help = option.help and tr(option.help)
    found = shown.get_help_record(ctx)
    return found and (found[0], _fitted(found[1], width - _NAMES))


def _is_wide(text: str) -> bool:
    """Whether a text takes more columns than it has characters, which are what click counts."""
    if text.isascii():
        return False
    from rich.cells import cell_len

    return cell_len(text) > len(text)


def _fitted(text: str, width: int) -> str:
    """A text with wide characters in lines that click leaves as they are (`\\b`); others unchanged."""
    if not _is_wide(text):
        return text
    from graphrag_rdf.trace.lines import Lines

    paragraphs = []
    for paragraph in text.split("\n\n"):
        lines = Lines(width, colour=False)
        lines.paragraph(paragraph, "")
        paragraphs.append(paragraph if paragraph.startswith("\b") else f"\b\n{lines.text().rstrip()}")
    return "\n\n".join(paragraphs)


def _cut(text: str, columns: int) -> str:
    """A text cut to a number of columns; wide characters take two."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 3).rstrip()}..."


class Command(_Help):
    """A command of the program.

    Args:
        examples: command lines that its help shows.
    """


class Group(_Help, click.Group):
    """A command with subcommands: its own, and those of wings and lists."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in alphabetical order."""
        from graphrag_rdf.cli.lists import command_names

        brought = (words.partition(" ") for words in _of_wings())
        ours = (name for group, _, name in brought if group == self.name)
        return sorted({*super().list_commands(ctx), *ours, *command_names(str(self.name))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of a name; None if there is none."""
        from graphrag_rdf.cli.lists import command_of_list

        words = f"{self.name} {cmd_name}"
        if place := _of_wings().get(words):
            return cast("click.Command", load(place))
        return super().get_command(ctx, cmd_name) or command_of_list(words)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command to run. The error for an unknown one suggests commands with a similar name."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], names, n=3, cutoff=0.7)
            if near:
                ctx.fail(
                    tr("unknown command {name!r}. Did you mean {near}?").format(
                        name=args[0], near=alternatives(near)
                    )
                )
            ctx.fail(tr("unknown command {name!r}").format(name=args[0]) + in_words())
        return super().resolve_command(ctx, args)


def _of_wings() -> dict[str, str]:
    return all_of(lambda wing: wing.subcommands)


_KEY = "graphrag_rdf.common"


def given_options(context: click.Context | None = None) -> dict[str, Any]:
    """The common options that the user gave, shared by a command and its groups; empty outside of commands.

    Args:
        context: None for the context of the running command.
    """
    context = context or click.get_current_context(silent=True)
    found: dict[str, Any] = {} if context is None else context.meta.setdefault(_KEY, {})
    return found


F = TypeVar("F", bound=Callable[..., Any])

model_option = click.option(
    "--model",
    metavar="M",
    help="Language model: a litellm name, e.g. openai/gpt-4.1 or ollama/llama3, or none for rules only.",
)
embedding_option = click.option(
    "--embedding-model",
    metavar="M",
    help="Embedding model: a litellm name, local:DIR, fastembed:NAME, or none.",
)
allow_ingest_option = click.option(
    "--allow-ingest",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Let clients ingest documents from this folder.",
)
rerank_option = click.option(
    "--rerank",
    metavar="M",
    help="Rerank the top results: a litellm rerank model, local:DIR, lexical, vector, or none.",
)
output_option = click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file instead of stdout.",
)
_SUFFIXES = {
    ".trig": "trig",
    ".nq": "nquads",
    ".ttl": "turtle",
    ".nt": "ntriples",
    ".rdf": "rdfxml",
    ".owl": "rdfxml",
    ".jsonld": "jsonld",
    ".graphml": "graphml",
    ".html": "html",
    ".provn": "prov-n",
    ".provx": "provx",
    ".json": "prov-json",
}


def form_of(form: str | None, path: Path | None, forms: Sequence[str]) -> Any:
    """The format that was asked for, or the one of the file's suffix, or the first."""
    named = None if path is None else _SUFFIXES.get(path.suffix.lower())
    return form or (named if named in forms else forms[0])


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="STEP.PARAMETER=VALUE",
    help="Set a parameter of the pipeline; may be repeated. `graphrag-rdf pipelines show` lists them.",
)


def server_options(command: F) -> F:
    """`--server` and `--token-file`."""
    server = click.option("--server", metavar="URL", help="Use a running server instead of a local store.")
    token = click.option(
        "--token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="File with the token for the server.",
    )
    return server(token(command))


def shapes_options(command: F) -> F:
    """`--shapes` and `--validation`, see `shapes_overrides`."""
    shapes = click.option(
        "--shapes",
        multiple=True,
        metavar="FILE|IRI",
        help="Validate with these SHACL shapes: a file, or the IRI of a graph in the store; may be repeated "
        "(default: the setting validation.shapes).",
    )
    mode = click.option(
        "--validation",
        type=click.Choice(["reject", "report", "off"]),
        help="reject: do not write facts that break the shapes; report (default): write and report them.",
    )
    return shapes(mode(command))


def shapes_overrides(shapes: Sequence[str], mode: str | None) -> dict[str, Any]:
    """The settings that `shapes_options` give."""
    return {"validation.shapes": tuple(shapes) or None, "validation.mode": mode}


def require_shapes(settings: Settings, mode: str | None) -> None:
    """Refuse a mode of validation without shapes.

    Raises:
        UsageError: there are none.
    """
    if mode not in (None, "off") and not settings.validation.shapes:
        raise UsageError(tr("--validation has no effect without shapes"), hint=tr("name them with --shapes"))


def date_options(command: F) -> F:
    """`--from`, `--to`, `--valid`, `--no-dates`; the parameters are `since`, `until`, `valid`, `no_dates`."""
    options = (
        click.option(
            "--from", "since", metavar="DATE", help="Only text written on this day, month or year, or later."
        ),
        click.option(
            "--to", "until", metavar="DATE", help="Only text written on this day, month or year, or earlier."
        ),
        click.option(
            "--valid", metavar="DATE", help="Leave out facts that began after this date, or ended before it."
        ),
        click.option("--no-dates", is_flag=True, help="Ignore dates that the question's words name."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def dates_as_settings(
    since: str | None, until: str | None, valid: str | None, no_dates: bool
) -> dict[str, str]:
    """The parameters of steps that the options of `date_options` set."""
    settings = {
        "exploration.since": since,
        "exploration.until": until,
        "exploration.valid": valid,
        "exploration.dates": "false" if no_dates else None,
    }
    return {key: value for key, value in settings.items() if value is not None}


def entity_options(command: F) -> F:
    """`--include-entity` and `--exclude-entity`; the parameters are `include` and `exclude`."""
    include = click.option(
        "--include-entity",
        "include",
        multiple=True,
        metavar="NAME",
        help="Start from this entity too; may be repeated.",
    )
    exclude = click.option(
        "--exclude-entity",
        "exclude",
        multiple=True,
        metavar="NAME",
        help="Leave out this entity, its facts, and sentences about it that mention nothing else that the "
        "question names; may be repeated.",
    )
    return include(exclude(command))


def key_values(items: Iterable[str]) -> dict[str, str]:
    """A dictionary of texts of the form `key=value`.

    Raises:
        click.BadParameter: when a text has no `=`.
    """
    out: dict[str, str] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(tr("{item!r} does not have the form name=value").format(item=item))
        out[key.strip()] = value
    return out


def iri_of(text: str) -> NamedNode:
    """The IRI in an argument, with or without angle brackets.

    Raises:
        UsageError: it is not an IRI.
    """
    from pyoxigraph import NamedNode

    try:
        return NamedNode(text.strip().strip("<>"))
    except ValueError as error:
        raise UsageError(tr("{text!r} is not an IRI: {error}").format(text=text, error=error)) from error
