# name: facts/withhold
# kind: update
# summary: Take out facts that a decision which stands retracts.
DELETE { {% call facts() %}?s ?p ?o .{% endcall %} } WHERE {
  GRAPH <urn:graph:system> {
    ?decision a rag:FactRetraction .
    {{ retracts("?decision", "?s", "?p", "?o") }}
    FILTER NOT EXISTS { ?decision prov:invalidatedAtTime ?undone }
  }
  {% call facts() %}?s ?p ?o .{% endcall %}
}
