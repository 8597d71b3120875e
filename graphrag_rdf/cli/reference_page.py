"""The pages `docs/reference/cli.md` and `docs/reference/settings.md`, written from the commands and settings.

    python -m graphrag_rdf.cli.reference_page > docs/reference/cli.md

The commands' own help is the source; a test checks that the pages are what it gives.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from graphrag_rdf.config import ENV_PREFIX, commented_toml

PROGRAM = "graphrag-rdf"
_WIDTH = 80

_INTRODUCTION = """\
# Commands

This page is made from `--help` by `python docs/generate.py`. The keys of the JSON of each command are
listed under [JSON](json.md).

Every command takes the common options, before or after its name. Machine output (`--format json` or `jsonl`)
goes to stdout; progress, warnings and errors go to stderr. Exit codes: 0 done · 1 failed · 2 wrong usage or
bad input · 3 done in part, with what failed listed · 130 interrupted.
"""

_SETTINGS = f"""\
# Settings

This page is made from `config.py` by `python docs/generate.py`. `graphrag-rdf init` writes it as a file,
`graphrag.toml`, which is read from the current folder (`--config` names another). Every line is commented out
and shows the default.

Order of precedence: command line, environment, file, settings [in the store](../how-to/settings.md), default.
An environment variable has the prefix `{ENV_PREFIX}` and two underscores between section
and key: `{ENV_PREFIX}LLM__MODEL=openai/gpt-4.1`; lists are comma-separated there.
`graphrag-rdf config list` shows every value and its origin, with secrets as asterisks. Unknown keys are
errors. Give API keys in the provider's own variable, such as `OPENAI_API_KEY`.

```toml
{commented_toml()}```
"""


def page() -> str:
    """The page of commands, in Markdown."""
    from graphrag_rdf.cli.app import root

    return "\n".join([_INTRODUCTION, *_sections(root, [PROGRAM], None)])


def settings_page() -> str:
    """The page of settings, in Markdown."""
    return _SETTINGS


def _sections(command: click.Command, path: list[str], parent: click.Context | None) -> Iterator[str]:
    context = click.Context(
        command, info_name=path[-1], parent=parent, terminal_width=_WIDTH, max_content_width=_WIDTH
    )
    yield f"{'#' * min(len(path) + 1, 4)} `{' '.join(path)}`\n\n```text\n{_help(command, context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            if sub is not None and not sub.hidden:
                yield from _sections(sub, [*path, name], context)


def _help(command: click.Command, context: click.Context) -> str:
    """A command's help; the common options are shown with the program itself only."""
    text = command.get_help(context).rstrip()
    if context.parent is None:
        return text
    parts = text.split("\n\n")
    return "\n\n".join(part for part in parts if not part.startswith("Common options:"))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
