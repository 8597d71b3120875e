"""The examples of docs/reference/json.md have the keys that the commands print."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.cli.app import root
from tests.docs.markdown import ANY, REPOSITORY

PAGE = (REPOSITORY / "docs" / "reference" / "json.md").read_text("utf-8")
EXAMPLES: list[tuple[str, str]] = re.findall(r"<!-- json: (.+?) -->\n```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the samples, in which the commands run one after the other."""
    folder = tmp_path_factory.mktemp("json")
    shutil.copytree(REPOSITORY / "examples" / "documents", folder / "examples" / "documents")
    return folder


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> Any:
    program, *arguments = shlex.split(command)
    assert program == "graphrag-rdf"
    with pytest.raises(SystemExit):
        root.main(arguments)
    out = capsys.readouterr().out
    return json.loads(out.splitlines()[0] if "jsonl" in command else out)


def differences(example: Any, found: Any, where: str = "") -> Iterator[str]:
    """Where keys differ; an object with the key `…` may have others, a list counts by its first item."""
    if isinstance(example, dict) and isinstance(found, dict):
        if ANY in example:
            return
        if example.keys() != found.keys():
            yield f"{where}: {sorted(example.keys() ^ found.keys())}"
        for key in example.keys() & found.keys():
            yield from differences(example[key], found[key], f"{where}.{key}")
    elif isinstance(example, list) and isinstance(found, list) and example and found:
        yield from differences(example[0], found[0], f"{where}[]")


@pytest.mark.slow
def test_examples_have_the_keys_that_are_printed(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    wrong = {
        command: found
        for command, example in EXAMPLES
        if (found := list(differences(json.loads(example), printed(command, capsys))))
    }
    assert len(EXAMPLES) > 15
    assert wrong == {}
