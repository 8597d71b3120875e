"""Weights learned from evaluation sets; prompts tuned to documents."""
