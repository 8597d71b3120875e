# name: ingest/retract-facts
# kind: update
# summary: Remove facts among these that no subgraph contains any more.
# params:
#   candidates: {type: "(iri, iri, term)[]", sample: [["http://trustgraph.ai/e/ada", "http://trustgraph.ai/r/knows", "<http://trustgraph.ai/e/bob>"]]}
INSERT { GRAPH <urn:graph:inferred:changed> { ?s ?p ?o } } WHERE {
  {{ values("?s ?p ?o", candidates) }}
  GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:inferredBy ?rules }
} ;
DELETE { {% call facts() %}?s ?p ?o .{% endcall %} } WHERE {
  {{ values("?s ?p ?o", candidates) }}
  {% call facts() %}?s ?p ?o .{% endcall %}
  FILTER NOT EXISTS { GRAPH <urn:graph:source> { {{ contains("?subgraph", "?s", "?p", "?o") }} } }
}
