"""The server: a SPARQL 1.2 endpoint, questions over HTTP, and what people read, over one store.

| module | holds |
|---|---|
| `app` | the routes and what stands before them |
| `run` | uvicorn, started and stopped |
| `query`, `update`, `graphstore`, `description` | the W3C protocols, the service description |
| `ask`, `questions`, `runs` | questions over HTTP, in threads |
| `mcp` | the same and more as tools for programs with a language model |
| `uploads`, `ingests` | documents that clients send, and that they name in an allowed folder |
| `traces`, `documents`, `entities`, `resource` | what the store holds |
| `dataset`, `statistics`, `queries` | what the store says of itself: VoID and DCAT, templates as RDF |
| `representations` | JSON, RDF or a page of one thing, by negotiation |
| `status`, `openapi` | health, metrics, diagnostics, the description of all this |
| `negotiation`, `formats`, `parameters`, `body`, `xmlguard`, `problems` | parts of HTTP |
| `caching`, `preconditions` | tags of answers, and requests that depend on them |
| `inspect`, `using`, `operations`, `nesting` | what a query's or update's tokens tell before it runs |
| `lookup`, `lane` | queries that can only be quick, and their short way |
| `evaluate`, `answers` | one query on one store, and its answer on the way to the client |
| `pool`, `reader`, `wire`, `snapshots`, `inprocess` | queries in processes of their own, on snapshots |
| `remote`, `remote_query` | queries at the endpoint of a remote store |
| `service`, `writer` | what routes work with; the one queue of writes |
| `aside` | threads for what queries wait for |
| `connection`, `offers` | uvicorn's connections, with limits of our own |
| `envelope`, `guard`, `access`, `throttle`, `metrics` | what stands before the routes |
"""
