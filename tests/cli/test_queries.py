"""`queries`: the templates, listed, shown and run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyoxigraph as ox
import pytest

from graphrag_rdf.resources import folder as folder_of
from graphrag_rdf.sparql.library import TemplateLibrary
from tests.support.commands import Run


def test_list(run: Run) -> None:
    found = run("queries", "list", "system")
    assert "system/languages" in found.out
    assert "retrieval/edges" not in found.out
    listed = run("queries", "list", "--format", "json").json
    assert {"name", "kind", "summary", "params", "returns"} <= listed[0].keys()
    assert len(listed) > 30


def test_show(run: Run) -> None:
    found = run("queries", "show", "retrieval/labels")
    assert "SELECT" in found.out
    assert "-p " in found.out
    assert run("queries", "show", "retrieval/labels", "--format", "json").json["kind"] == "select"
    turtle = run("queries", "show", "retrieval/labels", "--format", "turtle").out
    store = ox.Store()
    store.load(turtle.encode(), ox.RdfFormat.TURTLE)
    text = "ASK { ?q a sh:SPARQLSelectExecutable ; sh:select ?text ; sh:parameter/sh:name 'things' }"
    assert store.query(text, prefixes={"sh": "http://www.w3.org/ns/shacl#"})


def test_run(run: Run, store: Path) -> None:
    assert "en" in run("queries", "run", "system/languages").out
    found = run("queries", "run", "entities/list", "-p", "text=orr", "-p", "limit=3", "--format", "csv")
    assert "Andrew Orr" in found.out


def test_lists_and_rows_as_parameters(run: Run, store: Path) -> None:
    """A list is a parameter given again; a row of terms has a blank between them."""
    iri = "http://trustgraph.ai/e/andrew-orr"
    found = run("queries", "run", "labels/known", "-p", f"things={iri}", "-p", f"things=<{iri}>")
    assert "Andrew Orr" in found.out
    edge = f"{iri} http://trustgraph.ai/r/designed http://trustgraph.ai/e/drumlaw-head-lighthouse"
    found = run("queries", "run", "provenance/sources", "-p", f"edges={edge}", "--show")
    assert "<http://trustgraph.ai/r/designed>" in found.out
    quoted = run(
        "queries", "run", "provenance/sources", "-p", "edges=" + " ".join(f"<{t}>" for t in edge.split())
    )
    assert "Andrew Orr designed Drumlaw Head Lighthouse" in quoted.out


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (["nothing/here"], "nothing/here", 2),
        (["entities/list"], "-p text=", 2),
        (["entities/list", "-p", "nothing=1"], "text, limit", 2),
        (["entities/list", "-p", "text=a", "-p", "limit=x"], "limit", 2),
        (["entities/list", "-p", "limit"], "name=value", 2),
        (["labels/known", "-p", "things=no iri"], "things", 2),
        (["forget/documents", "-p", "documents=urn:a"], "is an update", 2),
    ],
)
def test_wrong_usage(run: Run, store: Path, arguments: list[str], told: str, code: int) -> None:
    found = run("queries", "run", *arguments)
    assert found.code == code
    assert told in found.err


@pytest.mark.parametrize(
    "name", [name for name in TemplateLibrary(folder_of("queries")) if "cookbook" in name]
)
def test_what_is_missing_is_told_with_an_example_that_runs(run: Run, store: Path, name: str) -> None:
    found = run("queries", "run", name, "--show")
    if found.code != 0:
        assert found.code == 2
        assert "-p " in found.err
        _, example = found.err.split("hint: e.g. graphrag-rdf ")
        assert run(*shlex.split(example), "--show").code == 0


def test_an_example_keeps_what_was_given(run: Run, store: Path) -> None:
    found = run("queries", "run", "cookbook/timeline", "-p", "first=1801")
    assert found.err.endswith("queries run cookbook/timeline -p first=1801 -p last=1913\n")


def test_own_templates_override(run: Run, store: Path, folder: Path) -> None:
    own = folder / "own" / "system"
    own.mkdir(parents=True)
    (own / "languages.rq").write_text(
        "# name: system/languages\n# kind: ask\n# summary: Mine.\nASK { ?s ?p ?o }\n"
    )
    (folder / "graphrag.toml").write_text('queries = "own"\n')
    assert run("queries", "run", "system/languages").code == 2
    assert run("config", "trust").code == 0
    assert run("queries", "run", "system/languages").out == "yes\n"


def test_an_unknown_name_is_wrong_usage(run: Run, store: Path) -> None:
    for command in ("run", "show"):
        found = run("queries", command, "system/languges")
        assert found.code == 2
        assert "system/languages" in found.err
