"""The server: a SPARQL 1.2 endpoint, questions over HTTP, pages and tools, over one store.

Each room knows only those below it. A tool also knows the route that does the same.

| folder or module | holds |
|---|---|
| `run`, `connection` | uvicorn: its start, its stop, and the limits of its connections |
| `app` | the app, and the middleware before its routes |
| `routes` | what each path does, for programs and as pages for people |
| `pages` | what pages share |
| `mcp` | the store as tools for programs with a language model |
| `representations`, `caching` | JSON, RDF or a page of one thing; conditional requests |
| `service`, `writer`, `runs`, `statistics` | what routes work with: engine, writes, runs in threads, counts |
| `execution` | a query, from its text to the bytes of its result, in reader processes |
| `http` | parts of HTTP, and what every request passes |
"""
