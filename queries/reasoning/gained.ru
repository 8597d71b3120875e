# name: reasoning/gained
# kind: update
# summary: Find the facts and axioms that are new since inferences were last complete.
INSERT { GRAPH <urn:graph:inferred:new> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:inferred:changed> { ?s ?p ?o }
  FILTER EXISTS { {% call facts() %}?s ?p ?o .{% endcall %} }
} ;
INSERT { GRAPH <urn:graph:inferred:new> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:ontology> { ?s ?p ?o }
  FILTER NOT EXISTS { GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o } }
}
