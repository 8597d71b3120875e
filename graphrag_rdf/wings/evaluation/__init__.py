"""Evaluation on sets of questions with known passages and answers."""
