# name: relations/clear-failures
# kind: update
# summary: Remove failures of pairs of chunks, or of the claims of a chunk, by their own IRIs.
# params:
#   failures: {type: "iri[]", sample: ["urn:failure:1"]}
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  {{ values("?failure", failures) }}
  GRAPH <urn:graph:source> { ?failure ?p ?o }
}
