"""kill -9 at any moment: the next run goes on, and the result is that of a run that was left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from tests.ingest.conftest import assert_same, content, index_matches_store, settings

CODE = """
import sys
from graphrag_rdf.engine import Engine
from tests.ingest.conftest import settings
with Engine.open(sys.argv[1], config=settings()) as engine:
    print("open", flush=True)
    engine.ingest([sys.argv[2]])
print("done", flush=True)
"""
ROOT = Path(__file__).resolve().parents[2]


def _write(docs: Path, generation: int) -> None:
    """25 documents that change with the generation, with names that several of them spell in two ways."""
    for number in range(25):
        spelling = ("Ada Lovelace", "ADA LOVELACE")[(number + generation) % 2]
        sentences = [
            f"{spelling} met Person {number % 7} in Leeds.",
            f"In {1800 + number} the Acme Works of Town {number} hired {spelling}.",
            f"Person {number % 7} wrote to Person {(number + generation) % 5}.",
            f"Town {number + generation} lies near Leeds.",
        ]
        (docs / f"{number:02}.txt").write_text("\n\n".join(sentences * 2))


def _killed_ingest(store: Path, docs: Path, delay: float) -> bool:
    """Ingest in a process that is killed; whether it had already ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(store), str(docs)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    return b"done" in process.communicate()[0]


@pytest.mark.slow
@pytest.mark.embedded
def test_resumed_runs_equal_one_that_was_left_alone(tmp_path: Path) -> None:
    docs, store = tmp_path / "docs", tmp_path / "store"
    docs.mkdir()
    ended = []
    for generation in (0, 1, 2):
        _write(docs, generation)
        for delay in (0.25, 0.5, 0.9, 1.4):
            ended.append(_killed_ingest(store, docs, delay))
            with Engine.open(store, config=settings()) as engine:
                _only_whole_chunks(engine)
        with Engine.open(store, config=settings()) as engine:
            engine.ingest([docs])
            assert index_matches_store(engine)
            with Engine.open(":memory:", config=settings()) as fresh:
                fresh.ingest([docs])
                assert_same(content(engine, history=False), content(fresh, history=False))
            assert engine.ingest([docs]).quads == 0
    assert not all(ended)


def _only_whole_chunks(engine: Engine) -> None:
    """A chunk has its text, place, sentences, and both subgraphs, or it is not there at all."""
    rows = engine.store.query(
        """
        PREFIX tg: <https://trustgraph.ai/ns/> PREFIX rag: <https://w3id.org/graphrag-rdf/ns#>
        PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX dcterms: <http://purl.org/dc/terms/>
        SELECT ?chunk WHERE { GRAPH <urn:graph:source> {
          { ?chunk a tg:Chunk } UNION { ?s rag:sentenceOf ?chunk }
          FILTER(
            NOT EXISTS { ?chunk tg:content ?t ; tg:charOffset ?o ; dcterms:isPartOf ?d . ?d a tg:Document }
            || NOT EXISTS { ?s2 rag:sentenceOf ?chunk }
            || NOT EXISTS { ?g prov:wasDerivedFrom ?chunk ; rag:extractor "mentions/1" }
            || NOT EXISTS { ?g prov:wasDerivedFrom ?chunk ; prov:wasGeneratedBy ?a . ?a prov:used ?chunk }
          )
        } }
        """
    ).rows
    assert not rows
