# name: reasoning/asserted
# kind: update
# summary: Remove inferences that are facts or axioms now.
DELETE { GRAPH <urn:graph:inferred> { ?s ?p ?o } } WHERE {
  { GRAPH <urn:graph:inferred:changed> { ?s ?p ?o } }
  FILTER EXISTS { {% call facts() %}?s ?p ?o .{% endcall %} }
} ;
DELETE { GRAPH <urn:graph:inferred> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:ontology> { ?s ?p ?o }
  FILTER NOT EXISTS { GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o } }
}
