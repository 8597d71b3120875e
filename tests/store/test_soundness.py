"""Faults of a database: none in a sound one, whatever its numbers."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox

from graphrag_rdf.store.generations import engine_faults


def test_numbers_that_follow_each_other_are_no_fault(tmp_path: Path) -> None:
    engine = ox.Store(tmp_path)
    subject, predicate = ox.NamedNode("urn:s"), ox.NamedNode("urn:p")
    for graph in (ox.DefaultGraph(), ox.NamedNode("urn:g")):
        for value in (255, 256, 511, 600, 0.37499999999999994, 0.37588549011470135):
            engine.add(ox.Quad(subject, predicate, ox.Literal(value), graph))
    assert not list(engine_faults(engine))
