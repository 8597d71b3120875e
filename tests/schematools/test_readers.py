"""LangChain's RdfGraph and sparql-llm's schema reader, unmodified, see the schema; `make test-schema`
installs them on their own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.steps.conftest import sample_folder
from tests.support.endpoint import Endpoint

__all__ = ["sample_folder"]

pytestmark = pytest.mark.schematools

R = "http://trustgraph.ai/r/"
TYPE = "http://trustgraph.ai/type/"
LANGCHAIN = """
import sys
from langchain_community.graphs import RdfGraph
print(RdfGraph(query_endpoint=sys.argv[1], standard="owl").get_schema)
"""
LANGCHAIN_QUERY = """
import sys
from langchain_community.graphs import RdfGraph
graph = RdfGraph(query_endpoint=sys.argv[1], standard="rdf")
print(graph.query("SELECT ?what { ?who <http://trustgraph.ai/r/designed> ?what }"))
"""
SPARQL_LLM = """
import json, sys
import fastembed
fastembed.TextEmbedding.__init__ = lambda *_, **__: None  # else it downloads an unused model
from sparql_llm.utils import get_schema_for_endpoint
print(json.dumps(get_schema_for_endpoint(*sys.argv[1:])))
"""


@pytest.fixture(scope="module")
def served(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server over the samples, whose queries read all graphs."""
    store = tmp_path_factory.mktemp("schema") / "store"
    shutil.copytree(sample_folder, store)
    with Endpoint.start(store, GRAPHRAG_RDF_SERVER__UNION_DEFAULT_GRAPH="true") as endpoint:
        yield endpoint


def run(program: str, *arguments: str) -> str:
    python = Path(os.environ["SCHEMATOOLS_BIN"]).resolve() / "python"
    done = subprocess.run(
        [str(python), "-c", program, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_langchain_sees_classes_and_properties(served: Endpoint) -> None:
    shown = run(LANGCHAIN, f"{served.url}/sparql")
    classes, things, values = shown.split(":\n")[1:]
    assert f"<{TYPE}person>" in classes
    assert f"<{R}designed>" in things
    assert f"<{R}was-opened-on-value>" in values
    assert f"<{R}was-opened-on-value>" not in things
    assert f"<{R}designed>" not in values


def test_langchain_queries(served: Endpoint) -> None:
    assert "skell-tidal-station" in run(LANGCHAIN_QUERY, f"{served.url}/sparql")


def test_sparql_llm_sees_partitions(served: Endpoint) -> None:
    shown: dict[str, Any] = json.loads(
        run(SPARQL_LLM, f"{served.url}/sparql", f"{served.url}/.well-known/void")
    )
    person = shown[f"{TYPE}person"]
    assert set(person) >= {f"{R}designed", "http://www.w3.org/2000/01/rdf-schema#label"}
    dates = {kind for one in shown.values() for kind in one.get(f"{R}was-opened-on-value", ())}
    assert dates == {"http://www.w3.org/2001/XMLSchema#date"}
