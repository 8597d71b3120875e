"""Explorations by a composite score and hop by hop, and relations between chunks."""
