"""A kind of decision is one module: what it declares can be made, listed, shown and undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf import Engine, ingest
from graphrag_rdf.ingest.decisions import Decision, all_kinds, decide, named, numbered, read_decisions, undo
from graphrag_rdf.rdf import iris
from tests.support.commands import Run
from tests.support.stores import open_engine

PRAISE = """
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.ingest.decisions import Decision, Kind
from graphrag_rdf.rdf.namespaces import Graphs

STARS = NamedNode("http://example.org/stars")


def effect(engine, changes, decisions):
    for decision in decisions:
        quads = [Quad(member, STARS, Literal(5), Graphs.DERIVED) for member in decision.members]
        if decision.undone:
            changes.remove += quads
        else:
            changes.add += quads
    engine.store.commit(changes)


KINDS = [
    Kind("praise", "praise", (NamedNode("http://example.org/Praise"),), effect, Decision, words="deserves it")
]
"""


ADA = iris.entity("ada")


@pytest.fixture
def _praise(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (folder / "modules").mkdir()
    (folder / "modules" / "praise_decisions.py").write_text(PRAISE)
    monkeypatch.setattr(ingest, "__path__", [*ingest.__path__, str(folder / "modules")])
    yield
    sys.modules.pop("graphrag_rdf.ingest.praise_decisions", None)


def stars(engine: Engine) -> int:
    """How many entities have stars."""
    return sum(quad.predicate == NamedNode("http://example.org/stars") for quad in engine.store.quads())


@pytest.mark.usefixtures("_praise")
def test_a_kind_is_one_module(run: Run, store: Path) -> None:
    kind = next(kind for kind in all_kinds() if kind.name == "praise")
    draft = Decision(kind=kind, members=(ADA,), by=iris.agent("person"), reason="She wrote the first.")
    with open_engine(store) as engine:
        decide(engine, numbered((), [draft]))
        assert stars(engine) == 1
        (decision,) = read_decisions(engine.store, [kind])
    assert (decision.members, decision.reason, decision.undone) == ((ADA,), draft.reason, None)
    (listed,) = run("decisions", "list", "--format", "json").json
    assert (listed["iri"], listed["kind"], listed["members"]) == (decision.iri.value, "praise", [ADA.value])
    assert "ada deserves it" in run("decisions", "list", "--about", "praise").out
    assert "She wrote the first." in run("decisions", "show", decision.iri.value).out
    (undone,) = run("decisions", "undo", decision.iri.value, "--format", "json").json
    assert undone["undone"]
    assert run("decisions", "list", "--format", "json").json == []
    assert len(run("decisions", "list", "--all", "--format", "json").json) == 1
    with open_engine(store) as engine:
        assert stars(engine) == 0
        (again,) = numbered([decision], [draft])
        assert again.iri != decision.iri
        decide(engine, [again])
        assert stars(engine) == 1
        undo(engine, named(engine.store, [again.iri.value], [kind]))
        assert stars(engine) == 0


def test_decisions_of_all_kinds(run: Run, store: Path) -> None:
    run("entities", "merge", "Walter Pennock", "Beatrice Pennock")
    run("facts", "remove", "Walter Pennock", "lived in", "Port Merrin", "--reason", "misread")
    listed = run("decisions", "list", "--format", "json").json
    assert [decision["kind"] for decision in listed] == ["merge", "removal"]
    assert [d["kind"] for d in run("decisions", "list", "--about", "facts", "--format", "json").json] == [
        "removal"
    ]
    out = run("decisions", "list").out
    assert "Walter Pennock represents Beatrice Pennock" in out
    assert "(Walter Pennock, lived in, Port Merrin) does not hold" in out
    assert run("decisions", "list", "--about", "weather").code == 2
    undone = run("decisions", "undo", *(decision["iri"] for decision in listed))
    assert undone.code == 0
    assert run("decisions", "list", "--format", "json").json == []
    assert run("check").code == 0
    assert run("decisions", "undo", "urn:nothing").code == 2
