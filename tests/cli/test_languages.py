"""The language of messages on the command line: `--lang`, the variables of GNU gettext, help and JSON."""

from __future__ import annotations

import gettext
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf import i18n
from tests.support.commands import Run

CHINESE = gettext.translation(i18n.DOMAIN, i18n.LOCALES, ["zh_CN"])
VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def chinese(message: str) -> str:
    """The translation of a message, which has one."""
    found = CHINESE.gettext(message)
    assert found != message
    return found


@pytest.fixture(autouse=True)
def _english_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in VARIABLES:
        monkeypatch.setenv(name, "")
    yield
    i18n.set_process_language(i18n.ENGLISH)


@pytest.mark.parametrize("tag", ["zh", "zh_CN", "zh-cn", "zh_CN.UTF-8", "zh-TW"])
def test_the_option_names_the_language(run: Run, store: Path, tag: str) -> None:
    assert run("--lang", tag, "trace", "list").out == f"{chinese('no traces yet')}\n"
    assert run("trace", "list", "--lang", tag).out == f"{chinese('no traces yet')}\n"


@pytest.mark.parametrize(
    ("variables", "translated"),
    [
        ({"LANG": "zh_CN.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, True),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "xx:zh_CN:en"}, True),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en"}, False),
        ({"LANG": "C", "LANGUAGE": "zh_CN"}, False),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({}, False),
    ],
)
def test_the_environment_names_the_language(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], translated: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    expected = chinese("no traces yet") if translated else "no traces yet"
    assert run("trace", "list").out == f"{expected}\n"


def test_the_option_wins_over_the_environment(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert run("--lang", "en", "trace", "list").out == "no traces yet\n"


def test_an_unknown_language_is_refused_with_the_known_ones(run: Run) -> None:
    found = run("--lang", "tlh", "doctor")
    assert found.code == 2
    assert found.err.splitlines() == [
        "error: there are no messages in 'tlh'",
        f"hint: languages: {', '.join(i18n.languages())}",
    ]


def test_errors_are_translated(run: Run, store: Path) -> None:
    english, found = run("entities", "show", "Nobody"), run("--lang", "zh", "entities", "show", "Nobody")
    assert found.code == english.code == 2
    assert chinese("no entity is called {name!r}").format(name="Nobody") in found.err


@pytest.mark.parametrize(
    "command",
    [
        ("entities", "list", "--format", "json"),
        ("documents", "--format", "json"),
        ("check", "--format", "json"),
        ("pipelines", "list", "--format", "json"),
        ("queries", "show", "entities/list", "--format", "json"),
        ("doctor", "--format", "json"),
    ],
)
def test_keys_and_codes_of_json_are_not_translated(run: Run, store: Path, command: tuple[str, ...]) -> None:
    english, found = run(*command), run("--lang", "zh", *command)
    assert found.code == english.code == 0
    assert _keys(found.json) == _keys(english.json)


def _keys(data: object) -> object:
    if isinstance(data, dict):
        return {key: _keys(value) for key, value in data.items()}
    return [_keys(one) for one in data] if isinstance(data, list) else type(data)


LIST = """List entities, those with the most facts first. Merged entities are listed as one.

Shown are those that a fact holds, a chunk is about, or two sentences name."""


def test_help_is_translated(run: Run) -> None:
    found = run("--lang", "zh", "entities", "list", "--help").out
    assert chinese(LIST).partition("\n")[0] in found
    assert chinese("Only names that contain this text.") in found
    assert chinese("Common options (--store, --lang, -v …): graphrag-rdf --help") in found
    assert "--match TEXT" in found


def test_the_short_help_of_a_command_is_its_first_sentence(run: Run) -> None:
    lines = run("--lang", "zh", "entities", "--help").out.splitlines()
    listed = chinese(LIST)
    assert f"  list       {listed.partition('。')[0]}。" in lines


def test_lines_of_help_fit_wide_characters(run: Run) -> None:
    from rich.cells import cell_len

    examples = CHINESE.ngettext("Example", "Examples", 2)
    for command in (("--help",), ("entities", "link", "--help"), ("ask", "--help"), ("entities", "--help")):
        shown, found, _ = run("--lang", "zh", *command).out.partition(f"\n{examples}:\n")
        assert found
        assert [line for line in shown.splitlines() if cell_len(line) > 80] == []


def test_what_is_declared_is_translated(run: Run, tmp_path: Path) -> None:
    """Pipelines, their steps and parameters, recipes, and settings."""
    assert (
        chinese("names and phrases to search for")
        in run("--lang", "zh", "pipelines", "show", "graph_rag").out
    )
    assert (
        chinese("The number of things of a type.") in run("--lang", "zh", "queries", "list", "cookbook").out
    )
    for language in ("zh", "en"):
        assert run("--lang", language, "init", str(tmp_path / language)).code == 0
    texts = [(tmp_path / name / "graphrag.toml").read_text("utf-8") for name in ("zh", "en")]
    assert chinese("cached answers") in texts[0]
    lines = [[line for line in text.splitlines() if " = " in line and '"' in line] for text in texts]
    keys = [
        [line for line in each if not line.startswith("namespace = ")] for each in lines
    ]  # each has its own
    assert keys[0] == keys[1]


def test_causes_of_the_system_are_translated(run: Run) -> None:
    assert (
        run("--lang", "zh", "sparql", "-f", "missing.rq")
        .err.splitlines()[0]
        .endswith(chinese("No such file or directory"))
    )


def test_labels_of_the_program_are_translated_when_they_are_shown() -> None:
    i18n.set_process_language("zh-CN")
    assert i18n.own_label("Chunk 3") == chinese("Chunk {0}").format(3)
    assert i18n.own_label("removal by hand") == chinese("removal by hand")
    assert i18n.own_label("Chunk by chunk") == "Chunk by chunk"
    assert i18n.tr("") == ""  # for gettext, it is the header of the catalogue
    with i18n.in_english():
        assert i18n.own_label("Chunk 3") == "Chunk 3"
