"""Stores in the bulk loaders of engines, and plans for large collections."""
