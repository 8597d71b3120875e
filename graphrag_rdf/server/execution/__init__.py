"""A client's query, from its text to the bytes of its result.

| module | holds |
|---|---|
| `sparql_text`, `nesting` | checks and rewriting of a text before it runs |
| `evaluate` | one query on one store, within the limits of its answer |
| `queries` | queries in threads, and their answers on the way to the client |
| `readers`, `snapshots` | reader processes, and the copies of the store that they read |
| `reader`, `memory` | the reader process itself, and its memory limit |
| `remote` | queries at the endpoint of a remote store |
"""
