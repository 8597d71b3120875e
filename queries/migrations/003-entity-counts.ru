# name: migrations/003-entity-counts
# kind: update
# summary: Count in how many chunks each entity is mentioned, and of how many it is the topic.
# params:
#   number: {type: int, sample: 3}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
INSERT { GRAPH <urn:graph:derived> { ?entity rag:chunkCount ?chunks } } WHERE {
  SELECT ?entity (COUNT(DISTINCT ?chunk) AS ?chunks) WHERE {
    GRAPH ?layer { ?sentence rag:mentions ?member }
    GRAPH <urn:graph:source> { ?sentence rag:sentenceOf ?chunk }
    GRAPH <urn:graph:derived> { ?member rag:canonicalEntity ?entity }
  } GROUP BY ?entity
} ;
INSERT { GRAPH <urn:graph:derived> { ?entity rag:topicCount ?chunks } } WHERE {
  SELECT ?entity (COUNT(DISTINCT ?chunk) AS ?chunks) WHERE {
    GRAPH <urn:graph:source> { ?chunk rag:about ?member }
    GRAPH <urn:graph:derived> { ?member rag:canonicalEntity ?entity }
  } GROUP BY ?entity
} ;
DELETE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion ?before } }
INSERT {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> rag:storeVersion {{ number }} .
    <urn:graphrag-rdf:migration:003> a rag:Migration ;
      rdfs:label "003 counts of entities" ;
      prov:used <urn:graphrag-rdf:store> ;
      prov:endedAtTime {{ now }} .
  }
} WHERE {
  GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion ?before }
}
