"""The server: a SPARQL 1.2 endpoint, questions over HTTP, pages and tools, over one store.

Each room knows only those below it. A page or tool also knows the route that does the same for programs.

| folder or module | holds |
|---|---|
| `run`, `shutdown`, `connection` | uvicorn: its start, its stop, and the limits of its connections |
| `app` | the table of routes, and the middleware before them |
| `routes` | what each path does |
| `pages`, `mcp` | the same for people, and as tools for programs with a language model |
| `representations`, `caching` | JSON, RDF or a page of one thing; conditional requests |
| `service`, `writer`, `runs`, `ingests` | what routes work with: engine, queue of writes, runs in threads |
| `execution` | a query, from its text to the bytes of its result, in reader processes |
| `http` | parts of HTTP, and what every request passes |
"""
