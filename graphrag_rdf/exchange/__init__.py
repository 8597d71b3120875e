"""Export in three dialects, restoring of dumps, and import of other RDF."""

from __future__ import annotations

from graphrag_rdf.exchange.dump import FORMATS, ExportReport, Format, export_graph
from graphrag_rdf.exchange.import_ import ImportReport, import_file
from graphrag_rdf.exchange.shards import Manifest, export_shards, read_manifest

__all__ = [
    "FORMATS",
    "ExportReport",
    "Format",
    "ImportReport",
    "Manifest",
    "export_graph",
    "export_shards",
    "import_file",
    "read_manifest",
]
