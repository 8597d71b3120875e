"""Ontologies, and extraction in their terms."""
