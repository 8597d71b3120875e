"""The ontology files, read once."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Graph

from graphrag_rdf.resources import folder


@pytest.fixture(scope="session")
def home() -> Path:
    return folder("ontology")


@pytest.fixture(scope="session")
def tg(home: Path) -> Graph:
    return Graph().parse(home / "trustgraph.ttl", format="turtle")


@pytest.fixture(scope="session")
def rag(home: Path) -> Graph:
    return Graph().parse(home / "graphrag-rdf.ttl", format="turtle")


@pytest.fixture(scope="session")
def prov(home: Path) -> Graph:
    return Graph().parse(home / "prov-o.ttl", format="turtle")


@pytest.fixture(scope="session")
def shapes(home: Path) -> Graph:
    found = Graph()
    for name in ("shapes.ttl", "trace-shapes.ttl"):
        found.parse(home / name, format="turtle")
    return found


@pytest.fixture(scope="session")
def everything(tg: Graph, rag: Graph, prov: Graph) -> Graph:
    return tg + rag + prov
