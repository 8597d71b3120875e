# name: summaries/drop
# kind: update
# summary: Remove merged descriptions with the activities that made them.
# params:
#   summaries: {type: "iri[]", sample: ["urn:summary:1"]}
DELETE { GRAPH <urn:graph:derived> { ?activity ?p ?o } } WHERE {
  {{ values("?summary", summaries) }}
  GRAPH <urn:graph:derived> {
    ?summary prov:wasGeneratedBy ?activity .
    ?activity ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:derived> { ?summary ?p ?o } } WHERE {
  {{ values("?summary", summaries) }}
  GRAPH <urn:graph:derived> { ?summary ?p ?o }
}
