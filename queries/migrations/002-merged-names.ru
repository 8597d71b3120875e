# name: migrations/002-merged-names
# kind: update
# summary: Have the next run give merged entities the names of all.
# params:
#   number: {type: int, sample: 2}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
INSERT { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:unsettled ?entity } } WHERE {
  GRAPH <urn:graph:derived> {
    ?entity rag:canonicalEntity ?canonical .
    FILTER(?entity != ?canonical)
  }
} ;
DELETE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion ?before } }
INSERT {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> rag:storeVersion {{ number }} .
    <urn:graphrag-rdf:migration:002> a rag:Migration ;
      rdfs:label "002 names of merged entities" ;
      prov:used <urn:graphrag-rdf:store> ;
      prov:endedAtTime {{ now }} .
  }
} WHERE {
  GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion ?before }
}
