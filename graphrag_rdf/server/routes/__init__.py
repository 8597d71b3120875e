"""What each path does: JSON, RDF and pages of one thing are in one module.

| module | paths |
|---|---|
| `sparql`, `graphstore`, `editor` | the W3C protocols: `/sparql`, `/store`; the page to write queries on |
| `ask` | `/`, `/ask`, `/retrieve` |
| `traces` | `/traces`, with feedback |
| `documents`, `uploads` | `/documents` |
| `entities`, `facts`, `resource` | what else the store holds |
| `dataset`, `reference` | the description of the store; the program's own queries and vocabularies |
| `status`, `openapi` | health, metrics, diagnostics, caches; the table of all paths |
"""
