"""Typed columns of templates."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.sparql.columns import columns_of, records
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.embedded import EmbeddedStore

TEMPLATE = """# name: test/cells
# kind: select
# summary: Cells of each type.
# returns: {returns}
SELECT ?who ?score ?count ?name ?fine ?date WHERE {{
  VALUES (?who ?score ?count ?name ?fine ?date) {{
    (<urn:a> 0.5e0 3 "Ada"@en true "2024-05-01T10:00:00Z"^^xsd:dateTime)
    (<urn:b> 1.0 2.0 UNDEF false UNDEF)
  }}
}} ORDER BY ?who
"""
TYPES = "{who: iri, score: double, count: int, name: text?, fine: bool, date: datetime?}"


def store_of(folder: Path, returns: str) -> EmbeddedStore:
    (folder / "test").mkdir()
    (folder / "test" / "cells.rq").write_text(TEMPLATE.format(returns=returns), "utf-8")
    return EmbeddedStore(TemplateLibrary(folder))


def test_cells_are_values_of_the_declared_types(tmp_path: Path) -> None:
    first, second = store_of(tmp_path, TYPES).select("test/cells")
    assert first["date"].isoformat() == "2024-05-01T10:00:00+00:00"
    assert {**first, "date": None} == {
        **{"who": NamedNode("urn:a"), "score": 0.5, "count": 3, "name": "Ada", "fine": True, "date": None}
    }
    assert second == {
        **{"who": NamedNode("urn:b"), "score": 1.0, "count": 2, "name": None, "fine": False, "date": None}
    }


def test_columns_without_types_keep_their_terms(tmp_path: Path) -> None:
    _, second = store_of(tmp_path, "[who, score, count, name, fine, date]").select("test/cells")
    assert second["who"] == NamedNode("urn:b")
    assert "name" not in second


def test_a_run_has_the_terms_too(tmp_path: Path) -> None:
    run = store_of(tmp_path, TYPES).run("test/cells")
    assert [row["who"] for row in run.solutions] == [row["who"] for row in run.rows]
    assert "name" not in run.solutions[1]


def test_an_unbound_cell_of_a_column_that_is_always_bound_is_an_error(tmp_path: Path) -> None:
    store = store_of(tmp_path, TYPES.replace("text?", "text"))
    with pytest.raises(TemplateError, match=r"test/cells: \?name"):
        store.select("test/cells")


def test_an_unknown_type_is_an_error(tmp_path: Path) -> None:
    store = store_of(tmp_path, TYPES.replace("double", "number"))
    with pytest.raises(TemplateError, match="number"):
        store.select("test/cells")


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Literal(True), True),
        (Literal(False), False),
        (Literal(1), True),  # as Virtuoso computes
        (Literal(0), False),
        (Literal("1", datatype=XSD.boolean), True),
        (Literal("true"), False),
        (NamedNode("urn:true"), False),
    ],
)
def test_a_boolean_of_any_engine(term: Literal | NamedNode, expected: bool) -> None:
    (record,) = records("test/cells", columns_of({"holds": "bool"}), [{"holds": term}])
    assert record["holds"] is expected


def test_a_users_own_template_has_the_types_of_the_one_that_it_overrides(tmp_path: Path) -> None:
    for folder, returns in (("program", TYPES), ("own", "[who, score, count, name, fine, date]")):
        (tmp_path / folder / "test").mkdir(parents=True)
        (tmp_path / folder / "test" / "cells.rq").write_text(TEMPLATE.format(returns=returns), "utf-8")
    _, second = EmbeddedStore(TemplateLibrary(tmp_path / "program", tmp_path / "own")).select("test/cells")
    assert (second["count"], second["name"]) == (2, None)
