# name: facts/retire-subgraphs
# kind: update
# summary: Mark the contents of undone corrections as formerly contained.
# params:
#   subgraphs: {type: "iri[]", sample: ["https://trustgraph.ai/subgraph/1"]}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
DELETE { GRAPH <urn:graph:source> { ?subgraph tg:contains ?fact } }
INSERT { GRAPH <urn:graph:source> { ?subgraph rag:formerlyContains ?fact ; prov:invalidatedAtTime {{ now }} } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?subgraph", subgraphs) }}
    ?subgraph tg:contains ?fact .
  }
}
