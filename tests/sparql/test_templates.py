"""Every template that is shipped: rendered, parsed and run in each dialect, linted, timed at scale."""

from __future__ import annotations

import re
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from benchmarks.templates import bound, build, drawn, milliseconds, runner
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary
from graphrag_rdf.sparql.render import DIALECTS, Dialect, Renderer
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.jena import jena_program
from tests.support.sparql_lint import lint, plan_complaints, reads

TEMPLATES = TemplateLibrary(folder("queries"))
SELECTS = [name for name, template in TEMPLATES.items() if template.header.kind == "select"]
PHYSICAL = {
    *("system/graph-sizes", "exchange/self-description"),
    *(
        "server/graph-statistics",
        "server/dataset-statistics",
        "server/graphs",
        "schema/classes",
        "schema/properties",
        "schema/ends",
    ),
    *(name for name in TEMPLATES if name.startswith("remote/")),
}
"""These tell of a store as it is kept, not of what it holds."""
OTHERS = [name for name, template in TEMPLATES.items() if template.header.kind != "select"]


ROOT = Path(__file__).resolve().parents[2]
COMPUTED = re.compile(r"""["']([\w-]+/[\w-]*)\{[^{}"']+\}([\w-]*)["']""")
"""A template's name that code puts together from a folder, a name from a table, and perhaps an ending."""
IN_CODE = re.compile(r"""["' ]([\w-]+/[\w-]+)(?![\w/-])""")
IN_DOCS = re.compile(r"(?<![\w/-])[\w-]+/[\w-]+(?![\w/-])")
QUOTED = re.compile(r"""["']([\w-]+)(?=["'])""")


def _unused() -> set[str]:
    """Templates that neither code, nor a pipeline, nor a page of the docs names."""
    rooms: dict[str, str] = {}
    for path in [*(ROOT / "graphrag_rdf").rglob("*.py"), *(ROOT / "pipelines").rglob("*.yaml")]:
        room = path.relative_to(ROOT).parts[1]
        rooms[room] = rooms.get(room, "") + path.read_text("utf-8")
    pages = [p for p in (ROOT / "docs").rglob("*.md") if "reference" not in p.parts]
    named = {name for page in pages for name in IN_DOCS.findall(page.read_text("utf-8"))}
    for text in rooms.values():
        named.update(IN_CODE.findall(text))
        parts = set(QUOTED.findall(text))
        named.update(f"{start}{part}{end}" for start, end in COMPUTED.findall(text) for part in parts)
    return set(TEMPLATES) - named


def test_every_template_is_used_by_code_or_shown_in_the_docs() -> None:
    assert _unused() == set()


@pytest.fixture(params=sorted(TEMPLATES))
def template(request: pytest.FixtureRequest) -> QueryTemplate:
    return TEMPLATES[request.param]


def test_the_header_agrees_with_the_file(template: QueryTemplate) -> None:
    assert template.path.relative_to(folder("queries")).with_suffix("").as_posix() == template.name
    assert template.header.summary.endswith(".")
    assert (template.header.kind == "select") == bool(template.header.returns)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_renders_and_parses_with_its_samples(template: QueryTemplate, dialect: Dialect) -> None:
    sparql = template.render(Renderer(dialect), **template.samples())
    store = ox.Store()
    if template.header.kind == "update":
        store.update(sparql)
    else:
        found = store.query(sparql)
        if isinstance(found, ox.QuerySolutions):
            assert tuple(variable.value for variable in found.variables) == tuple(template.header.returns)


