"""Write the pages and pictures of the documentation, and the shapes of traces, that are made from code.

    python docs/generate.py

`make ontology` runs it too, for `docs/vocabulary.md` and `ontology/trace-shapes.ttl`. Tests fail if a file is
out of date.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import click

from graphrag_rdf.cli import pipelines
from graphrag_rdf.cli.app import root
from graphrag_rdf.config import ENV_PREFIX, commented_toml
from graphrag_rdf.pipeline import load_pipeline, pipeline_names
from graphrag_rdf.rdf import vocabulary_page
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql import documentation as queries
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.steps.kinds import kinds
from graphrag_rdf.trace.kinds import node_kinds
from graphrag_rdf.trace.shapes import trace_shapes
from graphrag_rdf.wing import wings

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "graphrag_rdf"
ARCHITECTURE = HERE / "architecture.md"
SIZES = HERE / "architecture" / "sizes.md"

WALK = (
    ("sentence of the answer", "“… sank … on 14 November 1911. [1]”", "rag:cites"),
    ("selected fact", "<<( Petrel, sank on, 1911-11-14 )>>", "rag:supportedBy"),
    ("evidence", "quote, offset, length", "prov:wasDerivedFrom"),
    ("subgraph", "the facts found in one chunk", "prov:wasDerivedFrom"),
    ("chunk", "its text, its offset", "dcterms:isPartOf"),
    ("document", "its versions, by hash", ""),
)
"""The chain from an answer to its source: name, example, property that leads to the next."""

STYLE = """<style>
text { font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
.small { font-size: 12px; fill: #59636e }
rect { fill: #eef4fb; stroke: #3b6ea5; rx: 6 }
path { fill: none; stroke: #8a949e }
.head { fill: #8a949e; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9da7b1 } rect { fill: #16202c; stroke: #5b8fc7 }
}
</style>"""
_ROOM = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]*?) ?\|$", re.MULTILINE)
_WINGS = re.compile(r"(?<=<!-- wings -->\n).*?(?=<!-- end -->)", re.DOTALL)
_SIZES = re.compile(r"(?<=<!-- sizes -->\n).*?(?=<!-- end -->)", re.DOTALL)


def pages() -> Iterator[tuple[Path, str]]:
    """Every generated page and picture: its path, and what it should hold."""
    library = TemplateLibrary(folder("queries"))
    yield HERE / "reference" / "queries.md", queries.page(library)
    yield HERE / "reference" / "cli.md", commands_page()
    yield HERE / "reference" / "settings.md", settings_page()
    yield HERE / "reference" / "pipelines.md", pipelines_page()
    cookbook = HERE / "cookbook.md"
    yield cookbook, queries.fill(cookbook.read_text("utf-8"), library)
    yield HERE / "vocabulary.md", vocabulary_page.page()
    ontology = folder("ontology")
    kinds()  # imports the steps, which declare their nodes
    yield ontology / "trace-shapes.ttl", trace_shapes(node_kinds().values(), ontology)
    yield HERE / "pictures" / "rooms.svg", rooms_picture(rooms(ARCHITECTURE.read_text("utf-8")))
    yield HERE / "pictures" / "walk.svg", walk_picture()


PROGRAM = "graphrag-rdf"
_WIDTH = 80

_COMMANDS = """\
# Commands

This page is made from `--help` by `python docs/generate.py`. The keys of the JSON of each command are
listed under [JSON](json.md).

Every command takes the common options, before or after its name. Machine output (`--format json` or `jsonl`)
goes to stdout; progress, warnings and errors go to stderr. Exit codes: 0 done · 1 failed · 2 wrong usage or
bad input · 3 done in part, with what failed listed · 130 interrupted.
"""

_SETTINGS = f"""\
# Settings

This page is made from the sections of the core and of wings by `python docs/generate.py`. `graphrag-rdf init`
writes it as a file, `graphrag.toml`, which is read from the current folder (`--config` names another). Every
line is commented out and shows the default.

Order of precedence: command line, environment, file, settings [in the store](../how-to/settings.md), default.
An environment variable has the prefix `{ENV_PREFIX}` and two underscores between section
and key: `{ENV_PREFIX}LLM__MODEL=openai/gpt-4.1`; lists are comma-separated there.
`graphrag-rdf config list` shows every value and its origin, with secrets as asterisks. Unknown keys are
errors. Give API keys in the provider's own variable, such as `OPENAI_API_KEY`.

```toml
{commented_toml()}```
"""


def commands_page() -> str:
    """The page of commands, in Markdown."""
    return "\n".join([_COMMANDS, *_command_sections(root, [PROGRAM], None)])


def settings_page() -> str:
    """The page of settings, in Markdown."""
    return _SETTINGS


def _command_sections(command: click.Command, path: list[str], parent: click.Context | None) -> Iterator[str]:
    context = click.Context(
        command, info_name=path[-1], parent=parent, terminal_width=_WIDTH, max_content_width=_WIDTH
    )
    yield f"{'#' * min(len(path) + 1, 4)} `{' '.join(path)}`\n\n```text\n{_help(command, context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            if sub is not None and not sub.hidden:
                yield from _command_sections(sub, [*path, name], context)


def _help(command: click.Command, context: click.Context) -> str:
    """A command's help; the common options are shown with the program itself only."""
    text = command.get_help(context).rstrip()
    if context.parent is None:
        return text
    parts = text.split("\n\n")
    return "\n\n".join(part for part in parts if not part.startswith("Common options:"))


def pipelines_page() -> str:
    """The page `docs/reference/pipelines.md`."""
    folders = [folder("pipelines")]
    found = [pipelines.describe(load_pipeline(name, folders)) for name in pipeline_names(folders)]
    return "\n".join([_PIPELINES, *(line for one in found for line in _pipeline_section(one))])


_PIPELINES = """\
# Pipelines

This page is made from the declarations of steps by `python docs/generate.py`; `graphrag-rdf pipelines show
NAME` prints the same. `--set step.parameter=value` changes a parameter for one question, `config set
pipeline.step.parameter value` for a store, [a pipeline of your own](../how-to/own-pipeline.md) for good.
`use: auto` depends on whether a model is set.
"""


def _pipeline_section(pipeline: dict[str, Any]) -> Iterator[str]:
    yield f"## {pipeline['name']}\n\n{pipeline['summary']} Flow: {pipeline['flow']}.\n"
    for step in pipeline["steps"]:
        yield f"### {pipeline['name']}: {step['name']}\n\n`step: {step['step']}`. {step['about']}\n"
        uses = ", ".join(f"`{use}`" for use in step["uses"])
        auto = step["auto"]
        means = (
            f" (`auto`: `{auto['with_model']}` with a model, else `{auto['without_model']}`)" if auto else ""
        )
        yield f"`{step['name']}.use`: {uses}{means}. Default here: `{step['use']}`.\n"
        if step["parameters"]:
            yield "| parameter | value | takes | |\n|---|---|---|---|"
        for one in step["parameters"]:
            value, about = pipelines.value_text(one["value"]), pipelines.about_parameter(step, one)
            yield f"| `{one['name']}` | {value} | {one['takes']} | {about} |"
        yield ""


def rooms(page: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Room → what it does, and the rooms that it may import, from the table of the architecture page."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for room, does, known in _ROOM.findall(page.partition("### Rooms")[2].partition("\n##")[0]):
        imported = found if known.strip() == "all above" else re.findall(r"`(\w+)`", known)
        found[room] = (does, frozenset(imported))
    return found


def rooms_picture(table: Mapping[str, tuple[str, frozenset[str]]]) -> str:
    """The rooms in rows, each above all that it imports. Imports that follow from others have no line."""
    below: dict[str, set[str]] = {}
    level: dict[str, int] = {}
    for room, (_, known) in table.items():
        below[room] = known.union(*(below[other] for other in known)) if known else set()
        level[room] = 1 + max((level[other] for other in known), default=0)
    lines = {
        room: sorted(k for k in known if not any(k in below[other] for other in known))
        for room, (_, known) in table.items()
    }
    width, row, box = 960, 64, 132
    place: dict[str, tuple[float, int]] = {}
    for number in range(1, max(level.values()) + 1):
        here = [room for room in table if level[room] == number]
        here.sort(key=lambda room: _mean([place[other][0] for other in lines[room]]))
        for position, room in enumerate(here):
            place[room] = (
                width * (position + 0.5) / len(here),
                row * (max(level.values()) - number) + 34,
            )
    parts = []
    for room, others in lines.items():
        x, y = place[room]
        for other in others:
            to_x, to_y = place[other]
            bend = f"C{x:.0f} {y + 44} {to_x:.0f} {to_y - 44}"
            parts.append(f'<path d="M{x:.0f} {y + 16} {bend} {to_x:.0f} {to_y - 16}"/>')
    for room, (does, _) in table.items():
        x, y = place[room]
        parts.append(
            f"<g><title>{escape(room)}: {escape(does)}</title>"
            f'<rect x="{x - box / 2:.0f}" y="{y - 16}" width="{box}" height="32"/>'
            f'<text x="{x:.0f}" y="{y + 5}">{escape(room)}</text></g>'
        )
    return _svg(
        "The rooms of the program: each imports rooms below it", width, row * max(level.values()), parts
    )


def walk_picture() -> str:
    """The chain from an answer to its source, in two rows."""
    wide, high, gap, row = 250, 58, 144, 124
    parts = []
    for number, (name, example, way) in enumerate(WALK):
        down = number // 3
        column = number % 3 if not down else 2 - number % 3
        x, y = 8 + column * (wide + gap), 8 + down * row
        middle = x + wide / 2
        parts.append(
            f'<rect x="{x}" y="{y}" width="{wide}" height="{high}"/>'
            f'<text x="{middle}" y="{y + 25}">{escape(name)}</text>'
            f'<text class="small" x="{middle}" y="{y + 44}">{escape(example)}</text>'
        )
        if number == 2:
            parts.append(
                f'<path d="M{middle} {y + high} V{y + row - 8}"/>'
                f'<path class="head" d="M{middle - 5} {y + row - 9} h10 l-5 9 z"/>'
                f'<text class="small" x="{middle - 76}" y="{y + high + 38}">{way}</text>'
            )
        elif way:
            start, end, sign = (x, x - gap, -1) if down else (x + wide, x + wide + gap, 1)
            parts.append(
                f'<path d="M{start} {y + high / 2} H{end - 8 * sign}"/>'
                f'<path class="head" d="M{end - 9 * sign} {y + high / 2 - 5} v10 l{9 * sign} -5 z"/>'
                f'<text class="small" x="{(start + end) / 2}" y="{y + high / 2 - 8}">'
                f"{way}</text>"
            )
    return _svg(
        "From a sentence of an answer to its document", 3 * wide + 2 * gap + 16, row + high + 16, parts
    )


def with_sizes(page: str, names: Iterable[str]) -> str:
    """The page of sizes with the modules and lines of each room counted anew.

    Lines of code are without blank lines, comments and docstrings.

    No test compares the figures exactly: they change with every commit.
    """
    counts = {room: _count(room) for room in names}
    core = tuple(map(sum, zip(*counts.values(), strict=True)))
    total = _count("")
    rows = [
        f"| `{room}` | {modules} | {lines:,} | {code:,} |"
        for room, (modules, lines, code) in sorted(counts.items(), key=lambda item: -item[1][1])
    ]
    text = "\n".join(
        [
            "| room | modules | lines | of code |",
            "|---|---|---|---|",
            *rows,
            f"| core | {core[0]} | {core[1]:,} | {core[2]:,} |",
            f"| all | {total[0]} | {total[1]:,} | {total[2]:,} |",
        ]
    )
    return _SIZES.sub(lambda _: text + "\n", page, count=1)


def with_wings(page: str) -> str:
    """The architecture page with the table of wings made anew."""
    return _WINGS.sub(lambda _: wings_table(), page, count=1)


def wings_table() -> str:
    """The wings of this package: what each brings, which others it needs, and its size."""
    rows = ["| wing | brings | needs | modules | of code |", "|---|---|---|---|---|"]
    for wing in wings():
        if (PACKAGE / "wings" / wing.name).is_dir():
            modules, _, code = _count(f"wings/{wing.name}")
            needs = " ".join(f"`{name}`" for name in wing.needs)
            rows.append(f"| `wings/{wing.name}` | {wing.about} | {needs} | {modules} | {code:,} |")
    return "\n".join(rows) + "\n"


def _count(room: str) -> tuple[int, int, int]:
    """(modules, lines, lines of code) of a room, or of the whole package."""
    single = PACKAGE / f"{room}.py"
    files = [single] if room and single.exists() else list((PACKAGE / room).rglob("*.py"))
    texts = [path.read_text("utf-8") for path in files]
    return len(files), sum(len(text.splitlines()) for text in texts), sum(map(lines_of_code, texts))


def lines_of_code(text: str) -> int:
    """The lines of a module without blank ones, comments and docstrings."""
    strings = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    quoted = {line for node in strings for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), start=1)
    return sum(
        number not in quoted and bool(line.strip()) and line.lstrip()[0] != "#" for number, line in lines
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{title}</title>\n{STYLE}\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, "utf-8")
        print(path)
    architecture = ARCHITECTURE.read_text("utf-8")
    ARCHITECTURE.write_text(with_wings(architecture), "utf-8")
    SIZES.write_text(with_sizes(SIZES.read_text("utf-8"), rooms(architecture)), "utf-8")
    print(ARCHITECTURE, SIZES, sep="\n")
