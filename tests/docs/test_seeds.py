"""The table of names of other systems: whatever it names of ours exists."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import pyoxigraph as ox
import pytest

from graphrag_rdf.checks.diagnosis import store_facts
from graphrag_rdf.cli.app import root
from graphrag_rdf.config import Settings, load_settings
from graphrag_rdf.config.elsewhere import ELSEWHERE
from graphrag_rdf.config.loading import flat_values
from graphrag_rdf.pipeline import load_pipeline
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PREFIXES, Graphs
from graphrag_rdf.rdf.vocabulary_page import vocabularies
from graphrag_rdf.resources import folder
from graphrag_rdf.server.http.questions import AskRequest
from graphrag_rdf.server.routes.openapi import routes
from tests.support.sample_stores import QUESTION, sample_engine

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "reference" / "seeds.md"
TABLES = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line[2:7] != "there"]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLES]
SPAN = re.compile(r"`([^`]+)`")
VALUE = re.compile(r"`([a-z_]+(?:\.[a-z_]+)+)` `([^`]+)`")
"""A setting or parameter, and a value that it takes."""


def ours() -> Iterator[str]:
    """What the right column names; for "the same", also what the left one names."""
    for theirs, here in ROWS:
        values = [(key, value) for key, value in VALUE.findall(here)]
        yield from (f"{key} {value}" for key, value in values)
        yield from SPAN.findall(VALUE.sub("", here))
        if here.startswith("the same"):
            yield from SPAN.findall(theirs)


def is_term(path: str) -> bool:
    """Its terms of our vocabularies are declared."""
    declared = {row.term for vocabulary in vocabularies() for row in vocabulary.terms}
    terms = re.split(r"[/^+]+", path.rstrip("+"))
    return all(
        term in declared if term.startswith(("tg:", "rag:")) else term.partition(":")[0] in PREFIXES
        for term in terms
    )


def is_command(line: str) -> bool:
    """The command exists and has the options."""
    command: click.Command = root
    context = click.Context(root)
    words = line.split()[1:]
    while words and isinstance(command, click.Group) and (found := command.get_command(context, words[0])):
        command, words = found, words[1:]
    parameters = [*command.params, *root.get_command(context, "ask").params]
    options = {name for one in parameters for name in (*one.opts, *one.secondary_opts)}
    if "--set" in words:
        key, _, value = words[words.index("--set") + 1].partition("=")
        load_pipeline(words[words.index("--pipeline") + 1], [folder("pipelines")]).with_settings({key: value})
    return (command is not root or "--" in line) and {w for w in words if w.startswith("-")} <= options


def is_setting(text: str) -> bool:
    """The setting, or the parameter of a pipeline, exists and takes the value."""
    key, _, value = text.partition(" ")
    if key in (settings := flat_values(Settings())):
        load_settings(overrides={key: [value] if isinstance(settings[key], list) else value} if value else {})
    else:
        pipeline, _, parameter = key.partition(".")
        load_pipeline(pipeline, [folder("pipelines")]).with_settings({parameter: value or "1"})
    return True


def is_route(line: str) -> bool:
    method, _, path = line.rpartition(" ")
    return any(
        route.path.startswith(path) if not method else (route.path, method) == (path, method)
        for route in routes()
        if not method or method in getattr(route, "methods", ())
    )


def is_iri(form: str) -> bool:
    """A trace has such an IRI."""
    known = {iris.session("uuid"), iris.trace_item("edge", "uuid", 0)}
    for one in iris.STEP_FORMS.values():
        known |= {iris.question("uuid", one), iris.answer_document("uuid", one)}
        known |= {iris.trace_step(step, "uuid", one) for step in ("analysis", "conclusion", "focus")}
        known |= {iris.trace_step(step, "uuid", one) for step in ("exploration", "synthesis")}
    return form.replace("{uuid}", "uuid").replace("{index}", "0") in {node.value for node in known}


def is_file(path: str) -> bool:
    """A file, or a template by its name."""
    return (PROJECT / path).is_file() or (folder("queries") / f"{path}.rq").is_file()


def is_syntax(text: str) -> bool:
    """A term of a query, if its letters are variables."""
    term = re.sub("([a-z])", r"?\1", text)
    return ox.Store().query(f"ASK {{ ?x ?y {term} }}") is not None


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from map(str, value)
    for one in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from keys_of(one)


@cache
def names() -> frozenset[str]:
    """JSON keys of an answer, of requests and of doctor; stages, pipelines, and types of warnings."""
    with sample_engine() as engine:
        documents = [message.json_object() for message in engine.ask(QUESTION)]
        found = set(keys_of([*documents, store_facts(engine)]))
    fields = {*AskRequest.model_fields, *AskRequest.model_fields["session"].validation_alias.choices}
    stages = re.findall(r"stage: (\w+)", (folder("pipelines") / "ingest" / "pipeline.yaml").read_text())
    warnings = re.findall(r"^\| `(\w+)`", (PROJECT / "docs/how-to/trouble.md").read_text(), re.MULTILINE)
    return frozenset(
        {*found, *fields, *stages, *warnings, *(one.name for one in folder("pipelines").iterdir())}
    )


KINDS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    (r"\^?(tg|rag|prov|skos|rdfs):.*", is_term),
    (r"graphrag-rdf .*", is_command),
    (r"graphrag_rdf(\.\w+)+", lambda name: pkgutil.resolve_name(name) is not None),
    (r"[a-z_]+(\.[a-z_]+)+( .*)?", is_setting),
    (r"(GET|POST) .*|/api/v1", lambda line: is_route(line.partition("?")[0])),
    (r"urn:graph:\w+", lambda graph: ox.NamedNode(graph) in vars(Graphs).values()),
    (r"urn:trustgraph:.*", is_iri),
    (r"<<.*", is_syntax),
    (r"\w+/.*", is_file),
    (r"\w+(\[\])?(\.\w+)?", lambda key: set(re.findall(r"\w+", key)) <= names()),
)
"""What a name looks like → whether it exists; the first that fits counts."""


def test_each_row_has_a_name_of_theirs_and_one_of_ours() -> None:
    assert len(ROWS) > 120
    assert all(len(row) == 2 and all(row) for row in ROWS)


@pytest.mark.parametrize("name", sorted(set(ours())))
def test_what_the_page_names_exists(name: str) -> None:
    exists = next(check for form, check in KINDS if re.fullmatch(form, name))
    assert exists(name)


def test_hints_say_what_the_table_says() -> None:
    for theirs, ours in ELSEWHERE.items():
        assert any(f"`{theirs}" in row[0] and f"`{ours}`" in row[1] for row in ROWS), theirs
