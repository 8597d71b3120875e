"""The size of the program: lines, names that say nothing, commands, settings.

    python -m benchmarks.house [--rooms] [--names ROOM]

Lines of code leave out blank ones, comments and docstrings. A vague name is one of `VAGUE`, assigned or a
parameter; it says how a thing was got, not what it is.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic import BaseModel

from benchmarks.common import ROOT
from graphrag_rdf.cli.app import root
from graphrag_rdf.config import Settings
from graphrag_rdf.steps.kinds import kinds

_PACKAGE = ROOT / "graphrag_rdf"
VAGUE = frozenset(
    "found one ones said told known given left took made other others now rest".split()  # noqa: SIM905
)


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(prog="benchmarks.house", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rooms", action="store_true", help="also by room")
    parser.add_argument("--names", metavar="ROOM", help="where the vague names of a room are")
    options = parser.parse_args()
    texts = {path.relative_to(_PACKAGE): path.read_text("utf-8") for path in sorted(_PACKAGE.rglob("*.py"))}
    if options.names:
        for path, text in texts.items():
            if _room(path) == options.names:
                for node, name in assigned(text):
                    if name in VAGUE:
                        print(f"{path}:{node.lineno}: {name}")
        return 0
    _print_counts("all", texts)
    if options.rooms:
        rooms = Counter(path.parts[0].removesuffix(".py") for path in texts)
        for room in sorted(rooms):
            _print_counts(
                room, {path: texts[path] for path in texts if path.parts[0].removesuffix(".py") == room}
            )
    _print_interface()
    return 0


def _room(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def _print_counts(title: str, texts: dict[Path, str]) -> None:
    from docs.generate import lines_of_code

    names = Counter(name in VAGUE for text in texts.values() for _, name in assigned(text))
    print(
        f"{title}: {len(texts)} modules, {sum(len(text.splitlines()) for text in texts.values()):,} lines, "
        f"{sum(map(lines_of_code, texts.values())):,} of code; "
        f"vague names {names[True]:,} of {names.total():,} ({names[True] / (names.total() or 1):.1%})"
    )


def _print_interface() -> None:
    commands = list(_commands(root, click.Context(root)))
    options = sum(isinstance(param, click.Option) for command in commands for param in command.params)
    settings = sum(1 for _ in _settings(Settings))
    parameters = sum(len(kind.parameters) for kind in kinds().values())
    print(f"{len(commands)} commands with {options:,} options")
    print(f"{settings} settings, {parameters} parameters of steps")


def _settings(section: type[BaseModel]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _settings(field.annotation)
        else:
            yield name


def _commands(command: click.Command, context: click.Context) -> Iterator[click.Command]:
    if not isinstance(command, click.Group):
        yield command
        return
    for name in command.list_commands(context):
        if sub := command.get_command(context, name):
            yield from _commands(sub, context)


def assigned(text: str) -> Iterator[tuple[ast.Name | ast.arg, str]]:
    """Each place of a module that binds a name: assignments, loops, `with`, parameters of functions."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node, node.id
        elif isinstance(node, ast.arg):
            yield node, node.arg


if __name__ == "__main__":
    sys.exit(main())
