"""Printing. Machine output is printed unchanged, and text for people without control sequences.

Texts of documents and models may hold control sequences, which must never reach a terminal.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from graphrag_rdf.cli.command import given_options
from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.i18n import (
    bracketed,
    counted,
    later,
    listed,
    ngettext,
    tr,
)

if TYPE_CHECKING:
    from graphrag_rdf.llm.budget import LlmUsage


WIDTH = 80
"""Columns to which running text is wrapped."""

_NO_SMALLER_THAN = 40
_READABLE = 100
_JSON_ESCAPED = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that JSON allows and a terminal would obey: C1 controls, and marks that reorder text."""


def safe(value: object) -> str:
    """A text without control sequences."""
    from graphrag_rdf.trace.lines import printable

    return printable(str(value))


def one_line(value: object) -> str:
    """A text on one line, safe to print."""
    return safe(" ".join(str(value).split()))


# --- people --------------------------------------------------------------------------------------


def say(text: str = "", *, newline: bool = True) -> None:
    """Print a line for people; the text must be safe."""
    click.echo(text, nl=newline)


def note(text: str) -> None:
    """Print a note on stderr, unless -q is given."""
    if not is_quiet():
        click.echo(safe(text), err=True)


def warn(text: str) -> None:
    """Print a warning on stderr, unless -q is given."""
    if is_quiet():
        return
    click.echo(labelled(tr("warning:"), "yellow") + safe(text), err=True)


def labelled(label: str, colour: str | None) -> str:
    """What stands before a message on stderr, with a space unless it ends in a full-width colon."""
    return styled(label, fg=colour, err=True) + ("" if label.endswith("：") else " ")


def warn_of_results(broken: int, *, unvalidated: bool = False) -> None:
    """Say that what was written breaks shapes, or was not validated."""
    if unvalidated:
        warn(tr("the shapes were not checked: the store is behind an endpoint, which cannot try an update"))
    if broken:
        told = ngettext(
            "{count:,} result of the SHACL shapes: {command}",
            "{count:,} results of the SHACL shapes: {command}",
            broken,
        )
        warn(told.format(count=broken, command="graphrag-rdf queries run validation/results -p limit=100"))


def warn_of(warning: Mapping[str, Any]) -> None:
    """Print a warning of an answer or report; with -v also its type."""
    warn(typed(warning))


def typed(warning: Mapping[str, Any]) -> str:
    """The text of a warning; with -v also its type, which docs/how-to/trouble.md lists."""
    kind = bracketed(warning["type"]) if given_options().get("verbose") else ""
    return f"{warning['detail']}{kind}"


def is_quiet() -> bool:
    """Whether -q was given."""
    return bool(given_options().get("quiet"))


def styled(text: str, *, err: bool = False, **style: Any) -> str:
    """A text in colour, if its stream is a terminal and NO_COLOR is not set."""
    return click.style(text, **style) if colours(err=err) else text


def colours(*, err: bool = False) -> bool:
    """Whether to print colours on a stream."""
    return on_terminal(err=err) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def on_terminal(*, err: bool = False) -> bool:
    """Whether stdout (or stderr) is a terminal."""
    stream = sys.stderr if err else sys.stdout
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def terminal_width() -> int | None:
    """Columns of the terminal; None when stdout is not a terminal, and nothing need be cut."""
    if not on_terminal():
        return None
    return max(_NO_SMALLER_THAN, shutil.get_terminal_size().columns)


def reading_width() -> int:
    """Columns for running text: those of the terminal, up to a readable number."""
    return min(terminal_width() or WIDTH, _READABLE)


def wrapped(text: object, *, indent: str = "", first: str | None = None) -> str:
    """Running text in lines of at most `WIDTH` columns, safe to print.

    Args:
        indent: before each line.
        first: before the first line instead.
    """
    from graphrag_rdf.trace.lines import Lines

    lines = Lines(WIDTH, colour=False)
    lines.paragraph(str(text), indent if first is None else first, hang=indent)
    return lines.text().rstrip("\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Collection[str] = ()) -> None:
    """A table of one-line cells; on a terminal cut to its width.

    Args:
        numbers: columns that are aligned to the right and never cut.
    """
    from graphrag_rdf.lists.table import Heading
    from graphrag_rdf.lists.table import table as lines_of

    headings = [Heading(name, name in numbers, "" if name in numbers else "end") for name in columns]
    heading, *lines = lines_of(headings, rows, width=terminal_width())
    say(styled(heading, bold=True))
    for line in lines:
        say(line)


def pairs(items: Iterable[tuple[str, object]], *, indent: str = "") -> None:
    """Names and values, one pair a line."""
    listed = [(safe(name), value) for name, value in items]
    longest = max((_cells(name) for name, _ in listed), default=0)
    for name, value in listed:
        say(f"{indent}{name}{' ' * (longest - _cells(name))}  {one_line(value)}".rstrip())


def _cells(text: str) -> int:
    """The columns that a text takes on a terminal: wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


# --- machines ------------------------------------------------------------------------------------


def json_text(data: object, *, indent: int | None = None) -> str:
    """JSON that is safe to print on a terminal; objects become JSON as by `to_json`."""
    text = json.dumps(data, ensure_ascii=not _takes_everything(), indent=indent, default=_to_json)
    return _JSON_ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", _encodable(text))


def _to_json(value: object) -> Any:
    from graphrag_rdf.rdf.json_values import to_json

    return to_json(value)


def write_json(data: object) -> None:
    """Print one JSON document."""
    click.echo(json_text(data, indent=2))


def write_jsonl(items: Iterable[object]) -> None:
    """Print each item on a line, as soon as it exists."""
    for item in items:
        click.echo(json_text(item))
        sys.stdout.flush()


def write(form: str, data: Any) -> bool:
    """Print the result of a command in the format that its user chose; False for other formats than JSON.

    Args:
        form: json prints `data` as one document, jsonl each of its items on a line.
    """
    if form == "json":
        write_json(data)
    elif form == "jsonl":
        write_jsonl(data)
    else:
        return False
    return True


def write_text(text: str) -> None:
    """Print the text of a file: unchanged, except on a terminal."""
    click.echo(safe(text) if on_terminal() else _encodable(text), nl=not text.endswith("\n"))


def write_file(text: str, path: Path | None) -> None:
    """Write a text to a file, or to stdout without one.

    Raises:
        UsageError: when the file cannot be written.
    """
    if path is None or str(path) == "-":
        write_text(text)
        return
    try:
        path.write_text(_encodable(text).removesuffix("\n") + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            tr("cannot write {path}: {cause}").format(path=path, cause=system_cause(error))
        ) from error


def read_stdin() -> str:
    """All of standard input as UTF-8 text."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


@contextmanager
def binary_output() -> Iterator[IO[bytes]]:
    """A stream of bytes to stdout; on a terminal it is printed without control sequences."""
    if on_terminal():
        buffer = io.BytesIO()
        yield buffer
        write_text(buffer.getvalue().decode("utf-8", "replace"))
    else:
        sys.stdout.flush()
        yield sys.stdout.buffer


def _takes_everything() -> bool:
    """Whether stdout is UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("-", "") == "utf8"


def never_fail_to_encode() -> None:
    """Let streams that are not UTF-8 show a question mark for characters that they lack."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def format_option(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--format`; the parameter is `form`, and the first name is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(names or ("text", "json")),
        default=(names or ("text",))[0],
        show_default=True,
        help="Output format.",
    )


