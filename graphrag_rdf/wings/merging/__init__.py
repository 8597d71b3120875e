"""Entities and relations that are the same."""
