"""The shapes hold through edits under a trace, moves and forgetting."""

from __future__ import annotations

import shutil
from pathlib import Path

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.store.base import plain_quads
from tests.support.stores import open_engine

SAMPLES = Path(__file__).resolve().parents[2] / "examples" / "documents"


def test_shapes_hold_after_an_edit_a_move_and_a_loss(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    names = ("museum-guide.md", "loss-of-the-petrel.txt", "surveys-of-skell-sound.md", "elspeth-marwick.md")
    for name in names:
        shutil.copy(SAMPLES / name, documents / name)
    guide = documents / "museum-guide.md"
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([documents])
        list(engine.ask("On which date did the Petrel sink?"))
        guide.write_text(guide.read_text("utf-8").replace("17 November 1911", "16 November 1911"), "utf-8")
        (documents / names[2]).rename(documents / "surveys.md")
        (documents / names[3]).unlink()
        report = engine.ingest([documents], sync=True)
        assert (report.documents.updated, report.documents.moved, report.documents.forgotten) == (1, 1, 1)
        assert run_shapes(plain_quads(engine.store)) == []
