"""Hook of mkdocs: pages outside of docs/ are part of the site, and their links work in both places.

Links to files that are no page (source code, the licence) become plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "README.zh.md": "zh/index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
    "THIRD_PARTY.md": "third-party.md",
    "examples/README.md": "examples.md",
    "examples/README.zh.md": "zh/examples.md",
}
"""Path in the repository → path in the site."""
_INSIDE = {inside: outside for outside, inside in OUTSIDE.items()}
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]+)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages outside of docs/."""
    for outside, inside in OUTSIDE.items():
        files.append(File.generated(config, inside, abs_src_path=str(REPOSITORY / outside)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the links of a page, which lead through the repository, into links through the site."""
    here = page.file.src_uri
    source = _INSIDE.get(here, f"docs/{here}")

    def link(found: re.Match[str]) -> str:
        image, text, target, anchor = found.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        inside = OUTSIDE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        if inside is None:
            return str(text)
        return f"{image}[{text}]({posixpath.relpath(inside, posixpath.dirname(here) or '.')}{anchor or ''})"

    parts = _FENCE.split(markdown)
    return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts))
