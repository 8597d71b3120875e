"""Ontologies: what the facts of a store use, and what is loaded."""
