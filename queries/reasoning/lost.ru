# name: reasoning/lost
# kind: update
# summary: Find the facts and axioms that are gone since inferences were last complete, and remove inferences that are facts or axioms now.
INSERT { GRAPH <urn:graph:inferred:lost> { ?s ?p ?o } } WHERE {
  { GRAPH <urn:graph:inferred:changed> { ?s ?p ?o } }
  UNION
  { GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o } }
  FILTER NOT EXISTS { GRAPH <urn:graph:ontology> { ?s ?p ?o } }
  FILTER NOT EXISTS { {% call facts() %}?s ?p ?o .{% endcall %} }
} ;
DELETE { GRAPH <urn:graph:inferred> { ?s ?p ?o } } WHERE {
  { GRAPH <urn:graph:inferred:changed> { ?s ?p ?o } }
  FILTER EXISTS { {% call facts() %}?s ?p ?o .{% endcall %} }
} ;
DELETE { GRAPH <urn:graph:inferred> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:ontology> { ?s ?p ?o }
  FILTER NOT EXISTS { GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o } }
}
