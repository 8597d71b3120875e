"""`/ontology`: the classes and properties that the store's graphs are written in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.rdf.vocabulary_page import TermRow, vocabularies
from graphrag_rdf.server.http.access import require
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
    found = vocabularies()
    shown = [
        (
            vocabulary.title.replace("`", ""),
            vocabulary.namespace,
            vocabulary.introduction,
            [_section(heading, kind, vocabulary.terms) for kind, heading in _KINDS.items()],
        )
        for vocabulary in found
    ]
    known = {row.term for vocabulary in found for row in vocabulary.terms}
    return render("ontology", "/ontology", vocabularies=shown, known=known)


def _section(heading: str, kind: str, rows: Iterable[TermRow]) -> Section:
    return Section(heading, tuple((r, tuple(_NAME.split(r.signature))) for r in rows if r.kind == kind))
