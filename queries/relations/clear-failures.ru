# name: relations/clear-failures
# kind: update
# summary: Remove failures of pairs of chunks that have succeeded since, or are no longer neighbours.
# params:
#   failures: {type: "iri[]", sample: ["urn:failure:1"]}
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  {{ values("?failure", failures) }}
  GRAPH <urn:graph:source> { ?failure ?p ?o }
}
