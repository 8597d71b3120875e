# name: derived/drop-synonyms
# kind: update
# summary: Remove synonym candidates with these entities.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:derived> { ?candidate ?p ?o } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:derived> {
    ?candidate rag:member ?entity ;
      a rag:SynonymCandidate ;
      ?p ?o .
  }
}
