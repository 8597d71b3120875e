"""Communities: groups of entities that belong together, found by hierarchical Leiden clustering.

The pairs of entities that belong together, and how strongly, are one query (`queries/communities/edges.rq`).
`clustering` finds the groups, `build` writes them to `urn:graph:community`.
"""
