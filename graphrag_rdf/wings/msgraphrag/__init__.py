"""Interchange with Microsoft GraphRAG: its tables become documents, facts, claims, communities, and back."""
