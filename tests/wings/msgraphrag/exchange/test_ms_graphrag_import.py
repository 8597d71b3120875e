"""Import of the tables of Microsoft GraphRAG."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, QuerySolutions
from pyoxigraph import Store as MemoryStore

from graphrag_rdf.checks.integrity import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import export_graph
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.wings.msgraphrag.import_ import import_tables
from graphrag_rdf.wings.msgraphrag.report import TablesReport
from tests.support.ms_tables import HARBOUR, Tables, some_tables, write_csv, write_parquet

HARBOUR_DOC = NamedNode("https://trustgraph.ai/doc/ms-graphrag/harbour.txt")
MILL_DOC = NamedNode("https://trustgraph.ai/doc/ms-graphrag/mill.txt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_parquet(tmp_path / "output", some_tables())


@pytest.fixture
def imported(empty: Engine, folder: Path) -> Iterator[tuple[Engine, TablesReport]]:
    yield empty, import_tables(empty, folder)
    assert [*run_checks(empty.store, empty.blobs, empty.text_index)] == []


def rows(engine: Engine, sparql: str) -> set[tuple[object, ...]]:
    prefixes = (
        "PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> PREFIX tg: <https://trustgraph.ai/ns/> "
        "PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX dcterms: <http://purl.org/dc/terms/> "
        "PREFIX e: <http://trustgraph.ai/e/> PREFIX r: <http://trustgraph.ai/r/> "
        "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
        "PREFIX skos: <http://www.w3.org/2004/02/skos/core#> "
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
    )
    copy = MemoryStore()
    for quad in plain_quads(engine.store):  # in one spelling, whatever the store's
        graph = DefaultGraph() if quad.graph_name == Graphs.FACTS else quad.graph_name
        copy.add(Quad(quad.subject, quad.predicate, quad.object, graph))
    found = copy.query(prefixes + sparql)
    assert isinstance(found, QuerySolutions)
    return {tuple(to_python(term) for term in row) for row in found}


def test_every_row_is_counted_and_every_fault_is_listed(imported: tuple[Engine, TablesReport]) -> None:
    _, report = imported
    counts = {name: (each.rows, each.imported) for name, each in report.tables.items()}
    assert counts == {
        "documents": (2, 2),
        "text_units": (3, 3),
        "entities": (4, 4),
        "relationships": (4, 4),
        "covariates": (4, 2),
        "communities": (3, 2),
        "community_reports": (3, 2),
    }
    assert {(each.table, each.row, each.reason) for each in report.problems} == {
        ("relationships", "2", "undescribed_end"),
        ("covariates", "1", "invalid_date"),
        ("covariates", "2", "malformed"),
        ("covariates", "3", "status_not_listed"),
        ("communities", "2", "unknown_entity"),
        ("communities", "2", "no_members"),
        ("community_reports", "0", "dangling_citation"),
        ("community_reports", "0", "outside_citation"),
        ("community_reports", "0", "uncited_finding"),
        ("community_reports", "7", "unknown_community"),
    }
    cited = report.citations
    assert (cited.total, cited.resolved, cited.dangling, cited.outside, cited.more) == (7, 6, 1, 1, 1)
    assert report.missing == []


def test_text_units_are_chunks_at_their_places(imported: tuple[Engine, TablesReport]) -> None:
    engine, _ = imported
    found = rows(
        engine,
        "SELECT ?text ?offset WHERE { GRAPH <urn:graph:source> { ?c a tg:Chunk ; tg:content ?text ; "
        f"tg:charOffset ?offset ; dcterms:isPartOf <{HARBOUR_DOC.value}> }} }}",
    )
    text = HARBOUR.removeprefix("\ufeff")
    assert len(found) == 2
    for chunk, offset in found:
        assert isinstance(chunk, str)
        assert isinstance(offset, int)
        assert text[offset : offset + len(chunk)] == chunk
    assert min(offset for _, offset in found) == 0  # type: ignore[type-var]


def test_relationships_are_facts_with_quotes_descriptions_and_weights(
    imported: tuple[Engine, TablesReport],
) -> None:
    engine, _ = imported
    found = rows(
        engine,
        "SELECT ?description ?weight WHERE { e:ada-lark r:related-to ?o . GRAPH <urn:graph:source> { "
        "?x rdf:reifies <<( e:ada-lark r:related-to ?o )>> ; rag:relationWeight ?weight ; "
        "dcterms:description ?description } }",
    )
    assert found == {
        ("Ada Lark designed the station.", 9.0),
        ("Ada Lark wrote to Tom Reed.", 4.0),
        ("She rented it.", 1.5),
    }
    quotes = rows(
        engine,
        "SELECT ?quote WHERE { GRAPH <urn:graph:source> { ?x rdf:reifies "
        "<<( e:ada-lark r:related-to e:skell-tidal-station )>> ; tg:sourceText ?quote } }",
    )
    assert quotes == {("Ada Lark designed the Skell Tidal Station in Port Merrin.",)}


def test_graphml_has_weights_and_descriptions(imported: tuple[Engine, TablesReport]) -> None:
    engine, _ = imported
    out = io.BytesIO()
    export_graph(engine.store, out, "graphml")
    root = ElementTree.fromstring(out.getvalue())
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    edges = [
        {data.get("key"): data.text for data in edge.iterfind("g:data", space)}
        for edge in root.iterfind(".//g:edge", space)
    ]
    found = {(edge.get("weight"), edge.get("description")) for edge in edges}
    assert {("9", "Ada Lark designed the station."), ("1.5", "She rented it.")} <= found
    kinds = {key.get("id"): key.get("attr.type") for key in root.iterfind("g:key", space)}
    assert kinds["weight"] == "double"


def test_names_are_spelled_as_in_the_text(imported: tuple[Engine, TablesReport]) -> None:
    engine, _ = imported
    assert rows(engine, "SELECT ?l WHERE { e:old-mill rdfs:label ?l }") == {("Old Mill",)}
    assert rows(engine, "SELECT ?l WHERE { e:old-mill skos:altLabel ?l }") == {("OLD MILL",)}
    sentences = rows(engine, "SELECT ?s WHERE { GRAPH <urn:graph:source> { ?s rag:mentions e:old-mill } }")
    assert len(sentences) == 1


def test_claims_have_quotes_dates_and_links(imported: tuple[Engine, TablesReport]) -> None:
    engine, _ = imported
    found = rows(
        engine,
        "SELECT ?subject ?description ?status ?quote WHERE { GRAPH <urn:graph:source> { ?c a rag:Claim ; "
        "rag:claimSubject ?subject ; dcterms:description ?description ; rag:claimStatus ?status ; "
        "rag:evidence ?e . ?e tg:sourceText ?quote } }",
    )
    assert found == {
        ("http://trustgraph.ai/e/petrel", "The Petrel sank.", "TRUE", "The Petrel sank that winter"),
        (
            "http://trustgraph.ai/e/ada-lark",
            "Ada Lark wrote to Tom Reed.",
            "SUSPECTED",
            "Words that are not there",
        ),
    }
    claims = "GRAPH <urn:graph:source> { ?c a rag:Claim ; "
    assert len(rows(engine, f"SELECT ?c WHERE {{ {claims} rag:objectName ?o }} }}")) == 1
    assert len(rows(engine, f"SELECT ?c WHERE {{ {claims} rag:startDate ?o }} }}")) == 1


def test_findings_cite_what_their_numbers_mean(imported: tuple[Engine, TablesReport]) -> None:
    engine, _ = imported
    found: dict[str, set[str]] = {}
    reports = engine.store.select("communities/reports", communities=[])
    for row in engine.store.select("communities/findings", reports=[each["report"] for each in reports]):
        assert "[Data" not in text_of(row["explanation"])
        found.setdefault(text_of(row["label"]), set()).add(re.split(r"[/:][^/:]*$", text_of(row["cited"]))[0])
    assert found == {
        "Ada Lark built": {"http://trustgraph.ai/e", "urn:evidence"},
        "Elsewhere": {"urn:evidence", "urn:community-report"},
        "She wrote": {"urn:claim", "urn:chunk"},
    }
    assert {row["title"] for row in reports} == {"The harbour", "A letter"}
    assert {row["rating"] for row in reports} == {7.5, 3.0}


def test_importing_again_changes_nothing(imported: tuple[Engine, TablesReport], folder: Path) -> None:
    engine, _ = imported
    before, commit = {*plain_quads(engine.store)}, engine.store.commit_number()
    again = import_tables(engine, folder)
    assert {*plain_quads(engine.store)} == before
    assert engine.store.commit_number() == commit
    assert (again.facts, again.changed) == (0, 0)


def test_changed_tables_replace_what_they_were(imported: tuple[Engine, TablesReport], tmp_path: Path) -> None:
    engine, _ = imported
    tables = some_tables()
    tables["entities"][1]["description"] = "A station that makes power."
    tables["relationships"].pop(1)
    tables["covariates"][0]["status"] = "FALSE"
    changed = write_parquet(tmp_path / "changed", tables)
    import_tables(engine, changed)
    definitions = rows(engine, "SELECT ?d WHERE { e:skell-tidal-station skos:definition ?d }")
    assert definitions == {("A station that makes power.",)}
    assert not rows(engine, "SELECT ?p WHERE { e:ada-lark ?p e:tom-reed }")
    statuses = rows(engine, "SELECT ?s WHERE { GRAPH <urn:graph:source> { ?c rag:claimStatus ?s } }")
    assert statuses == {("FALSE",), ("SUSPECTED",)}
    fresh = import_tables(engine, changed)
    assert fresh.changed == 0


def test_forgetting_a_document_leaves_nothing_that_was_made_of_it(
    imported: tuple[Engine, TablesReport], folder: Path
) -> None:
    engine, _ = imported
    forget_documents(engine, [HARBOUR_DOC])
    left = " ".join(str(quad) for quad in plain_quads(engine.store))
    # the description of Ada Lark was made of all three text units
    for words in ("an engineer", "Tom Reed", "Petrel", "People of the harbour", "designed the station"):
        assert words not in left
    assert "Old Mill" in left
    assert [*run_checks(engine.store, engine.blobs, engine.text_index)] == []
    import_tables(engine, folder)
    assert rows(engine, "SELECT ?d WHERE { e:ada-lark skos:definition ?d }") == {
        ("Ada Lark is an engineer.",)
    }


def test_csv_gives_the_same_store(empty: Engine, tmp_path: Path, folder: Path) -> None:
    import_tables(empty, folder)
    report = import_tables(empty, write_csv(tmp_path / "csv", some_tables()))
    assert (report.facts, report.changed) == (0, 0)


@pytest.mark.parametrize("form", ["{}.parquet", "create_final_{}.parquet"])
def test_the_folder_of_the_project_will_do(empty: Engine, tmp_path: Path, form: str) -> None:
    write_parquet(tmp_path / "output", some_tables(), form)
    assert import_tables(empty, tmp_path).tables["entities"].imported == 4


def test_tables_before_1_0_have_other_columns(empty: Engine, tmp_path: Path) -> None:
    renamed = {
        "documents": {"text": "raw_content"},
        "text_units": {"document_id": "document_ids"},
        "entities": {"title": "name"},
        "communities": {"community": "raw_community", "entity_ids": "no_such_column"},
        "community_reports": {"rating_explanation": "rank_explanation"},
    }
    tables: Tables = {
        name: [{renamed.get(name, {}).get(key, key): cell for key, cell in row.items()} for row in some]
        for name, some in some_tables().items()
    }
    for unit in tables["text_units"]:
        unit["document_ids"] = [unit["document_ids"]]
    for name, some in tables.items():
        with (tmp_path / f"create_final_{name}.csv").open("w", encoding="utf-8", newline="") as opened:
            writer = csv.DictWriter(opened, sorted({key for row in some for key in row}), restval="")
            writer.writeheader()
            writer.writerows(some)
    report = import_tables(empty, tmp_path)
    imported = {name: counts.imported for name, counts in report.tables.items()}
    assert imported == {
        "documents": 2,
        "text_units": 3,
        "entities": 4,
        "relationships": 4,
        "covariates": 2,
        "communities": 2,
        "community_reports": 2,
    }


def test_only_text_units_are_needed(empty: Engine, tmp_path: Path) -> None:
    write_parquet(tmp_path, {"text_units": some_tables()["text_units"]})
    report = import_tables(empty, tmp_path)
    assert report.tables["text_units"].imported == 3
    assert "entities" in report.missing
    assert {each.reason for each in report.problems} == {"text_from_text_units"}
    assert [*run_checks(empty.store, empty.blobs, empty.text_index)] == []


def test_a_text_without_its_text_units_is_made_of_these(empty: Engine, tmp_path: Path) -> None:
    tables = some_tables()
    tables["documents"][0]["text"] = "Something else."
    report = import_tables(empty, write_parquet(tmp_path, tables))
    assert ("documents", "0", "text_from_text_units") in {
        (each.table, each.row, each.reason) for each in report.problems
    }
    assert report.tables["relationships"].imported == 4
    assert [*run_checks(empty.store, empty.blobs, empty.text_index)] == []


def test_communities_of_the_store_are_kept(empty: Engine, folder: Path) -> None:
    import_tables(empty, folder)
    empty.refresh("communities")
    report = import_tables(empty, folder)
    assert report.communities_kept
    assert [warning["type"] for warning in report.warnings] == ["communities_kept"]
    assert [*run_checks(empty.store, empty.blobs, empty.text_index)] == []


@pytest.mark.parametrize("pipeline", ["graph_rag", "basic", "doc_rag", "hybrid_rag", "local", "drift"])
def test_questions_are_answered_from_imported_texts(
    imported: tuple[Engine, TablesReport], pipeline: str
) -> None:
    engine, _ = imported
    answer = [*engine.ask("Who designed the Skell Tidal Station?", pipeline)][-1]
    assert "Ada Lark" in str(answer)


def test_global_search_reads_imported_reports(imported: tuple[Engine, TablesReport]) -> None:
    engine, _ = imported
    answer = engine.ask("Who wrote a letter to Tom Reed?", "global", settings={"reports.level": "1"})
    said = "".join(message.response for message in answer)
    assert said == "- To him [1]"  # an explanation of a finding


def test_a_folder_without_text_units_is_refused(empty: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table of text units"):
        import_tables(empty, tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        import_tables(empty, tmp_path / "none")


def test_a_table_without_a_column_is_refused(empty: Engine, tmp_path: Path) -> None:
    (tmp_path / "text_units.csv").write_text("id,words\nt1,hello\n")
    with pytest.raises(UsageError, match="no column text or chunk"):
        import_tables(empty, tmp_path)


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"no parquet", b"PAR1 something else PAR1"])
def test_a_damaged_file_is_refused(empty: Engine, folder: Path, damage: bytes) -> None:
    (folder / "text_units.parquet").write_bytes(damage)
    with pytest.raises(UsageError, match="cannot read"):
        import_tables(empty, folder)


def test_empty_cells_are_malformed_rows(empty: Engine, tmp_path: Path) -> None:
    tables = some_tables()
    for name, column in (("entities", "title"), ("relationships", "target"), ("communities", "community")):
        tables[name][0][column] = None
    tables["entities"][1] |= {"type": None, "description": None, "text_unit_ids": None}
    tables["relationships"][1]["weight"] = None
    report = import_tables(empty, write_parquet(tmp_path, tables))
    reasons = {(each.table, each.row, each.reason) for each in report.problems}
    assert {
        ("entities", "0", "malformed"),
        ("entities", "1", "no_text_unit"),
        ("relationships", "0", "malformed"),
        ("communities", "0", "malformed"),
    } <= reasons
    assert [*run_checks(empty.store, empty.blobs, empty.text_index)] == []


@pytest.mark.parametrize(
    "title", ["https://example.org/a?b=c", "../../etc/passwd", "a\nb", "%", " ", "C:\\x"]
)
def test_any_title_is_a_document(empty: Engine, tmp_path: Path, title: str) -> None:
    tables = some_tables()
    tables["documents"][0]["title"] = title
    report = import_tables(empty, write_parquet(tmp_path, tables))
    assert report.tables["documents"].imported == 2
    documents = [row["document"].value for row in empty.store.select("ingest/documents", documents=[])]
    assert all(document.startswith("https://trustgraph.ai/doc/ms-graphrag/") for document in documents)
    assert [*run_checks(empty.store, empty.blobs, empty.text_index)] == []


def test_documents_with_equal_titles_or_ids(empty: Engine, tmp_path: Path) -> None:
    tables = some_tables()
    tables["documents"][1]["title"] = tables["documents"][0]["title"]
    tables["documents"].append(tables["documents"][0] | {"human_readable_id": 2})
    report = import_tables(empty, write_parquet(tmp_path, tables))
    assert ("documents", "2", "duplicate") in {
        (each.table, each.row, each.reason) for each in report.problems
    }
    titles = [row["title"] for row in empty.store.select("ingest/documents", documents=[])]
    assert titles == ["harbour.txt", "harbour.txt"]


@pytest.mark.embedded
def test_thousands_of_rows_take_seconds(empty: Engine, tmp_path: Path) -> None:
    tables = some_tables()
    names = [f"PERSON {number}" for number in range(3000)]
    tables["entities"] = [
        {"id": f"e{number}", "human_readable_id": number, "title": name, "type": "PERSON",
         "description": f"{name} is known.", "text_unit_ids": ["t1"]}
        for number, name in enumerate(names)
    ]  # fmt: skip
    tables["relationships"] = [
        {"id": f"r{number}", "human_readable_id": number, "source": name, "target": names[number - 1],
         "description": "They met.", "weight": 1.0, "text_unit_ids": ["t1"]}
        for number, name in enumerate(names)
    ]  # fmt: skip
    report = import_tables(empty, write_parquet(tmp_path, tables))
    assert report.tables["relationships"].imported == 3000
    assert report.seconds < 20


def test_literals_are_what_the_cells_say(imported: tuple[Engine, TablesReport]) -> None:
    engine, _ = imported
    created = [
        quad.object
        for quad in plain_quads(engine.store, NamedNode("urn:graph:community"))
        if quad.predicate.value == "http://purl.org/dc/terms/created"
    ]
    day = NamedNode("http://www.w3.org/2001/XMLSchema#date")
    assert created == [Literal("2026-01-09", datatype=day)] * 2
