"""Labels of lines in tables: found as entities are, and not counted as such."""

from __future__ import annotations

from pathlib import Path

from pyoxigraph import Quad

from graphrag_rdf.checks import run_checks
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, RDF, Graphs
from tests.ingest.conftest import MakeEngine

PROSE = "The figures of Kelmar Ltd stand below for the two years.\n"
TABLE = "\n| | 2021 | 2022 |\n|---|---|---|\n| Cost of sales | 12 | 14 |\n"
MARK = Quad(iris.term("cost-of-sales"), RDF.type, RAG.Term, Graphs.DERIVED)


def test_the_label_of_a_line_is_a_term_while_a_table_has_it(engine_of: MakeEngine, docs: Path) -> None:
    engine = engine_of()
    (docs / "figures.md").write_text(PROSE + TABLE)
    assert engine.ingest([docs]).entities == 1  # Kelmar Ltd
    assert MARK in engine.store.quads(Graphs.DERIVED)
    assert engine.store.select("server/counts")[0]["entities"] == 1
    assert not run_checks(engine.store, engine.blobs, engine.text_index)
    (docs / "figures.md").write_text(PROSE)
    engine.ingest([docs])
    assert MARK not in engine.store.quads(Graphs.DERIVED)
    assert not run_checks(engine.store, engine.blobs, engine.text_index)
