"""Every type of warning that the program gives is explained, and no other."""

from __future__ import annotations

import re

from tests.docs.markdown import REPOSITORY

PAGE = (REPOSITORY / "docs" / "how-to" / "trouble.md").read_text("utf-8")


def test_every_type_of_warning_is_explained() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "graphrag_rdf").rglob("*.py"))
    given = set(re.findall(r"\bwarn\(\s*\"(\w+)\",", sources))
    # of readers of documents, and checks of answers
    given |= set(re.findall(r"\byield\s+\(?\s*\"(\w+_\w+)\",\s+tr\(", sources))
    # of stages with a model, and of tuning, which has no trace
    given |= set(re.findall(r"^    warning = \"(\w+)\"", sources, re.MULTILINE))
    given |= set(re.findall(r"\{\"type\": \"(\w+)\", \"detail\"", sources))
    section = PAGE.partition("## Errors")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == given
