"""SPARQL templates: loading, checking, term-safe rendering, three dialects."""
