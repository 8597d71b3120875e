# name: facts/assert-again
# kind: update
# summary: Assert facts among these that a subgraph contains and no decision retracts any more.
# params:
#   candidates: {type: "(iri, iri, term)[]", sample: [["http://trustgraph.ai/e/ada", "http://trustgraph.ai/r/knows", "<http://trustgraph.ai/e/bob>"]]}
INSERT { GRAPH <urn:graph:inferred:changed> { ?s ?p ?o } } WHERE {
  {{ values("?s ?p ?o", candidates) }}
  GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:inferredBy ?rules }
} ;
INSERT { {% call facts() %}?s ?p ?o .{% endcall %} } WHERE {
  {{ values("?s ?p ?o", candidates) }}
  FILTER EXISTS { GRAPH <urn:graph:source> { {{ contains("?subgraph", "?s", "?p", "?o") }} } }
  FILTER NOT EXISTS {
    GRAPH <urn:graph:system> {
      {{ retracts("?decision", "?s", "?p", "?o") }}
      FILTER NOT EXISTS { ?decision prov:invalidatedAtTime ?undone }
    }
  }
}
