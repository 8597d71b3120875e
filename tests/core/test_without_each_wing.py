"""The package without one wing, and without those that need it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import graphrag_rdf
from graphrag_rdf.wing import wings
from tests.support import without_each
from tests.support.commands import documents_in, environment

PACKAGE = Path(graphrag_rdf.__file__).parent
WINGS = [wing.name for wing in wings()]
pytestmark = pytest.mark.slow  # two seconds a wing


def _with_those_that_need(name: str) -> list[str]:
    lacking = {name}
    for _ in WINGS:
        lacking |= {wing.name for wing in wings() if not lacking.isdisjoint(wing.needs)}
    return sorted(lacking)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Wing → command → exit code, output and errors."""
    place = tmp_path_factory.mktemp("without_each")
    copy = place / PACKAGE.name
    (copy / "wings").mkdir(parents=True)
    for folder, original in ((copy, PACKAGE), (copy / "wings", PACKAGE / "wings")):
        for path in original.iterdir():
            if path.name not in ("wings", "__pycache__"):
                (folder / path.name).symlink_to(path)
    more = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(place / "compiled")}
    ended = subprocess.run(
        [sys.executable, "-P", without_each.__file__, str(place), str(documents_in(place))],
        input=json.dumps({name: _with_those_that_need(name) for name in WINGS}),
        stdout=subprocess.PIPE,
        text=True,
        env=environment(**more, LC_ALL="C.UTF-8"),
        check=True,
        timeout=300,
    )
    return dict(json.loads(ended.stdout))


@pytest.mark.parametrize("name", WINGS)
def test_the_others_work(outcomes: dict[str, Any], name: str) -> None:
    ran = outcomes[name]
    assert {command: (code, err) for command, (code, _, err) in ran.items() if code} == {}
    assert ran.keys() == without_each.COMMANDS.keys()
    assert json.loads(ran["ingest"][1])["documents"]["added"] == 2
    assert "Andrew Orr" in json.loads(ran["ask"][1])["answer"]
    lacking = f"this installation lacks the wings {', '.join(_with_those_that_need(name))}"
    assert lacking in ran["pipelines"][2]
