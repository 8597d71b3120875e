# name: derived/typed
# kind: update
# summary: State plainly between chunks the relations that models found.
INSERT { GRAPH <urn:graph:derived> { ?from ?type ?to } } WHERE {
  GRAPH <urn:graph:source> {
    ?relation rag:relationType ?type ;
      rag:relationFrom ?from ;
      rag:relationTo ?to .
    FILTER NOT EXISTS { ?relation prov:invalidatedAtTime ?time }
  }
}
