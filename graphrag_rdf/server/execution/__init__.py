"""A query of a client, from its text to the bytes of its result.

| module | holds |
|---|---|
| `inspect`, `operations`, `nesting`, `using` | what the tokens of a query or update tell before it runs |
| `evaluate`, `answers` | one query on one store, and its answer on the way to the client |
| `pool`, `reader`, `snapshots` | queries in processes of their own, on snapshots |
| `process`, `memory`, `wire`, `aside` | how these processes begin, end and talk, and are waited for |
| `inprocess` | queries in threads, where processes cannot be limited |
| `remote`, `remote_query` | queries at the endpoint of a remote store |
"""
