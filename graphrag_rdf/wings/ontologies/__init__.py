"""Ontologies for people who write them: checks, drafts, Protégé."""
