"""Integrity of the store (`check`), and the state of installation, settings and indexes (`doctor`)."""

from graphrag_rdf.checks.integrity import CHECKS, LIMIT, Violation, run_checks
from graphrag_rdf.checks.shapes import run_shapes

__all__ = ["CHECKS", "LIMIT", "Violation", "run_checks", "run_shapes"]
