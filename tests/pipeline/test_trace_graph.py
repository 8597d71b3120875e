"""Traces go where the setting says, and are read back from there."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyoxigraph import NamedNode

from graphrag_rdf.config import load_settings
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.trace.catalogue import list_traces
from tests.support.stores import open_engine


def test_traces_are_kept_in_the_named_graph(sample_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    settings = load_settings(overrides={"trace.graph": "urn:graph:explainability"}).settings
    with open_engine(folder, config=settings) as engine:
        before = len(list(engine.store.quads(Graphs.RETRIEVAL)))
        list(engine.ask("Who invented the reversing gear?"))
        assert len(list(engine.store.quads(Graphs.RETRIEVAL))) == before
        assert list(engine.store.quads(NamedNode("urn:graph:explainability")))
        assert list_traces(engine.store, 5)[0].question == "Who invented the reversing gear?"
