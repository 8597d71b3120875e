"""The architecture pages against the code: who imports whom, and the names it uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import Graph

from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.wing import Wing, wings
from tests.docs.markdown import REPOSITORY, blocks, pages, without_code

PACKAGE = REPOSITORY / "graphrag_rdf"
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
DETAILS = REPOSITORY / "docs" / "architecture"
MOST_BYTES = 25_000
"""One reads the main page in one go; what is longer belongs on a page of its own."""
ENTRY = {"__init__", "__main__", "__version__"}
WINGS = PACKAGE / "wings"
_ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([^|]*) ?\|$", re.MULTILINE)


def table() -> dict[str, set[str]]:
    """Room → the rooms it may know."""
    found: dict[str, set[str]] = {}
    section = PAGE.partition("### Rooms")[2].partition("\n##")[0]
    for room, known in _ROW.findall(section):
        above = set(found)
        found[room] = above if known.strip() == "all above" else set(re.findall(r"`(\w+)`", known))
    return found


def imports() -> Iterator[tuple[str, str, Path]]:
    """(importing room, imported room, file), for type checkers too, relative imports resolved."""
    for path in sorted(PACKAGE.rglob("*.py")):
        package = ["graphrag_rdf", *path.relative_to(PACKAGE).parent.parts]
        room = package[1] if len(package) > 1 else path.stem
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            for module in _modules(node, package):
                if module[0] == "graphrag_rdf" and len(module) > 1 and module[1] != room:
                    yield room, module[1], path


def _modules(node: ast.AST, package: list[str]) -> Iterator[list[str]]:
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else []
        module = [*base, *(node.module.split(".") if node.module else [])]
        if len(module) == 1:
            yield from ([*module, alias.name] for alias in node.names)
        else:
            yield module


def test_the_page_is_short_and_lists_the_others() -> None:
    assert len(PAGE.encode()) <= MOST_BYTES
    listed = set(re.findall(r"\]\(architecture/([\w-]+\.md)\) \|", PAGE.partition("## Pages")[2]))
    assert listed == {path.name for path in DETAILS.iterdir()}


def test_the_table_names_every_room() -> None:
    rooms = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert set(table()) == rooms - ENTRY - {"wings"}


def test_the_sizes_of_rooms_are_about_right() -> None:
    """Within a fifth, since the figures change with every commit."""
    page = (DETAILS / "sizes.md").read_text("utf-8")
    sizes = dict(re.findall(r"^\| `(\w+)` \| \d+ \| ([\d,]+) \| [\d,]+ \|$", page, re.MULTILINE))
    assert set(sizes) == set(table())
    wrong = {}
    for room, stated in sizes.items():
        single = PACKAGE / f"{room}.py"
        files = [single] if single.exists() else (PACKAGE / room).rglob("*.py")
        lines = sum(len(path.read_text("utf-8").splitlines()) for path in files)
        if abs(lines - int(stated.replace(",", ""))) > max(200, lines / 5):
            wrong[room] = (stated, lines)
    assert wrong == {}, "run: python docs/generate.py"


def test_rooms_know_only_what_the_table_allows() -> None:
    allowed = table()
    wrong = {
        f"{path.relative_to(REPOSITORY)} imports {imported}"
        for room, imported, path in imports()
        if room not in {*ENTRY, "wings"} and imported not in ENTRY and imported not in allowed[room]
    }
    assert wrong == set(), "the core imports no wing"


@pytest.mark.parametrize("wing", wings(), ids=lambda wing: wing.name)
def test_wings_know_the_core_and_the_wings_that_they_name(wing: Wing) -> None:
    imported = {
        module[2]
        for path in (WINGS / wing.name).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for module in _modules(node, ["graphrag_rdf", *path.relative_to(PACKAGE).parent.parts])
        if module[:2] == ["graphrag_rdf", "wings"] and len(module) > 2
    }
    assert imported - {wing.name} == {*wing.needs}


def test_every_folder_of_a_wing_is_declared() -> None:
    folders = {path.parent.name for path in WINGS.glob("*/__init__.py")}
    assert {wing.name for wing in wings()} == folders


@pytest.mark.parametrize(("room", "known"), [("http", set()), ("execution", {"http"})])
def test_lower_rooms_of_the_server_know_no_higher_ones(room: str, known: set[str]) -> None:
    found = {
        module[2]
        for path in (PACKAGE / "server" / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for module in _modules(node, ["graphrag_rdf", "server", room])
        if module[:2] == ["graphrag_rdf", "server"]
    }
    assert found - {room} == known


def test_the_example_is_trig_and_says_what_the_text_says() -> None:
    (_, example), *_ = blocks((DETAILS / "rdf-model.md").read_text("utf-8"), "trig")
    store = ox.Store()
    store.load(example.encode(), format=ox.RdfFormat.TRIG)
    assert store.query(
        "PREFIX tg: <https://trustgraph.ai/ns/> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
        "ASK { ?s ?p ?o . GRAPH <urn:graph:source> { ?subgraph tg:contains <<( ?s ?p ?o )>> . "
        "?evidence rdf:reifies <<( ?s ?p ?o )>> } }"
    )


@cache
def declared_terms(base: str) -> frozenset[str]:
    """The local names of a vocabulary's terms."""
    graph = Graph()
    for name in ("trustgraph.ttl", "graphrag-rdf.ttl"):
        graph.parse(REPOSITORY / "ontology" / name, format="turtle")
    return frozenset(str(s).removeprefix(base) for s in graph.subjects() if str(s).startswith(base))


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_terms_that_pages_name_are_declared(page: Path) -> None:
    """Every `tg:` and `rag:` term stands in the ontology files."""
    declared = {f"{prefix}:{term}" for prefix in ("tg", "rag") for term in declared_terms(PREFIXES[prefix])}
    text = page.read_text("utf-8")
    used = set(re.findall(r"\b(?:tg|rag):[A-Za-z]+\b", without_code(text)))
    for language in ("sparql", "trig", "console"):
        for _, block in blocks(text, language):
            used |= set(re.findall(r"\b(?:tg|rag):[A-Za-z]+\b", block))
    assert used - declared == set()
