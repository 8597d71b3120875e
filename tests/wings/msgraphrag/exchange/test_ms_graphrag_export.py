"""Export as tables of Microsoft GraphRAG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.wings.msgraphrag.citations import parse_citations
from graphrag_rdf.wings.msgraphrag.export import export_tables
from graphrag_rdf.wings.msgraphrag.import_ import import_tables
from graphrag_rdf.wings.msgraphrag.tables import COLUMNS, read_file
from tests.support.ms_tables import some_tables, write_parquet
from tests.support.stores import open_engine

Tables = dict[str, list[dict[str, Any]]]


def exported(engine: Engine, folder: Path) -> Tables:
    export_tables(engine, folder)
    return {name: read_file(folder / f"{name}.parquet") for name in COLUMNS}


@pytest.fixture
def round_trip(empty: Engine, tmp_path: Path) -> Tables:
    import_tables(empty, write_parquet(tmp_path / "in", some_tables()))
    return exported(empty, tmp_path / "out")


def columns(rows: list[dict[str, Any]], *names: str) -> set[tuple[Any, ...]]:
    return {tuple(row[name] for name in names) for row in rows}


def test_titles_types_descriptions_and_weights_return(round_trip: Tables) -> None:
    given = some_tables()
    for name, kept in (
        ("entities", ("title", "type", "description")),
        ("relationships", ("source", "target", "description", "weight")),
        ("documents", ("id", "title")),
    ):
        assert columns(round_trip[name], *kept) == columns(given[name], *kept)
    assert columns(round_trip["covariates"], "subject_id", "object_id", "type", "status", "start_date") == {
        ("PETREL", "NONE", "SHIPWRECK", "TRUE", "1911-12-01T00:00:00"),
        ("ADA LARK", "TOM REED", "LETTER", "SUSPECTED", "NONE"),
    }
    assert columns(round_trip["communities"], "level", "size", "period") == {
        (0, 3, "2026-01-09"),
        (1, 2, "2026-01-09"),
    }
    assert columns(round_trip["community_reports"], "title", "rank") == {
        ("The harbour", 7.5),
        ("A letter", 3.0),
    }


def test_every_reference_leads_to_a_row(round_trip: Tables) -> None:
    ids = {name: {row["id"] for row in rows} for name, rows in round_trip.items()}
    for name, rows in round_trip.items():
        assert len(ids[name]) == len(rows)
        for row in rows:
            assert set(row) == set(COLUMNS[name])
            for column, of in (
                ("text_unit_ids", "text_units"),
                ("entity_ids", "entities"),
                ("relationship_ids", "relationships"),
                ("covariate_ids", "covariates"),
            ):
                assert {*(row.get(column) or ())} <= ids[of]
    titles = {row["title"] for row in round_trip["entities"]}
    assert {row["source"] for row in round_trip["relationships"]} <= titles
    parents = {row["community"]: row["parent"] for row in round_trip["communities"]}
    assert parents == {0: -1, 1: 0}
    assert {row["community"]: row["children"] for row in round_trip["communities"]} == {0: [1], 1: []}


def test_findings_cite_by_number(round_trip: Tables) -> None:
    tables = {name: {row["human_readable_id"]: row for row in rows} for name, rows in round_trip.items()}
    texts = {
        finding["summary"]: finding["explanation"]
        for report in round_trip["community_reports"]
        for finding in report["findings"]
    }
    cited, _ = parse_citations(texts["Ada Lark built"])
    rows = [tables[each.table][each.number] for each in cited]
    assert [row.get("title") or row.get("target") for row in rows] == ["ADA LARK", "SKELL TIDAL STATION"]
    assert {each.table for each in parse_citations(texts["She wrote"])[0]} == {"covariates", "text_units"}
    assert {each.table for each in parse_citations(texts["Elsewhere"])[0]} == {
        "relationships",
        "community_reports",
    }
    for report in round_trip["community_reports"]:
        assert report["full_content"].startswith(f"# {report['title']}")


def test_the_same_store_gives_the_same_tables(empty: Engine, tmp_path: Path, round_trip: Tables) -> None:
    assert exported(empty, tmp_path / "again") == round_trip


def test_what_was_exported_imports_to_the_same_counts(round_trip: Tables, tmp_path: Path) -> None:
    with open_engine(":memory:", config=Settings()) as other:
        report = import_tables(other, tmp_path / "out")
        assert {name: each.imported for name, each in report.tables.items()} == {
            name: len(rows) for name, rows in round_trip.items()
        }
        assert exported(other, tmp_path / "twice")["relationships"] != []


def test_facts_of_documents_are_relationships_with_quotes(sample: Engine, tmp_path: Path) -> None:
    tables = exported(sample, tmp_path)
    assert len(tables["documents"]) == len(sample.store.select("ingest/documents", documents=[]))
    by_pair = {(row["source"], row["target"]): row for row in tables["relationships"]}
    assert len(by_pair) == len(tables["relationships"])
    described = [row for row in tables["relationships"] if row["description"].endswith(".")]
    assert len(described) > len(tables["relationships"]) / 2
    titles = [row["title"] for row in tables["entities"]]
    assert len({*titles}) == len(titles)
    assert all(row["weight"] >= 1 for row in tables["relationships"])


def test_merged_entities_are_one_row(empty: Engine, tmp_path: Path) -> None:
    import_tables(empty, write_parquet(tmp_path / "in", some_tables()))
    pair = (empty.entity("Ada Lark"), empty.entity("Tom Reed"))
    merge(empty, [Merge(pair[0], pair)])
    report = export_tables(empty, tmp_path / "out")
    assert report.tables["entities"] == 3
    assert report.loops == 1
    assert len(read_file(tmp_path / "out" / "relationships.parquet")) == 3


def test_an_empty_store_is_refused(empty: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no chunks"):
        export_tables(empty, tmp_path)
