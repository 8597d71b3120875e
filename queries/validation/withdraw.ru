# name: validation/withdraw
# kind: update
# summary: Remove the evidence of facts in the subgraphs that no longer contain them.
# params:
#   facts: {type: "(iri, iri, iri, term)[]", sample: [["https://trustgraph.ai/subgraph/1", "http://trustgraph.ai/e/ada", "http://trustgraph.ai/r/knows", "<http://trustgraph.ai/e/bob>"]], about: "subgraph, subject, relation, object"}
DELETE { GRAPH <urn:graph:source> { ?evidence ?property ?value } } WHERE {
  {{ values("?subgraph ?s ?p ?o", facts) }}
  GRAPH <urn:graph:source> {
    {{ reifies("?evidence", "?s", "?p", "?o") }}
    ?evidence prov:wasDerivedFrom ?subgraph ;
      ?property ?value .
  }
}
