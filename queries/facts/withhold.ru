# name: facts/withhold
# kind: update
# summary: Remove asserted facts that a standing decision retracts.
INSERT { GRAPH <urn:graph:inferred:changed> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:system> {
    ?decision a rag:FactRetraction .
    {{ retracts("?decision", "?s", "?p", "?o") }}
    FILTER NOT EXISTS { ?decision prov:invalidatedAtTime ?undone }
  }
  {% call facts() %}?s ?p ?o .{% endcall %}
  GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:inferredBy ?rules }
} ;
DELETE { {% call facts() %}?s ?p ?o .{% endcall %} } WHERE {
  GRAPH <urn:graph:system> {
    ?decision a rag:FactRetraction .
    {{ retracts("?decision", "?s", "?p", "?o") }}
    FILTER NOT EXISTS { ?decision prov:invalidatedAtTime ?undone }
  }
  {% call facts() %}?s ?p ?o .{% endcall %}
}
