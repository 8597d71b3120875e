# name: claims/clear-failures
# kind: update
# summary: Remove failures of chunks whose claims were read since.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  {{ values("?chunk", chunks) }}
  GRAPH <urn:graph:source> {
    ?failure rag:failureOf ?chunk ;
      rag:stage "claims" ;
      ?p ?o .
  }
}
