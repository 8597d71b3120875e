"""Pages that are made from code are what the code gives; links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.markdown import REPOSITORY, anchors, pages, without_code

_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def generated() -> Iterator[tuple[Path, str]]:
    place = REPOSITORY / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("docs_generate", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield from module.pages()


@pytest.mark.parametrize(("path", "text"), list(generated()), ids=lambda value: getattr(value, "name", ""))
def test_generated_pages_are_current(path: Path, text: str) -> None:
    assert path.read_text("utf-8") == text, "run: python docs/generate.py"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for target, anchor in _LINK.findall(without_code(page.read_text("utf-8"))):
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in anchors(path.read_text("utf-8"))):
            dead.append(f"{target}#{anchor}")
    assert dead == []
