"""A client's query, from its text to the bytes of its result.

| module | holds |
|---|---|
| `sparql_text`, `nesting` | checks and rewriting of a text before it runs |
| `queries` | queries in threads, and their answers on the way to the client |
| `readers`, `snapshots` | the pool of reader processes, and the copies of the store that they read |
| `remote` | queries at the endpoint of a remote store |
"""
