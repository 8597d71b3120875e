"""`source authority`: documents whose statements count more than those of others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.rdf.namespaces import DCTERMS, RAG, Graphs
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.store.base import Changes, Store
from tests.support.commands import Run
from tests.support.stores import open_engine

REGISTER = "The Merlin sank on 14 November 1911. The owner of the Merlin was Walter Pennock.\n"
LETTERS = "The Merlin sank on 17 November 1912. The owner of the Merlin was Magnus Hale.\n"


@pytest.fixture
def ships(run: Run, folder: Path) -> Path:
    """Two documents that contradict one another."""
    for name, text in (("register", REGISTER), ("letters", LETTERS)):
        (folder / "ships" / name).mkdir(parents=True)
        (folder / "ships" / name / "merlin.md").write_text(text)
    run("ingest", "ships", "--model", "none")
    return folder / "ships"


@pytest.fixture(scope="module")
def weighed() -> Iterator[Store]:
    """A store with two chunks of two documents."""
    with open_engine(":memory:") as engine:
        chunks = [
            Quad(NamedNode(f"urn:t:{name}#c"), DCTERMS.isPartOf, NamedNode(f"urn:t:{name}"), Graphs.SOURCE)
            for name in ("one", "two")
        ]
        engine.store.commit(Changes(add=chunks))
        yield engine.store


def authorities(run: Run) -> dict[str, tuple[float, float | None]]:
    items = run("source", "authority", "--format", "json").json
    return {item["path"]: (item["authority"], item["assigned"]) for item in items}


def owners(run: Run, *options: str) -> list[str]:
    """The selected facts about the owner, best first."""
    run("ask", "Who was the owner of the Merlin?", "--model", "none", *options)
    [trace] = [
        item
        for item in run("trace", "show", "last", "--format", "json").json["steps"]
        if item["type"] == "focus"
    ]
    edges = [one for one in trace["selections"] if one["edge"]]
    return [
        one["edge"]["s_label"] for one in edges if one["edge"]["s_label"] in {"Walter Pennock", "Magnus Hale"}
    ]


def test_a_document_with_more_authority_comes_first(run: Run, ships: Path) -> None:
    assert "all count as 0.5" in run("source", "authority").out
    for path, first in (
        ("ships/letters/merlin.md", "Magnus Hale"),
        ("ships/register/merlin.md", "Walter Pennock"),
    ):
        run("source", "authority", path, "0.9")
        assert owners(run)[0] == first
        run("source", "authority", path, "--unset")
    run("source", "authority", "ships/letters/merlin.md", "0.1")
    assert owners(run)[0] == "Walter Pennock"
    assert run("trace", "verify", "last").code == 0
    query = run("trace", "query", "last", "selection/weighed").out
    assert "rag:authority" in query


def test_without_authority_nothing_is_weighed(run: Run, ships: Path) -> None:
    def queries() -> str:
        run("ask", "Who was the owner of the Merlin?", "--model", "none")
        return run("trace", "show", "last", "--full").out

    assert "selection/weighed" not in queries()
    run("source", "authority", "ships/letters/merlin.md", "0.9")
    assert "selection/weighed" in queries()
    before = owners(run, "--set", "focus.authority_weight=0")
    run("source", "authority", "ships/letters/merlin.md", "--unset")
    assert owners(run) == before


def test_answers_and_traces_show_it(run: Run, ships: Path) -> None:
    run("source", "authority", "ships/letters/merlin.md", "0.9")
    asked = ("ask", "Who was the owner of the Merlin?", "--model", "none")
    shown = " ".join(run(*asked).out.split())
    assert "[1] Merlin (ships/letters/merlin.md), authority 0.9 The Merlin sank" in shown
    assert shown.startswith("The owner of the Merlin was Magnus Hale. [1]")
    assert "authority 0.9" in run("trace", "show", "last").out
    answer = run(*asked, "--format", "json").json
    found = {source["document"].rpartition("ships/")[2]: source["authority"] for source in answer["sources"]}
    assert found == {"letters/merlin.md": 0.9}
    cited = [source for citation in answer["citations"] for source in citation["sources"]]
    assert {source["authority"] for source in cited} == {0.9}
    assert [one["authority"] for one in answer["passages"]] == [0.9, None]
    assert run("source", "tree", "ships/letters/merlin.md", "--format", "json").json["authority"] == 0.9
    listed = run("documents", "--format", "json").json
    assert sorted(item["authority"] or 0 for item in listed) == [0, 0.9]


def test_conflicts_say_which_side_has_more(run: Run, ships: Path) -> None:
    [found] = run("facts", "conflicts", "--format", "json").json
    assert found["more_authority"] is None
    run("source", "authority", "ships/register/merlin.md", "0.2")
    [found] = run("facts", "conflicts", "--format", "json").json
    assert found["facts"][found["more_authority"]]["o_label"] == "1912-11-17"
    assert [fact["authority"] for fact in found["facts"]] == [0.2, None]
    assert "1912-11-17 ← more authority" in run("facts", "conflicts").out.replace("  ←", " ←")


def test_it_stays_with_an_edit_and_follows_a_move(run: Run, ships: Path) -> None:
    run("source", "authority", "ships/letters/merlin.md", "0.9")
    (ships / "letters" / "merlin.md").write_text(LETTERS + "The Merlin was built in Tarnay.\n")
    run("ingest", "ships", "--model", "none")
    assert authorities(run) == {"ships/letters/merlin.md": (0.9, 0.9)}
    shutil.move(ships / "letters" / "merlin.md", ships / "merlin.md")
    run("ingest", "ships", "--sync", "--model", "none")
    assert authorities(run) == {"ships/merlin.md": (0.9, 0.9)}
    run("source", "authority", "ships/merlin.md", "--unset")
    run("ingest", "ships", "--sync", "--model", "none")
    assert authorities(run) == {}
    run("source", "authority", "ships/merlin.md", "0.9")
    run("forget", "ships/merlin.md")
    assert authorities(run) == {}
    assert run("check", "--shapes").code == 0


def test_settings_give_it_by_path(run: Run, ships: Path, folder: Path) -> None:
    run("source", "authority", "ships/letters/merlin.md", "0.9")
    (folder / "graphrag.toml").write_text(
        '[documents]\nauthority = ["ships/* = 0.3", "Ships/REGISTER/* = 1"]\n'
    )
    run("ingest", "ships", "--model", "none")
    by_hand = {"ships/letters/merlin.md": (0.9, 0.9)}
    assert authorities(run) == {**by_hand, "ships/register/merlin.md": (1.0, None)}
    run("source", "authority", "ships/letters/merlin.md", "--unset")
    assert authorities(run)["ships/letters/merlin.md"] == (0.3, None)
    (folder / "graphrag.toml").unlink()
    run("ingest", "ships", "--model", "none")
    assert authorities(run) == {}


@pytest.mark.parametrize("line", ["ships/*", "= 0.5", "ships/* = 2", "ships/* = high", "ships/* = -1"])
def test_malformed_lines_of_the_setting(run: Run, folder: Path, line: str) -> None:
    (folder / "graphrag.toml").write_text(f'[documents]\nauthority = ["{line}"]\n')
    failed = run("documents")
    assert failed.code == 2
    assert "documents.authority" in failed.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["ships/letters/merlin.md"],
        ["x.md", "0.5"],
        ["ships", "1.5"],
        ["ships/letters/merlin.md", "1", "--unset"],
        ["--unset"],
    ],
)
def test_wrong_use(run: Run, ships: Path, arguments: list[str]) -> None:
    assert run("source", "authority", *arguments).code == 2
    assert authorities(run) == {}


@given(
    scores=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    first=st.floats(0, 1),
    second=st.floats(0, 1),
    weight=st.floats(0, 1),
)
def test_scores_stay_between_0_and_1(
    scores: list[float], first: float, second: float, weight: float, weighed: Store
) -> None:
    """Two chunks of documents with an authority, and something that was read from no text."""
    nodes = [NamedNode(f"urn:t:{name}") for name in ("one", "two")]
    given = [
        Quad(node, RAG.authority, double(value), Graphs.SOURCE)
        for node, value in zip(nodes, (first, second), strict=True)
    ]
    weighed.commit(Changes(add=given))
    rows = weighed.select(
        "selection/weighed",
        found=list(enumerate(scores)),
        chunks=[(place, NamedNode(f"{node.value}#c")) for place, node in enumerate(nodes)],
        weight=weight,
    )
    weighed.commit(Changes(remove=given))
    found = {row["place"]: row["score"] for row in rows}
    assert sorted(found) == [0, 1, 2]
    assert all(0 <= after <= before + 1e-9 for before, after in ((scores[n], found[n]) for n in found))
    best = max((first, 0), (second, 1))[1]
    if max(first, second) >= 0.5:
        assert found[best] == pytest.approx(scores[best])
