"""Answers after an edit rest on what the documents say now."""

from __future__ import annotations

import shutil
from pathlib import Path

from graphrag_rdf.config import Settings
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
        assert "17 November 1911" in str(first["passages"])
        guide.write_text(guide.read_text("utf-8").replace("17 November 1911", "14 November 1911"), "utf-8")
        engine.ingest([documents])
        second = list(engine.ask("On which date did the Petrel sink?"))[-1].answer
    assert second is not None
    assert "14 November 1911" in str(second["citations"])
    assert "17 November 1911" not in str(second["passages"])
