"""Answers of models about claims and descriptions."""
