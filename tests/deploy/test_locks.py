"""The lock files pin what pyproject.toml asks for, with hashes, and name nothing of the machine."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).parents[2]
_LOCKS = _ROOT / "deploy" / "locks"
_ENTRY = re.compile(
    r"^(?P<requirement>\S+==[^\\]+?) \\\n(?P<hashes>(?:    --hash=\S+(?: \\)?\n)+)", re.MULTILINE
)


def project() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))


def locked(name: str) -> dict[str, list[Requirement]]:
    """The entries of a lock file by package; one that differs by Python version has several."""
    found: dict[str, list[Requirement]] = {}
    for entry in _ENTRY.finditer((_LOCKS / f"{name}.txt").read_text("utf-8")):
        requirement = Requirement(entry["requirement"])
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def versions(entries: list[Requirement]) -> Iterator[str]:
    """The versions that entries pin."""
    for entry in entries:
        (pin,) = entry.specifier
        assert pin.operator == "=="
        yield pin.version


def wanted(name: str) -> list[str]:
    """What a lock file is made of; see `make lock`."""
    run = [*project()["project"]["dependencies"], *project()["project"]["optional-dependencies"]["mcp"]]
    groups = project()["dependency-groups"]
    return {"run": run, "dev": [*run, *groups["dev"]], "build": groups["build"]}[name]


@pytest.mark.parametrize("name", ["run", "dev", "build"])
def test_a_lock_holds_what_the_project_asks_for(name: str) -> None:
    """`make lock` mends what fails here."""
    found = locked(name)
    for text in wanted(name):
        asked = Requirement(text)
        entries = found.get(canonicalize_name(asked.name), [])
        assert entries, f"{asked.name} is not in {name}.txt: run make lock"
        for version in versions(entries):
            assert asked.specifier.contains(version), f"{name}.txt has {asked.name} {version}: run make lock"


@pytest.mark.parametrize("name", ["run", "dev", "build"])
def test_a_lock_holds_nothing_but_pins_with_hashes(name: str) -> None:
    text = (_LOCKS / f"{name}.txt").read_text("utf-8")
    rest = _ENTRY.sub("", text)
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []
    assert "://" not in text
    assert str(_ROOT) not in text


def test_locks_agree() -> None:
    run, dev, build = locked("run"), locked("dev"), locked("build")
    pinned = {name: sorted(versions(entries)) for name, entries in dev.items()}
    assert {name: sorted(versions(entries)) for name, entries in run.items()}.items() <= pinned.items()
    both = build.keys() & dev.keys()
    assert {name: sorted(versions(build[name])) for name in both} == {name: pinned[name] for name in both}


def test_the_build_needs_no_more_than_its_lock() -> None:
    requires = {Requirement(text).name for text in project()["build-system"]["requires"]}
    assert requires <= {Requirement(text).name for text in project()["dependency-groups"]["build"]}


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("store/wrapper.py", "SPARQLWrapper"),
        ("llm/library.py", "litellm"),
        ("extract/tagging.py", "HanTa"),
        ("server/connection.py", "uvicorn"),
        ("server/http/body.py", "starlette"),
        ("documents/readers/pdf.py", "pypdfium2"),
        ("index/postings.py", "tantivy"),
    ],
)
def test_packages_whose_internals_are_used_have_an_upper_bound(module: str, package: str) -> None:
    assert package in (_ROOT / "graphrag_rdf" / module).read_text("utf-8")
    asked = next(r for r in map(Requirement, project()["project"]["dependencies"]) if r.name == package)
    assert any(part.operator in ("<", "<=", "==", "~=") for part in asked.specifier)
