# name: trace/foreign-delete
# kind: update
# summary: Remove nodes of traces in TrustGraph's own form, with the reifiers of their facts.
# params:
#   nodes: {type: "iri[]", sample: ["urn:trustgraph:question:1"]}
DELETE { GRAPH <urn:graph:retrieval> { ?written rdf:reifies ?fact } } WHERE {
  {{ values("?node", nodes) }}
  GRAPH <urn:graph:retrieval> {
    ?node tg:edge ?written .
    ?written rdf:reifies ?fact .
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?node ?property ?value } } WHERE {
  {{ values("?node", nodes) }}
  GRAPH <urn:graph:retrieval> { ?node ?property ?value }
}
