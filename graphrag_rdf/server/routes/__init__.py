"""What each path does.

| module | paths |
|---|---|
| `query`, `update`, `graphstore`, `description` | the W3C protocols: `/sparql`, `/store` and so on |
| `ask`, `replay`, `feedback` | `/ask`, `/retrieve`, `/traces/{id}/replay`, `/traces/{id}/feedback` |
| `uploads` | `POST /documents`, `DELETE /documents/{id}` |
| `traces`, `documents`, `entities`, `facts`, `resource` | what the store holds |
| `dataset`, `statistics`, `queries` | the description of the store: VoID and DCAT, templates as RDF |
| `status`, `openapi` | health, metrics, diagnostics, caches, the description of all paths |
"""
