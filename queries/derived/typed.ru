# name: derived/typed
# kind: update
# summary: State the relations that models found between chunks as plain triples.
INSERT { GRAPH <urn:graph:derived> { ?from ?type ?to } } WHERE {
  GRAPH <urn:graph:source> {
    ?relation rag:relationType ?type ;
      rag:relationFrom ?from ;
      rag:relationTo ?to .
    FILTER NOT EXISTS { ?relation prov:invalidatedAtTime ?time }
  }
}
