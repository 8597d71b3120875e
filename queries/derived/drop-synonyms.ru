# name: derived/drop-synonyms
# kind: update
# summary: Remove pairs of entities with similar names, which earlier versions derived, with these entities.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:derived> { ?candidate ?p ?o } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:derived> {
    ?candidate rag:member ?entity ;
      ?p ?o .
  }
}