def counts(numbers: Any) -> str:
    """All counts that are not zero, in a line.

    Args:
        numbers: name → number, or a dataclass of numbers.
    """
    from dataclasses import asdict

    if isinstance(numbers, Mapping):
        named = numbers
    else:
        named = {name.replace("_", " "): number for name, number in asdict(numbers).items()}
    return listed(
        tr(_COUNTED[name]).format(number=number) if name in _COUNTED else f"{number:,} {name}"
        for name, number in named.items()
        if number
    )


_COUNTED: Mapping[str, str] = {
    "added": later("{number:,} added"),
    "updated": later("{number:,} updated"),
    "read again": later("{number:,} read again"),
    "unchanged": later("{number:,} unchanged"),
    "moved": later("{number:,} moved"),
    "failed": later("{number:,} failed"),
    "forgotten": later("{number:,} forgotten"),
    "reused": later("{number:,} reused"),
    "removed": later("{number:,} removed"),
    "kept": later("{number:,} kept"),
    "written": later("{number:,} written"),
}
"""Name of a number → the message that tells it; other names are told as they are."""


def made_by(model: str) -> str:
    """What wrote descriptions or reports; `extractive` is no model."""
    if model == "extractive":
        return tr("by quoting, without a model")
    return tr("by {model}").format(model=model)


def quoted(quote: str | None, title: str, page: int | None = None, authority: float | None = None) -> str:
    """A quote with its document and page, on one line; the document alone if there is no quote."""
    place = tr("{title}, page {page}").format(title=title, page=page) if page else title
    if authority is not None:
        place = tr("{name}, authority {authority:g}").format(name=place, authority=authority)
    told = tr("“{quote}” ({place})") if quote else tr("({place})")
    return one_line(told.format(quote=quote, place=place))


def count_triples(number: int) -> str:
    """A number of triples, in words."""
    return counted("{count:,} triple", "{count:,} triples", number)


def usage(llm: LlmUsage) -> str:
    """The calls, tokens and cost of a model, in a line."""
    parts = [_calls(llm.calls), tr("{cached:,} cached").format(cached=llm.cached)]
    if llm.in_tokens is not None:
        told = (
            tr("{read:,} ({kept:,} from the provider's cache) + {written:,} tokens")
            if llm.cached_in_tokens
            else tr("{read:,} + {written:,} tokens")
        )
        parts.append(told.format(read=llm.in_tokens, kept=llm.cached_in_tokens, written=llm.out_tokens or 0))
    if llm.cost_usd is not None:
        parts.append(f"{llm.cost_usd:.4f} USD")
    return listed(parts)


def _calls(number: int) -> str:
    return counted("{count:,} call", "{count:,} calls", number)


def model_rows(left_out: Mapping[str, int], llm: LlmUsage) -> list[tuple[str, object]]:
    """What a stage left out of the answers of a model, by reason, and the usage of the model."""
    rows: list[tuple[str, object]] = []
    if left_out:
        rows.append(
            (tr("left out"), counts({code.replace("_", " "): number for code, number in left_out.items()}))
        )
    if llm.calls or llm.cached:
        rows.append((tr("model"), usage(llm)))
    return rows


def planned(calls: int, in_tokens: int | None, out_tokens: int | None, cost_usd: float | None) -> str:
    """The estimated calls, tokens and cost of a model, in a line."""
    cost = tr("price unknown") if cost_usd is None else f"{cost_usd:.2f} USD"
    told = tr("{calls}, about {read:,} + {written:,} tokens, {cost}")
    return told.format(calls=_calls(calls), read=in_tokens or 0, written=out_tokens or 0, cost=cost)
