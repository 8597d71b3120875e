"""Modules, templates, commands, options and parameters that pages, docstrings and comments name exist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import click
import pytest
from babel.messages.pofile import read_po

from graphrag_rdf import i18n
from graphrag_rdf.cli.app import root
from graphrag_rdf.pipeline import load_pipeline, pipeline_names
from graphrag_rdf.resources import folder
from graphrag_rdf.trace.citations import SETTING
from tests.docs.markdown import REPOSITORY, blocks, pages

_COMMAND = re.compile(r"(?:^|[$(|] ?)graphrag-rdf ([^\n`|#)<>]*)", re.MULTILINE)
_INLINE = re.compile(r"`graphrag-rdf ([^`]*)`")


_INVENTED = re.compile(r"^## Your first change$.*?^(?=## )", re.MULTILINE | re.DOTALL)


def text_of(page: Path) -> str:
    """A page without the examples that contributors are to write."""
    return _INVENTED.sub("", page.read_text("utf-8"))


def named(pattern: str) -> set[tuple[str, str]]:
    """(page, name) of what matches on any page but the changelog, which names what is gone."""
    return {
        (page.name, found)
        for page in pages()
        if page.name != "CHANGELOG.md"
        for found in re.findall(pattern, text_of(page))
    }


_FOLDERS = ("graphrag_rdf", "benchmarks", "docs", "examples", "queries", "pipelines", "ontology", "tests")
_ELSEWHERE = "scripted_llm.py"
"""A tool that `benchmarks/ingest_book.py` runs from the folder of the data."""


def test_modules_exist() -> None:
    """Those that pages, docstrings and comments name: `module.py`, with or without folders."""
    tests = REPOSITORY / "tests"
    module = r"(?<![\w.{}*/])((?:\w+/)*\w+\.py)\b"
    files = [path for name in _FOLDERS for path in (REPOSITORY / name).rglob("*.*")]
    paths = [path.relative_to(REPOSITORY).parts for path in files if path.suffix == ".py"]
    existing = {"/".join(path[start:]) for path in paths for start in range(len(path))}
    in_code = {
        (path.name, found)
        for path in [REPOSITORY / "pyproject.toml", *files]
        if path.suffix in {".py", ".rq", ".ru", ".ttl", ".yaml", ".toml"} and tests not in path.parents
        for found in re.findall(module, path.read_text("utf-8"))
    }
    assert {
        (place, found) for place, found in named(module) | in_code if found not in {*existing, _ELSEWHERE}
    } == set()


def test_templates_exist() -> None:
    queries = folder("queries")
    assert {
        (page, name)
        for page, name in named(r"queries (?:run|show) ([a-z-]+/[a-z-]+)")
        if not list(queries.glob(f"{name}.r[qu]"))
    } == set()


def test_benchmarks_exist() -> None:
    names = named(r"python -m benchmarks\.(\w+)")
    assert {n for _, n in names if not (REPOSITORY / "benchmarks" / f"{n}.py").exists()} == set()


@cache
def parameters() -> frozenset[str]:
    """`step.parameter` of all pipelines."""
    folders = [folder("pipelines")]
    return frozenset(
        f"{step.name}.{parameter}"
        for pipeline in pipeline_names(folders)
        for step in load_pipeline(pipeline, folders).definition.steps
        for parameter in ("use", *step.values())
    )


def test_parameters_exist() -> None:
    names = named(r"--set ([a-z_]+\.[a-z_]+)=")
    known = {*parameters(), "step.parameter", SETTING}
    assert {(page, name) for page, name in names if name not in known} == set()


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("names what is gone")
    text = text_of(page)
    lines = [
        line
        for name in ("sh", "console")
        for _, code in blocks(text, name)
        for line in _COMMAND.findall(code)
    ]
    lines += _INLINE.findall(text)
    assert [line for line in lines if not _known(line.split())] == []


def test_commands_in_messages_exist() -> None:
    """Those that errors, hints and help name, and their translations."""
    with next(i18n.LOCALES.glob("*/LC_MESSAGES/*.po")).open("rb") as file:
        said = [text for one in read_po(file) for each in (one.id, one.string) for text in _texts(each)]
    lines = [line.split() for text in said for line in _IN_MESSAGES.findall(text)]
    assert len(lines) > 100
    assert [words for words in lines if words[0] not in _NOT_COMMANDS and not _known(words)] == []


_IN_MESSAGES = re.compile(r"graphrag-rdf ([a-z](?:(?![\n:;,()。；，：（）<]|[.] ).)*)")
_NOT_COMMANDS = ("again", "server")


def _texts(said: str | Iterable[str]) -> Iterable[str]:
    return [said] if isinstance(said, str) else said


def _known(words: list[str]) -> bool:
    """Whether the words are a command with options of its own; what is in capitals stands for anything."""
    command: click.Command = root
    context = click.Context(root)
    options = _options(root)
    while words and words[0] in options:
        words = words[2:]
    while isinstance(command, click.Group) and words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        inner = command.get_command(context, words[0])
        if inner is None:
            return False
        command, words = inner, words[1:]
        options |= _options(command)
    flags = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
    return flags <= options | {"--help"}


def _options(command: click.Command) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


def test_pages_use_the_words_of_the_field() -> None:
    """Not those that the project once invented for parts of itself."""
    private = r"(?i)(?<![`.:\w])(librarian|outpost|shelf|sieve)s?\b(?!/)"
    assert {(page, word) for page, word in named(private)} == set()
