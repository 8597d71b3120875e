"""Answers after an edit rest on what the documents say now."""

from __future__ import annotations

import shutil
from pathlib import Path

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from tests.steps.conftest import SAMPLES
from tests.support.stores import open_engine


def test_a_retired_quote_is_cited_no_more(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    for name in ("museum-guide.md", "loss-of-the-petrel.txt"):
        shutil.copy(SAMPLES / name, documents / name)
    guide = documents / "museum-guide.md"
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([documents])
        first = list(engine.ask("On which date did the Petrel sink?"))[-1].answer
        assert first is not None
        assert "17 November 1911" in str(first["citations"])
        guide.write_text(guide.read_text("utf-8").replace("17 November 1911", "14 November 1911"), "utf-8")
        engine.ingest([documents])
        second = list(engine.ask("On which date did the Petrel sink?"))[-1].answer
    assert second is not None
    assert "14 November 1911" in str(second["citations"])
    assert "17 November 1911" not in str(second["citations"])


def test_the_definition_of_an_entity_is_quoted_by_its_sentence(samples: Engine) -> None:
    rows = samples.store.query(
        "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX tg: <https://trustgraph.ai/ns/>"
        " SELECT ?quote { ?s <http://www.w3.org/2004/02/skos/core#definition> ?d"
        " GRAPH <urn:graph:source> { ?e rdf:reifies"
        " <<( ?s <http://www.w3.org/2004/02/skos/core#definition> ?d )>> ; tg:sourceText ?quote } }"
    ).rows
    assert rows
    assert all(" " in row["quote"].value for row in rows)  # type: ignore[union-attr]
