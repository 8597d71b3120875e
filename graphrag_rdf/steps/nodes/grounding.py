"""Grounding in traces: the concepts that the question is about."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import PROV, RAG, RDFS, TG
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.model import TraceStep


@item
class Concept:
    """A name or phrase that exploration searches for.

    Attributes:
        asked: the earlier question that it was taken from, if any.
    """

    JSON: ClassVar = ("=text",)

    text: str | None = said(RDFS.label, words=True)
    asked: NamedNode | None = said(PROV.wasDerivedFrom, default=None)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


CONCEPT = ItemKind("concept", "concepts", RAG.conceptTerm, RAG.ConceptTerm, Concept)


def _text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    concepts = step.items["concepts"]
    page.line(f"    {len(concepts)} concept(s)")
    for concept in concepts:
        page.paragraph(concept.text or "(erased)", "      ", "- ")


GROUNDING = NodeKind(
    "grounding",
    TG.Grounding,
    "What of the question to search for.",
    items=(CONCEPT,),
    words=(TG.concept,),  # what TrustGraph's clients read of it
    text=_text,
    page=Path(__file__).with_name("grounding.html.j2"),
)
