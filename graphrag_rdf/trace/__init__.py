"""Traces: how an answer came about, as RDF - recorded, read back, shown, verified."""
