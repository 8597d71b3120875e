"""What each path does.

| module | paths |
|---|---|
| `query`, `update`, `graphstore`, `description` | the W3C protocols: `/sparql`, `/store` and so on |
| `ask`, `again`, `feedback` | `/ask`, `/retrieve`, `/traces/{id}/replay`, `/traces/{id}/feedback` |
| `uploads` | `POST /documents`, `DELETE /documents/{id}` |
| `traces`, `documents`, `entities`, `facts`, `resource` | what the store holds |
| `dataset`, `statistics`, `queries` | what the store says of itself: VoID and DCAT, templates as RDF |
| `status`, `cache`, `openapi` | health, metrics, diagnostics, caches, the description of all this |
"""
