"""Answers checked against the store, compared, and asked again."""
