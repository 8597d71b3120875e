"""The synonyms file: decisions that can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.wings.merging.synonyms import Synonyms, read_synonyms
from tests.ingest.conftest import MakeEngine, assert_same, content, everything, index_matches_store

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "synonyms.txt"


def canonical(engine: Engine) -> dict[str, str]:
    """Entity → what stands for it, by slugs."""
    return {
        q.subject.value.rsplit("/", 1)[-1]: q.object.value.rsplit("/", 1)[-1]  # type: ignore[union-attr]
        for q in everything(engine)
        if q.predicate == RAG.canonicalEntity and str(q.graph_name) == "<urn:graph:derived>"
    }


@pytest.fixture
def synonyms(tmp_path: Path) -> Path:
    path = tmp_path / "synonyms.txt"
    path.write_text("# people\nElspeth Marwick = E. M. Halden; Miss Marwick\n\nTarnay = Tarnay Island\n")
    return path


def test_reading(synonyms: Path) -> None:
    assert read_synonyms(synonyms) == [
        Synonyms("Elspeth Marwick", ("E. M. Halden", "Miss Marwick")),
        Synonyms("Tarnay", ("Tarnay Island",)),
    ]
    assert len(read_synonyms(EXAMPLE)) == 7


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("Elspeth Marwick", "no '='"),
        ("Elspeth Marwick =", "no other name"),
        ("= Miss Marwick", "cannot be a name"),
        ("Elspeth Marwick = ; ;", "no other name"),
        ("Ada = Babbage\nCharles = babbage", "is already another name of 'Ada'"),
        ("Ada = Lovelace\nLovelace = Countess", "itself another name"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(f"# comment\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=says) as error:
        read_synonyms(path)
    assert f"{path}, line {2 + line.count(chr(10))}" in str(error.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.txt"):
        read_synonyms(tmp_path / "no.txt")


def test_existing_and_later_entities(docs: Path, synonyms: Path, engine_of: MakeEngine) -> None:
    (docs / "a.txt").write_text("In 1990 Miss Marwick met Ada Lovelace.")
    with engine_of("store") as engine:
        engine.ingest([docs])
        assert canonical(engine)["miss-marwick"] == "miss-marwick"
    (docs / "b.txt").write_text("Later E. M. Halden met Miss Marwick again.")
    with engine_of("store", extract__synonyms=synonyms) as engine:
        engine.ingest([docs])
        links = canonical(engine)
        assert links["miss-marwick"] == links["e.-m.-halden"] == "elspeth-marwick"
        assert links["elspeth-marwick"] == "elspeth-marwick"
        assert links["ada-lovelace"] == "ada-lovelace"
        assert index_matches_store(engine)
        assert engine.text_index.exact(["Elspeth Marwick", "Miss Marwick"])
        before = everything(engine)
        assert engine.ingest([docs]).quads == 0
        assert_same(everything(engine), before)
        fresh = engine_of(extract__synonyms=synonyms)
        fresh.ingest([docs])
        assert_same(content(engine), content(fresh))


def test_undone(docs: Path, synonyms: Path, engine_of: MakeEngine) -> None:
    """Without its line in the file, an entry leaves nothing behind."""
    (docs / "a.txt").write_text("In 1990 Miss Marwick met Ada Lovelace on Tarnay Island.")
    engine = engine_of("store", extract__synonyms=synonyms)
    engine.ingest([docs])
    assert canonical(engine)["tarnay-island"] == "tarnay"
    synonyms.write_text("# nothing any more\n")
    engine.ingest([docs])
    assert canonical(engine)["tarnay-island"] == "tarnay-island"
    assert "elspeth-marwick" not in canonical(engine)
    fresh = engine_of()
    fresh.ingest([docs])
    assert_same(content(engine), content(fresh))
    assert index_matches_store(engine)


def test_preferred_name_outlives_its_documents(docs: Path, synonyms: Path, engine_of: MakeEngine) -> None:
    (docs / "a.txt").write_text("In 1990 Elspeth Marwick met Ada Lovelace.")
    engine = engine_of("store", extract__synonyms=synonyms)
    engine.ingest([docs])
    forget_documents(engine, find_documents(engine.store, ["docs/a.txt"]))
    assert canonical(engine)["elspeth-marwick"] == "elspeth-marwick"
    assert "ada-lovelace" not in canonical(engine)
    assert index_matches_store(engine)
    rows = engine.store.query('ASK { ?e <http://www.w3.org/2000/01/rdf-schema#label> "Elspeth Marwick" }')
    assert rows.boolean
