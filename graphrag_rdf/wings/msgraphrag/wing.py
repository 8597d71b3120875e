"""Interchange with Microsoft GraphRAG."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="msgraphrag",
    about=later("Tables of Microsoft GraphRAG in and out."),
    needs=("communities",),
    imports={"ms-graphrag": "graphrag_rdf.wings.msgraphrag.commands:import_folder"},
    exports={"ms-graphrag": "graphrag_rdf.wings.msgraphrag.commands:export_folder"},
)
