"""RDF out of the store and into it: export in three dialects, dumps restored, facts of others taken in."""

from __future__ import annotations

from graphrag_rdf.exchange.dump import ExportReport, export_graph
from graphrag_rdf.exchange.formats import FORMATS, Format
from graphrag_rdf.exchange.import_ import ImportReport, import_file

__all__ = ["FORMATS", "ExportReport", "Format", "ImportReport", "export_graph", "import_file"]
