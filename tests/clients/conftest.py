"""A server over the sample documents, and what each client does with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.steps.conftest import sample_folder
from tests.support.commands import environment
from tests.support.endpoint import TOKENS, WRITE, Endpoint

__all__ = ["sample_folder"]

QUESTION = "Who designed the Skell Tidal Station?"
SCRIPTS = Path(__file__).parent / "scripts"
ENTITY = "http://trustgraph.ai/e/"
TG = "https://trustgraph.ai/ns/"
QUERIES = {
    "select": f"SELECT ?o {{ <{ENTITY}elspeth-marwick> <http://trustgraph.ai/r/designed> ?o }}",
    "ask": f"ASK {{ <{ENTITY}elspeth-marwick> ?p ?o }}",
    "construct": "CONSTRUCT WHERE { ?s <http://trustgraph.ai/r/designed> ?o }",
    "terms": f"SELECT ?o {{ GRAPH <urn:graph:source> {{ ?s <{TG}contains> ?o }} }} LIMIT 1",
    "graph": f"CONSTRUCT {{ ?s <{TG}contains> ?o }} "
    f"WHERE {{ GRAPH <urn:graph:source> {{ ?s <{TG}contains> ?o }} }} LIMIT 1",
}
"""What each client asks. Only the classic form of the last two fits into RDF 1.1."""


@pytest.fixture(scope="session")
def served(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server with a token and a trace, as `serve` starts it."""
    store = tmp_path_factory.mktemp("clients") / "store"
    shutil.copytree(sample_folder, store)
    with Endpoint.start(store, **TOKENS) as endpoint:
        with endpoint.client() as client:
            client.post("/ask", json={"question": QUESTION}).raise_for_status()
        yield endpoint


def place() -> Path:
    """Where `make test-clients` has installed the clients."""
    return Path(os.environ["CLIENTS"]).resolve()


def run(command: Sequence[str], **env: str) -> str:
    """Standard output of a command that succeeds."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment(**env)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def said(command: Sequence[str], served: Endpoint, **more: Any) -> Mapping[str, Any]:
    """What a script prints: the results of operations by their names.

    It gets the address, the token and the queries as JSON in the environment.
    """
    given = {"url": served.url, "token": WRITE, "queries": QUERIES, **more}
    found: Mapping[str, Any] = json.loads(run(command, GIVEN=json.dumps(given)))
    return found


def as_expected(found: Mapping[str, Any]) -> None:
    """The same results from every client."""
    assert found["select"] == [f"{ENTITY}skell-tidal-station"]
    assert found["ask"] is True
    assert found["construct"] == 1
    assert [text.split(":")[:2] for text in found["terms"]] == [["urn", "statement"]]
    assert found["graph"] == 4
