"""The server: a SPARQL 1.2 endpoint, questions over HTTP, and what people read, over one store.

Each knows those below it; a page and a tool also the route that does the same for programs:

| folder or module | holds |
|---|---|
| `run`, `ending`, `connection` | uvicorn: started, stopped in order, its connections with limits of our own |
| `app` | the table of routes, and what stands before them |
| `routes` | what each path does |
| `pages`, `mcp` | the same for people, and as tools for programs with a language model |
| `representations` | JSON, RDF or a page of one thing, by negotiation |
| `caching`, `preconditions` | tags of answers, and requests that depend on them |
| `service`, `writer`, `runs`, `ingests` | what routes work with: engine, queue of writes, runs in threads |
| `execution` | a query, from its text to the bytes of its result, in processes of their own |
| `http` | parts of HTTP, and what every request passes |
"""
