"""Extraction in the terms of an ontology."""