def test_jena_parses_each_in_classic(tmp_path: Path) -> None:
    """Another parser than the engine's: ours takes some that is no SPARQL."""
    parse = jena_program("ParseAll", tmp_path / "classes")
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, template in TEMPLATES.items():
        file = texts / f"{name.replace('/', ' ')}.{'ru' if template.header.kind == 'update' else 'rq'}"
        file.write_text(template.render(Renderer("classic", Graphs.FACTS), **template.samples()), "utf-8")
    done = subprocess.run([*parse, str(texts)], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("dialect", ["rdf12", "rdf-star"])
def test_avoids_what_the_engine_punishes(template: QueryTemplate, dialect: Dialect) -> None:
    assert lint(template.render(Renderer(dialect), **template.samples())) == []


LEFT = {
    # asked for a handful of values, or for a whole store
    *("communities/report-facts", "entities/list", "gateway/steps", "linking/neighbours"),
    *("cookbook/claim-contradictions", "cookbook/neighbours", "cookbook/single-source"),
    *("ontology/terms", "trace/composite-scores"),
    # rules: each premise is in the facts, the ontologies or what is inferred, and one in what is new
    *("reasoning/rule", "reasoning/contradictions"),
}
"""Templates that may keep a plan which `plan_complaints` refuses."""


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_has_no_group_that_is_read_alone(name: str) -> None:
    template = TEMPLATES[name]
    complaints = plan_complaints(template.render(Renderer("rdf12", lateral=True), **template.samples()))
    assert bool(complaints) == (name in LEFT), complaints


PROBES = {"remote/literals", "remote/probe-digits", "remote/probe-lateral"}
"""They ask what an engine can do."""


@pytest.mark.parametrize(
    "name", sorted(name for name in TEMPLATES if TEMPLATES[name].header.kind != "update")
)
def test_reads_the_store(name: str) -> None:
    template = TEMPLATES[name]
    found = reads(template.render(Renderer("rdf12", lateral=True), **template.samples()))
    assert found == (name not in PROBES)


def rows_of(store: EmbeddedStore, name: str, values: dict[str, Any]) -> list[str]:
    return sorted(
        " ".join(f"?{key}={term}" for key, term in sorted(row.items()))
        for row in store.select(name, **values)
    )


@pytest.mark.parametrize("name", sorted(set(SELECTS) - PHYSICAL))
def test_a_select_gives_the_same_in_rdf12_and_classic(
    name: str, rdf12: EmbeddedStore, classic: EmbeddedStore
) -> None:
    values = drawn(rdf12, TEMPLATES[name])
    assert rows_of(classic, name, values) == rows_of(rdf12, name, values)


CLASSES: dict[str, type | tuple[type, ...]] = {
    "iri": ox.NamedNode,
    "node": (ox.NamedNode, ox.BlankNode),
    "literal": ox.Literal,
    "term": (ox.NamedNode, ox.BlankNode, ox.Literal, ox.Triple),
    "text": str,
    "int": int,
    "double": float,
    "bool": bool,
    "datetime": datetime,
}


@pytest.mark.parametrize("name", sorted(SELECTS))
def test_cells_have_the_declared_types(name: str, rdf12: EmbeddedStore) -> None:
    template = TEMPLATES[name]
    for row in rdf12.select(name, **drawn(rdf12, template)):
        for column in template.header.columns:
            value = row[column.name]
            assert (value is None and column.optional) or isinstance(value, CLASSES[column.type])


@pytest.mark.parametrize("name", sorted(set(OTHERS) - PHYSICAL))
def test_other_kinds_run_on_real_data_in_both(
    name: str, rdf12: EmbeddedStore, classic: EmbeddedStore
) -> None:
    """Updates run on copies, and leave the same number of rows to the same question."""
    values = drawn(rdf12, TEMPLATES[name])
    if TEMPLATES[name].header.kind == "ask":
        assert rdf12.ask(name, **values) == classic.ask(name, **values)
        return
    if TEMPLATES[name].header.kind == "construct":
        assert bool(rdf12.construct(name, **values)) == bool(classic.construct(name, **values))
        return
    left = []
    for store in (rdf12, classic):
        copy = ox.Store()
        copy.extend(store.quads())
        copy.update(store.render(name, **values))
        facts = store.renderer.facts_graph or ox.DefaultGraph()
        left.append(len(list(copy.quads_for_pattern(None, None, None, facts))))
    assert left[0] == left[1]


@pytest.mark.slow
def test_each_is_fast_enough_at_200000_facts(tmp_path: Path) -> None:
    store = EmbeddedStore(TEMPLATES, tmp_path / "oxigraph")
    build(store, 200_000)
    slow = {}
    for name, template in TEMPLATES.items():
        took = milliseconds(runner(store, template), 3)
        if took > bound(name):
            slow[name] = round(took)
    store.close()
    assert slow == {}
