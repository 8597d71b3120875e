# name: decisions/undo
# kind: update
# summary: Mark decisions as undone.
# params:
#   decisions: {type: "iri[]", sample: ["urn:graphrag-rdf:removal:1"]}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
INSERT { GRAPH <urn:graph:system> { ?decision prov:invalidatedAtTime {{ now }} } } WHERE {
  {{ values("?decision", decisions) }}
  GRAPH <urn:graph:system> { ?decision prov:wasAttributedTo ?by }
}
