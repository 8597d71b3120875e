"""Export in three dialects, restoring of dumps, and import of other RDF."""

from __future__ import annotations

from graphrag_rdf.exchange.dump import FORMATS, ExportReport, Format, export_graph
from graphrag_rdf.exchange.import_ import ImportReport, import_file

__all__ = ["FORMATS", "ExportReport", "Format", "ImportReport", "export_graph", "import_file"]
