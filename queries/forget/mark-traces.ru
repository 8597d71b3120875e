# name: forget/mark-traces
# kind: update
# summary: Mark traces of which some words were erased.
# params:
#   traces: {type: "iri[]", sample: ["urn:trustgraph:session:1"]}
INSERT { GRAPH <urn:graph:retrieval> { ?trace rag:sourceForgotten true } } WHERE {
  {{ values("?trace", traces) }}
}
