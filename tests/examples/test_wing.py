"""The example of a wing, built and installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import Outcome, Run, documents_in, environment, program

REPOSITORY = Path(__file__).resolve().parents[2]
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([*PIP, str(place), str(REPOSITORY / "examples" / "wing")], check=True)
    return place


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run a command in a process that finds the wing."""
    documents = documents_in(tmp_path)
    (documents / "old.html").write_text(
        '<html><head><title>Old</title><meta name="date" content="1901-02-03"></head>'
        "<body><p>Mona Kell founded the Lantern Society.</p></body></html>"
    )

    def call(*arguments: object) -> Outcome:
        ended = subprocess.run(
            program(*arguments),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(PYTHONPATH=f"{REPOSITORY}:{installed}"),
            check=False,
            timeout=120,
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    return call


def test_its_command_step_query_and_pipeline_are_there(run: Run) -> None:
    assert "List documents by their date." in run("--help").out
    assert run("ingest", "documents").code == 0
    (document,) = run("newest", "--format", "json").json
    assert document == {"date": "1901-02-03", "title": "Old"}
    assert run("queries", "run", "newest/dates").code == 0
    question = "Who founded the Lantern Society?"
    answer = run("ask", "--pipeline", "newest_rag", question, "--format", "json")
    assert "Mona Kell" in answer.json["answer"], answer.err
    (trace,) = run("trace", "list", "--format", "json").json
    shown = run("trace", "show", trace["iri"])
    assert "[focus]" in shown.out
    assert run("trace", "verify", trace["iri"]).code == 0


def test_its_reader_reads_files_of_its_format(run: Run, tmp_path: Path) -> None:
    text = "# The Skerry\n```\nsk(31)\n```\nMona Kell built the Skerry Light.\n"
    (tmp_path / "documents" / "skerry.gmi").write_text(text)
    assert run("ingest", "documents").code == 0
    listed = run("documents", "--format", "json").json
    assert "text/gemini" in {document["mime"] for document in listed}
    answer = run("ask", "Who built the Skerry Light?", "--format", "json").json["answer"]
    assert "Mona Kell built the Skerry Light." in answer


def test_a_wing_that_cannot_be_loaded_is_named_with_its_package(run: Run, installed: Path) -> None:
    (declaration,) = installed.glob("*/wing.py")
    text = declaration.read_text()
    declaration.write_text("raise RuntimeError('no such luck')")
    try:
        broken = run("documents")
    finally:
        declaration.write_text(text)
    assert broken.code == 1
    assert "the wing newest of the package" in broken.err
    assert "RuntimeError: no such luck" in broken.err
    assert "Traceback" not in broken.err
