# name: forget/mark-traces
# kind: update
# summary: Mark traces of which some words were erased, with the time of the first erasure.
# params:
#   traces: {type: "iri[]", sample: ["urn:trustgraph:session:1"]}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
INSERT { GRAPH <urn:graph:retrieval> { ?trace rag:erasedAtTime {{ now }} } } WHERE {
  {{ values("?trace", traces) }}
  FILTER NOT EXISTS { GRAPH <urn:graph:retrieval> { ?trace rag:sourceForgotten true } }
} ;
INSERT { GRAPH <urn:graph:retrieval> { ?trace rag:sourceForgotten true } } WHERE {
  {{ values("?trace", traces) }}
}
