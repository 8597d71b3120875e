"""The pages about queries: `docs/reference/queries.md`, and the queries shown in `docs/cookbook.md`.

    python -m graphrag_rdf.sparql.reference_page > docs/reference/queries.md
    python -m graphrag_rdf.sparql.reference_page --fill docs/cookbook.md

The templates in `queries/` are the source; a test checks that the pages are what they give. In a page that is
filled, what stands between `<!-- query: NAME -->` and `<!-- end -->` is the query, rendered with the sample
values of its header for a store with RDF 1.2, and the command that runs it.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary
from graphrag_rdf.sparql.render import Renderer

_INTRODUCTION = """\
# Query templates

Every query that the program asks the store is a file in `queries/`, and so are the recipes of the
[cookbook](../cookbook.md). This page is made from their headers by `python docs/generate.py`; change those,
not this. `graphrag-rdf queries show NAME` prints a template, and `graphrag-rdf queries run NAME
-p parameter=value` runs one that reads. Your own folder, named by the setting `queries`, overrides files of
the same name.

A parameter `iri` is given bare, a `term` as in N-Triples (`"text"`, `<http://…>`, `"1"^^<…>`); `[]` marks a
list: repeat `-p`. A row like `(iri, iri, term)` is given with spaces between its parts. *Gives* names the
variables of the answer.
"""

_PURPOSES: Mapping[str, str] = {
    "checks": "Checks of `check`: each row of a result is a violation.",
    "cookbook": "Recipes for people: explained, with results, in the [cookbook](../cookbook.md).",
    "entities": "Entities, for the command `entities`.",
    "exchange": "Export and import.",
    "forget": "Erasing of forgotten documents.",
    "index": "Sources of the search indexes.",
    "ingest": "Questions of an ingest before it writes, and its removals.",
    "labels": "Election of a label among the names of a thing.",
    "migrations": "Changes of a store from one version of the program to the next.",
    "provenance": "From facts and sentences to documents.",
    "retrieval": "The graph around a question, and the ranking of chunks.",
    "selection": "Selection of the evidence for an answer.",
    "system": "The store as a whole.",
    "trace": "Traces: listing and reading them.",
}
"""Folder of `queries/` → what its templates are for."""

_REGION = re.compile(r"(<!-- query: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(library: TemplateLibrary) -> str:
    """The reference page, in Markdown."""
    parts = [_INTRODUCTION]
    templates = sorted(library.values(), key=lambda template: template.name)
    for purpose, group in groupby(templates, key=lambda template: template.name.partition("/")[0]):
        about = _PURPOSES.get(purpose, "")
        parts.append("\n".join([f"## {purpose}", *(["", about] if about else []), ""]))
        parts += ["\n".join([*_entry(template), ""]) for template in group]
    return "\n".join(parts)


def _entry(template: QueryTemplate) -> Iterator[str]:
    header = template.header
    yield f"### `{header.name}`"
    yield ""
    yield f"{header.summary} *({header.kind})*"
    if not (header.params or header.returns):
        return
    yield ""
    for name, parameter in header.params.items():
        about = f": {parameter.about}" if parameter.about else ""
        yield f"- `{name}` *{parameter.type}*{about}"
    if header.returns:
        yield f"- gives {', '.join(f'`{name}`' for name in header.returns)}"


def fill(text: str, library: TemplateLibrary) -> str:
    """A page with the queries that it shows brought up to date.

    Args:
        text: Markdown with marked regions.

    Raises:
        TemplateError: when a region names a query that does not exist.
    """
    renderer = Renderer()

    def region(match: re.Match[str]) -> str:
        template = library[match[2]]
        query = template.render(renderer, **template.samples())
        return f"{match[1]}```sparql\n{query}\n```\n\n```sh\n{command(template)}\n```\n{match[3]}"

    return _REGION.sub(region, text)


def command(template: QueryTemplate) -> str:
    """The command that runs a template with the sample values of its header."""
    given = (
        f"-p {shlex.quote(f'{name}={p.sample}')}" for name, p in template.params.items() if not p.optional
    )
    return " ".join(["graphrag-rdf queries run", template.name, *given])


def main(arguments: list[str]) -> None:
    """Print the reference page, or fill the pages named after `--fill`."""
    library = TemplateLibrary(folder("queries"))
    if arguments[:1] == ["--fill"]:
        for name in arguments[1:]:
            path = Path(name)
            path.write_text(fill(path.read_text("utf-8"), library), "utf-8")
        return
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page(library))


if __name__ == "__main__":
    main(sys.argv[1:])
