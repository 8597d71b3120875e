"""A client's query, from its text to the bytes of its result.

| module | holds |
|---|---|
| `sparql_text`, `nesting` | checks and rewriting of a text before it runs |
| `evaluate`, `answers` | one query on one store, and its answer on the way to the client |
| `pool`, `process`, `snapshots` | queries in reader processes, on snapshots |
| `reader`, `memory`, `wire` | the reader process, its memory limit and its protocol |
| `threads` | queries in threads, where no process can be limited |
| `remote` | queries at the endpoint of a remote store |
"""
