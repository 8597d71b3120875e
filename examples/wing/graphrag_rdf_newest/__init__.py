"""Answers from the newest documents first: an example of a wing."""
