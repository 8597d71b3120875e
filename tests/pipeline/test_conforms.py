"""Traces of all pipelines conform to the shapes that are made from the declarations of their steps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.rdf.namespaces import Graphs
from tests.support.stores import open_engine


def test_traces_of_all_pipelines_conform(sample_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyshacl")
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store") as engine:
        for pipeline in ("graph_rag", "hybrid_rag", "hops_rag", "doc_rag", "basic"):
            *_, last = engine.ask("Who invented the reversing gear?", pipeline)
            assert last.answer is not None
        traces = [quad for quad in engine.store.quads() if quad.graph_name == Graphs.RETRIEVAL]
        assert run_shapes(traces) == []
