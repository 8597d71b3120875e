"""Write the pages of the documentation that are made from code.

    python docs/generate.py

`docs/vocabulary.md` is made by `make ontology`. A test fails when a page is not what this gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graphrag_rdf.cli import reference_page as commands
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql import reference_page as queries
from graphrag_rdf.sparql.library import TemplateLibrary

HERE = Path(__file__).resolve().parent


def pages() -> Iterator[tuple[Path, str]]:
    """Every generated page: its path, and what it should hold."""
    library = TemplateLibrary(folder("queries"))
    yield HERE / "reference" / "queries.md", queries.page(library)
    yield HERE / "reference" / "cli.md", commands.page()
    yield HERE / "reference" / "settings.md", commands.settings_page()
    cookbook = HERE / "cookbook.md"
    yield cookbook, queries.fill(cookbook.read_text("utf-8"), library)


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, "utf-8")
        print(path)
