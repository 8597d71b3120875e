"""Benchmarks: figures that the project holds itself to, each beside a baseline of the same run."""
