# name: forget/fact-decisions
# kind: update
# summary: Remove decisions about facts; their terms may be words of a forgotten document.
# params:
#   decisions: {type: "iri[]", sample: ["urn:graphrag-rdf:removal:1"]}
DELETE { GRAPH <urn:graph:system> { ?decision ?p ?o } } WHERE {
  {{ values("?decision", decisions) }}
  GRAPH <urn:graph:system> { ?decision ?p ?o }
}
