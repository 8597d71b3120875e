"""Readers of further file formats."""
