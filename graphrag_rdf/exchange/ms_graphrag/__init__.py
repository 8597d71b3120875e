"""Interchange with Microsoft GraphRAG: its tables become documents, facts, claims, communities, and back."""

from __future__ import annotations

from graphrag_rdf.exchange.ms_graphrag.export import TablesWritten, export_tables
from graphrag_rdf.exchange.ms_graphrag.import_ import import_tables
from graphrag_rdf.exchange.ms_graphrag.report import TablesReport

__all__ = ["TablesReport", "TablesWritten", "export_tables", "import_tables"]
