"""The table of names of other systems: what it names of ours exists."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from graphrag_rdf.cli.app import root
from graphrag_rdf.config import Settings
from graphrag_rdf.config.loading import flat_values
from graphrag_rdf.pipeline import load_pipeline
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.rdf.vocabulary_page import vocabularies
from graphrag_rdf.resources import folder
from graphrag_rdf.server.routes.openapi import routes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "seeds.md"
TABLES = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line[2:7] != "there"]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLES]
OURS = sorted({span for row in ROWS for span in re.findall(r"`([^`]+)`", row[-1])})


def test_each_row_has_a_name_of_theirs_and_one_of_ours() -> None:
    assert len(ROWS) > 80
    assert all(len(row) == 2 and all(row) for row in ROWS)


@pytest.mark.parametrize("path", [span for span in OURS if re.fullmatch(r"\^?(tg|rag|prov|skos):.*", span)])
def test_terms_are_declared(path: str) -> None:
    declared = {row.term for vocabulary in vocabularies() for row in vocabulary.terms}
    for term in re.split(r"[/^+]+", path):
        if term.startswith(("tg:", "rag:")):
            assert term in declared, term
        assert term.partition(":")[0] in PREFIXES


@pytest.mark.parametrize("line", [span for span in OURS if span.startswith("graphrag-rdf")])
def test_commands_and_options_exist(line: str) -> None:
    command: click.Command = root
    context = click.Context(root)
    words = line.split()[1:]
    while words and isinstance(command, click.Group) and (found := command.get_command(context, words[0])):
        command, words = found, words[1:]
    assert command is not root
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("key", [span for span in OURS if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", span)])
def test_settings_and_parameters_exist(key: str) -> None:
    if key in flat_values(Settings()):
        return
    pipeline, _, parameter = key.partition(".")
    value = "additive" if parameter.endswith("scheme") else "1"
    load_pipeline(pipeline, [folder("pipelines")]).with_settings({parameter: value})


@pytest.mark.parametrize("line", [span for span in OURS if re.match(r"(GET|POST) /", span)])
def test_paths_exist(line: str) -> None:
    method, path = line.split(" ", 1)
    known = {(found, route.path) for route in routes() for found in getattr(route, "methods", ())}
    assert (method, path.partition("?")[0]) in known
