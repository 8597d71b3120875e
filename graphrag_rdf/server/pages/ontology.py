"""`/ontology`: the classes and properties that the store's graphs are written in."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.rdf.vocabulary_page import VOCABULARIES, TermRow, terms
from graphrag_rdf.resources import folder
from graphrag_rdf.server.access import require
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import HTML

_NAME = re.compile(r"([a-z][a-z-]*:[\w-]+)")
_KINDS = {"class": "Classes", "object": "Properties of things", "data": "Properties with texts and numbers"}


@dataclass(frozen=True, slots=True)
class Section:
    """The terms of one kind in one vocabulary; each with its signature cut into names and what is between."""

    heading: str
    rows: tuple[tuple[TermRow, tuple[str, ...]], ...]


async def ontology(request: Request) -> Response:
    """The page."""
    require(request, "read")
    page = await asyncio.to_thread(_page)
    return Response(page, headers={"Content-Type": HTML.content_type, "Cache-Control": "max-age=300"})


@cache
def _page() -> str:
    """Made once: the files belong to the program."""
    home = folder("ontology")
    vocabularies = []
    known: set[str] = set()
    for name, namespace, title, introduction in VOCABULARIES:
        rows = terms(home / name, namespace)
        known |= {row.term for row in rows}
        sections = [
            Section(
                heading,
                tuple((row, tuple(_NAME.split(row.signature))) for row in rows if row.kind == kind),
            )
            for kind, heading in _KINDS.items()
        ]
        vocabularies.append((title.replace("`", ""), namespace, introduction, sections))
    return render("ontology", "/ontology", vocabularies=vocabularies, known=known)
