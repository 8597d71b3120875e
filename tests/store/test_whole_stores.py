"""Whole stores of earlier versions, with indexes, caches and blobs: asked, fed, checked, erased from.

Each archive in `whole/` is a store that its version made from two sample documents, with vectors of 16
numbers, three questions, and the documents. Add one when the form of an index, a cache or facts changes.
"""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Outcome, Run, environment, program
from tests.support.scripted_server import ScriptedServer

ARCHIVES = sorted(Path(__file__).parent.glob("whole/*.tar.xz"))
pytestmark = pytest.mark.embedded


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Commands as processes of their own: `check` forks, which a process with an open store must not."""
    with ScriptedServer(dimensions=16) as server:
        settings = environment(
            GRAPHRAG_RDF_EMBEDDING__MODEL="openai/scripted",
            GRAPHRAG_RDF_LLM__API_BASE=server.base_url,
            GRAPHRAG_RDF_LLM__API_KEY="sk-planted",
        )

        def call(*arguments: str) -> Outcome:
            command = program("--store", "store", *arguments)
            ended = subprocess.run(
                command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False, timeout=300
            )
            return Outcome(ended.returncode, ended.stdout, ended.stderr)

        yield call


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_whole_store_is_used_on(archive: Path, run: Run, tmp_path: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    checked = run("check")
    assert (checked.code, checked.out) == (0, "no errors, no warnings\n")
    asked = run("ask", "Who owned the Petrel?")
    assert "Walter Pennock" in asked.out
    assert "another version" not in asked.err  # the first command has rebuilt the index
    assert run("cache", "stats", "--format", "json").json["entries"] > 0
    sessions = [trace["iri"] for trace in run("trace", "list", "--format", "json").json]
    assert len(sessions) == 4  # three of its version
    assert all(run("trace", "verify", session).code == 0 for session in sessions)
    ingested = run("ingest", "documents", "--format", "json")
    assert (ingested.code, ingested.json["failures"]) == (0, [])
    for session in sessions:
        verified = run("trace", "verify", session)
        assert verified.code == 0, verified.out
    assert run("check", "--full").code == 0
    assert "Walter Pennock" in run("ask", "Who owned the Petrel?").out
    assert run("forget", "documents/loss-of-the-petrel.txt").code == 0
    assert "Walter Pennock" not in run("ask", "Who owned the Petrel?").out
    assert "fatigue crack" in run("ask", "What caused the failure of Gate 4?").out
    assert run("check", "--full").code == 0


def test_the_index_of_an_earlier_version_is_rebuilt_by_who_needs_it(run: Run, tmp_path: Path) -> None:
    for command in (("ingest", "documents"), ("entities", "show", "Walter Pennock")):
        with tarfile.open(ARCHIVES[0]) as opened:
            opened.extractall(tmp_path, filter="data")
        found = run(*command)
        assert found.code == 0, found.err
        assert "written by another version of the program. It is built anew from 2 documents" in found.err
        assert run("index", "status").code == 0


def test_facts_that_were_extracted_again_are_said_to_be(run: Run, tmp_path: Path) -> None:
    with tarfile.open(ARCHIVES[0]) as opened:
        opened.extractall(tmp_path, filter="data")
    run("ingest", "documents")
    sessions = [trace["iri"] for trace in run("trace", "list", "--format", "json").json]
    verified = [run("trace", "verify", session, "--format", "json").json for session in sessions]
    checks = [check for one in verified for check in one["checks"]]
    told = {check["check"] for check in checks if "the facts were extracted again on 20" in check["detail"]}
    assert told == {"edges", "quotes"}
    assert all(check["ok"] is None for check in checks if "extracted again" in check["detail"])
    document = tmp_path / "documents" / "loss-of-the-petrel.txt"
    document.write_text(document.read_text().replace("Walter Pennock owned", "Somebody else sold"))
    run("ingest", "documents")
    edited = run("trace", "verify", sessions[-1]).out  # an edit is no new extraction
    assert "not in the documents since an edit" in edited
