"""What is printed is harmless, wrapped, and for machines complete."""

from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.cli import output
from graphrag_rdf.trace.lines import human_size

STEERING = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\n", "\t"}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@given(st.text())
def test_safe_text_steers_nothing(text: str) -> None:
    assert not STEERING & set(output.safe(text))


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_json_is_what_was_given_and_steers_nothing(data: object) -> None:
    text = output.json_text(data)
    assert not STEERING & set(text)
    assert json.loads(text) == json.loads(json.dumps(data).encode("utf-8", "replace"))


@given(st.text(min_size=1, max_size=400))
def test_wrapped_lines_fit(text: str) -> None:
    from rich.cells import cell_len

    for line in output.wrapped(text, indent="    ", first="[1] ").splitlines():
        assert cell_len(line) <= output.WIDTH


def test_wrapped_text_is_all_there() -> None:
    text = "one two three " * 20
    wrapped = output.wrapped(text, indent="    ", first="[1] ")
    assert wrapped.startswith("[1] one")
    assert wrapped.removeprefix("[1] ").split() == text.split()


def test_table_is_whole_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("a", "b"), [("x" * 300, None), ("two\nlines", 3)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "x" * 300
    assert "two lines" in lines[2]
    assert len(lines) == 3


def test_table_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    output.table(("name", "summary"), [("x" * 30, "word " * 40)])
    assert all(len(line) <= 60 for line in terminal.getvalue().splitlines())
    assert "…" in terminal.getvalue()


@pytest.mark.parametrize(
    ("stream", "variables", "coloured"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colour_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, variables: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream)
    assert ("\x1b" in output.styled("hello", fg="red")) is coloured


def test_bytes_for_a_terminal_are_made_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    with output.binary_output() as stream:
        stream.write(b"name\n\x1b[2Jevil\n")
    assert "\x1b" not in terminal.getvalue()
    assert "evil" in terminal.getvalue()


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (10**15, "1000.0 TB")],
)
def test_sizes(size: int, text: str) -> None:
    assert human_size(size) == text
