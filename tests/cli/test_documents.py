"""`documents`: the list of the store's documents, their failures and duplicates; and `ingest --exclude`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.commands import COMPANY, HARBOUR, Run, documents_in
from tests.support.endpoint import Endpoint

KEYS = [
    "iri",
    "title",
    "path",
    "mime",
    "bytes",
    "pages",
    "chunks",
    "facts",
    "language",
    "added",
    "failures",
    "authority",
]
PAGE = (
    "<html><head><title>Pumps</title></head><body><h1>Pumps</h1><p>The Calder pump was built by Ines Marrow "
    "in 1911. It raises water from the lower basin to the mill race.</p></body></html>"
)
SOURCE = (
    "Pumps\n=====\n\nThe :ref:`Calder pump <calder>` was built by Ines Marrow in 1911. It raises water from "
    "the lower basin to the mill race.\n"
)


@pytest.fixture
def library(run: Run, folder: Path) -> Path:
    """A folder with two small documents, which the store of the current folder holds."""
    found = documents_in(folder)
    assert run("ingest", "documents").code == 0
    return found


def paths(run: Run, *options: object) -> list[str]:
    """The paths that `documents` lists."""
    return [item["path"] for item in run("documents", *options, "--format", "json").json]


def test_it_lists_what_the_store_holds(run: Run, library: Path) -> None:
    company, harbour = run("documents", "--format", "json").json
    assert list(company) == KEYS
    assert company["iri"] == "https://trustgraph.ai/doc/documents/company.txt"
    assert company["path"] == "documents/company.txt"
    assert company["bytes"] == len(COMPANY.encode())
    assert (company["mime"], company["language"], company["chunks"]) == ("text/plain", "en", 1)
    assert company["failures"] == []
    quoted = "SELECT * { GRAPH <urn:graph:source> { ?e rdf:reifies ?fact } }"
    counted = run("sparql", quoted, "--format", "json").json["results"]["bindings"]
    assert company["facts"] + harbour["facts"] == len(counted) > 0
    assert run("documents", "--format", "jsonl").lines == [company, harbour]
    assert "documents/harbour.md" in run("documents").out


def test_what_an_edit_retired_is_no_longer_counted(run: Run, library: Path) -> None:
    """A trace rests on the former text, so it is kept, as a tombstone."""
    run("ask", "Who founded the Tarnay Electric Light Company?")
    (library / "company.txt").write_text("The mill is closed.\n")
    assert run("ingest", "documents").code == 0
    (company,) = run("documents", "company", "--format", "json").json
    assert (company["chunks"], company["facts"]) == (1, 0)


def test_order_and_filters(run: Run, library: Path) -> None:
    (library / "zebra.txt").write_text("Short.\n")
    run("ingest", "documents")
    company, harbour, zebra = (f"documents/{name}" for name in ("company.txt", "harbour.md", "zebra.txt"))
    assert paths(run) == [company, harbour, zebra]
    assert paths(run, "--sort", "facts")[-1] == zebra
    assert paths(run, "--sort", "size", "--reverse")[0] == zebra
    assert paths(run, "--reverse") == [zebra, harbour, company]
    assert paths(run, "*.MD") == [harbour]
    assert paths(run, "port merrin") == [harbour]
    assert paths(run, "--failed") == []
    assert paths(run, "list") == [company, harbour, zebra]
    nothing = run("documents", "list", "list")
    assert nothing.out == "no documents\n"
    assert nothing.err == "no path or title has 'list' in it; to list all: graphrag-rdf documents\n"
    assert "in quotes" in run("documents", "port", "merrin").err


def test_files_that_cannot_be_read_are_listed_with_reason_and_way_out(run: Run, library: Path) -> None:
    (library / "broken.pdf").write_bytes(b"%PDF-1.4 of a kind")
    assert run("ingest", "documents").code == 3
    broken, *others = run("documents", "--format", "json").json
    assert broken["path"] == "documents/broken.pdf"
    assert (broken["bytes"], broken["chunks"], broken["failures"][0]["stage"]) == (None, 0, "read")
    assert len(others) == 2
    shown = run("documents", "--failed")
    assert broken["failures"][0]["reason"] in shown.out
    assert "--exclude" in shown.out
    assert "harbour" not in shown.out


def test_the_table_fits_a_terminal(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = folder / "docs" / ("很长的目录名称" * 4)
    deep.mkdir(parents=True)
    (deep / "纪要.md").write_text(
        "# 关于潮汐电站第四号闸门事故的调查报告全文以及附录和地图\n\n正文。\n", encoding="utf-8"
    )
    run("ingest", "docs")
    monkeypatch.setattr("graphrag_rdf.cli.output.on_terminal", lambda *, err=False: not err)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    lines = run("documents").out.splitlines()
    assert len(lines) == 2
    assert max(map(cell_len, lines)) <= 100
    assert "纪要.md" in lines[1]
    assert lines[0].rstrip().endswith("failures")


def test_duplicates_are_found_and_can_be_left_out(run: Run, folder: Path) -> None:
    place = folder / "handbook"
    (place / "_sources").mkdir(parents=True)
    (place / "pumps.html").write_text(PAGE)
    (place / "_sources" / "pumps.rst.txt").write_text(SOURCE)
    (place / "copy.html").write_text(PAGE)
    (place / "harbour.md").write_text(HARBOUR)
    report = run("ingest", "handbook", "--format", "json").json
    (warning,) = [w["detail"] for w in report["warnings"] if w["type"] == "duplicate_documents"]
    assert "--exclude _sources" in warning
    same, nearly = run("documents", "--duplicates", "--format", "json").json
    assert (same["kind"], same["paths"]) == ("same text", ["handbook/copy.html", "handbook/pumps.html"])
    assert nearly["kind"] == "nearly the same text"
    assert nearly["paths"] == ["handbook/_sources/pumps.rst.txt", "handbook/pumps.html"]
    assert 0.5 <= nearly["share"] < 1
    assert "_sources" in run("documents", "--duplicates").out
    again = run("ingest", "handbook", "--format", "json").json
    assert again["warnings"] == []

    options = ("--exclude", "_sources", "--exclude", "handbook/none/*", "--exclude", "cop?.html")
    fresh = run("--store", "other", "ingest", "handbook", *options, "--format", "json").json
    assert fresh["documents"]["added"] == 2
    assert [w["type"] for w in fresh["warnings"]] == ["unused_exclude"]
    assert run("--store", "other", "documents", "--duplicates").out == "no duplicates\n"


def test_two_editions_of_a_file_are_nearly_the_same(run: Run, folder: Path) -> None:
    (folder / "a").mkdir()
    paragraphs = [
        " ".join(f"Mona Kell wrote Almanac {n} for year {k}." for k in range(12)) for n in range(40)
    ]
    (folder / "a" / "first.txt").write_text("\n\n".join(paragraphs))
    (folder / "a" / "second-edition.txt").write_text("\n\n".join(["It has a preface now.", *paragraphs]))
    (folder / "a" / "other.txt").write_text("\n\n".join(f"Ada Orr sold {n} boats. " * 12 for n in range(40)))
    run("ingest", "a")
    (pair,) = run("documents", "--duplicates", "--format", "json").json
    assert pair["paths"] == ["a/first.txt", "a/second-edition.txt"]
    assert 0.6 <= pair["share"] < 1


def test_of_a_server(run: Run, library: Path) -> None:
    own = run("documents", "--sort", "facts", "--format", "json").json
    with Endpoint.start("graphrag-store") as endpoint:
        assert run("documents", "--server", endpoint.url, "--sort", "facts", "--format", "json").json == own
        assert paths(run, "--server", endpoint.url, "*.md") == ["documents/harbour.md"]
        assert run("documents", "--server", endpoint.url, "--duplicates").out == "no duplicates\n"
