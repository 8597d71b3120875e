# name: facts/withhold
# kind: update
# summary: Remove asserted facts that a standing decision retracts.
DELETE { {% call facts() %}?s ?p ?o .{% endcall %} } WHERE {
  GRAPH <urn:graph:system> {
    ?decision a rag:FactRetraction .
    {{ retracts("?decision", "?s", "?p", "?o") }}
    FILTER NOT EXISTS { ?decision prov:invalidatedAtTime ?undone }
  }
  {% call facts() %}?s ?p ?o .{% endcall %}
}
