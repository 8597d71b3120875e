"""Queries in processes of their own, which are killed at a limit of time or memory.

| module | holds |
|---|---|
| `evaluate` | one query on one store, within the limits of its answer |
| `main`, `memory` | the reader process, and its memory limit |
| `process` | the other end: starting, asking and killing a reader |
| `limited` | queries that a model or a user's template wrote, for one question |
"""
