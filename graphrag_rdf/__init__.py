"""GraphRAG whose whole memory is RDF."""

__version__ = "0.1.0"
