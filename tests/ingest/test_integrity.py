"""The checks of the whole store find nothing, whatever was done to it."""

from __future__ import annotations

from pathlib import Path

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from tests.ingest.conftest import MakeEngine

MET = "Ada Lovelace met Charles Babbage."


def _sound(engine: Engine) -> bool:
    found = run_checks(engine.store, engine.blobs, engine.text_index)
    assert found == []
    return True


def test_a_store_through_its_life(docs: Path, tmp_path: Path, engine_of: MakeEngine) -> None:
    """Ingested, asked, edited under a trace, moved, refreshed, forgotten, synonyms undone."""
    synonyms = tmp_path / "synonyms.txt"
    synonyms.write_text("Elspeth Marwick = Miss Marwick; Ada Lovelace\n")
    (docs / "a.txt").write_text(f"{MET} Zebedee Quill met Xanthippe Marrow in Leeds.")
    (docs / "b.txt").write_text(f"{MET} Grace Hopper knew Ada Lovelace.")
    engine = engine_of("store", extract__synonyms=synonyms)
    engine.ingest([docs])
    assert _sound(engine)
    assert list(engine.ask("Who met Xanthippe Marrow?"))
    (docs / "a.txt").write_text(MET)
    engine.ingest([docs])
    assert _sound(engine)
    (docs / "b.txt").rename(docs / "c.txt")
    engine.ingest([docs], sync=True)
    assert _sound(engine)
    engine.ingest([docs], refresh=True)
    assert _sound(engine)
    forget_documents(engine, find_documents(engine.store, ["docs/a.txt"]))
    assert _sound(engine)
    synonyms.write_text("# none\n")
    engine.ingest([docs])
    assert _sound(engine)
