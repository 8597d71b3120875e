# name: migrations/001-initial
# kind: update
# summary: Describe a new store - its version and the rule by which names become IRIs.
# params:
#   number: {type: int, sample: 1}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
DELETE WHERE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion ?any } } ;
INSERT DATA {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> a rag:Store ;
      rdfs:label "graphrag-rdf store" ;
      rag:storeVersion {{ number }} ;
      rag:normaliserVersion "1" .
    <https://trustgraph.ai/agent/graphrag-rdf> a prov:SoftwareAgent ;
      rdfs:label "graphrag-rdf" .
    <urn:graphrag-rdf:migration:001> a rag:Migration ;
      rdfs:label "001 initial" ;
      prov:used <urn:graphrag-rdf:store> ;
      prov:endedAtTime {{ now }} .
  }
}
