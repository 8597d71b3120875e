"""The console blocks of README, tutorial, walks and two how-to pages, run in a shell as a reader would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import REPOSITORY, blocks, commands, output_matches
from tests.support.commands import environment
from tests.support.scripted_server import ScriptedServer
from tests.wings.agents.pipeline.test_agent import model

_COUNTED = re.compile(r"^((?:facts|entities|time|事实|实体|时间)\s+(?:新增 )?)[\d,.]+")
"""What an ingest counts depends on the rules of extraction, and its time on the machine."""
_PROGRESS = re.compile(r"\d+ chunks done")
"""Printed by a slow machine only."""
PAGES = [
    REPOSITORY / name
    for name in (
        *("README.md", "README.zh.md", "docs/tutorial.md", "docs/zh/tutorial.md"),
        *("docs/how-to/tuning.md", "docs/how-to/why-this-rank.md"),
        *(
            f"docs/seeds/{page}.md"
            for page in ("000", "001", "002", "002.en", "003", "003.en", "004", "004.en")
        ),
    )
]
IN_CHINESE = tuple(
    REPOSITORY / name
    for name in (
        "README.zh.md",
        "docs/zh/tutorial.md",
        *(f"docs/seeds/{page}.md" for page in ("000", "002", "003", "004")),
    )
)
"""Pages that show Chinese messages."""
WITH_MODEL = ("002.md", "002.en.md")
"""Pages that a model answers, the scripted one of the tests of agents."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder as a reader has it after the installation: the samples, and the program on the path."""
    for name in ("documents", "zh"):
        shutil.copytree(REPOSITORY / "examples" / name, tmp_path / "examples" / name)
    program = tmp_path / "bin" / "graphrag-rdf"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m graphrag_rdf "$@"\n')
    program.chmod(0o755)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_each_command_prints_what_the_page_shows(
    page: Path, place: Path, scripted_server: ScriptedServer
) -> None:
    variables = environment(PATH=f"{place / 'bin'}:{os.environ['PATH']}")
    if page in IN_CHINESE:
        # as the pages say; with LC_ALL, shell scripts warn of a locale that the machine lacks
        variables |= {"LC_ALL": "", "LC_MESSAGES": "", "LANG": "zh_CN.UTF-8", "LANGUAGE": ""}
    if page.name in WITH_MODEL:
        scripted_server.answer_with(model)
        variables |= {
            "GRAPHRAG_RDF_LLM__MODEL": "openai/test-model",
            "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
            "GRAPHRAG_RDF_LLM__API_KEY": "a-key",
        }
    for command in commands(page.read_text("utf-8")):
        done = subprocess.run(
            command.text,
            shell=True,
            cwd=place,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        lines = [_COUNTED.sub(r"\1…", line.rstrip()) for line in done.stdout.decode().splitlines()]
        lines = [line for line in lines if not _PROGRESS.match(line)]
        while lines and not lines[-1]:
            lines.pop()
        expected = [_COUNTED.sub(r"\1…", line) for line in command.expected]
        if not output_matches(expected, lines):
            pytest.fail(
                f"{page.name}:{command.line}: {command.text}\n--- the page shows\n"
                + "\n".join(command.expected)
                + "\n--- it printed\n"
                + "\n".join(lines)
            )


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/how-to/use-a-model.md", "docs/zh/use-a-model.md"])
def test_each_script_about_models_ends_well(page: str, place: Path, scripted_server: ScriptedServer) -> None:
    text = (REPOSITORY / page).read_text("utf-8")
    (place / "documents").mkdir()
    shutil.copy(place / "examples" / "documents" / "museum-guide.md", place / "documents")
    variables = environment(
        PATH=f"{place / 'bin'}:{os.environ['PATH']}",
        XDG_CONFIG_HOME=str(place),
        GRAPHRAG_RDF_LLM__API_BASE=scripted_server.base_url,
    )
    for line, script in blocks(text, "sh"):
        done = subprocess.run(
            ["sh", "-e", "-c", script.replace("=…", "=a-key").replace("ollama_chat/", "openai/")],
            cwd=place,
            env=variables | {"OPENAI_API_KEY": "a-key"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{page}:{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        # after the first script the page lets the reader write a settings file, which the second trusts
        (place / "graphrag.toml").write_text(next(block for _, block in blocks(text, "toml")))


def test_the_pages_have_commands_to_run() -> None:
    assert all(list(commands(page.read_text("utf-8"))) for page in PAGES)
