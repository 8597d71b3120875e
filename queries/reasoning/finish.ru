# name: reasoning/finish
# kind: update
# summary: Record that inferences are complete, by which rules, and the axioms that they follow from.
# params:
#   rules: {type: string, sample: "5f2b", about: "hash of the rules"}
DELETE { GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o }
  FILTER NOT EXISTS { GRAPH <urn:graph:ontology> { ?s ?p ?o } }
} ;
INSERT { GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:ontology> { ?s ?p ?o }
  FILTER NOT EXISTS { GRAPH <urn:graph:inferred:axioms> { ?s ?p ?o } }
} ;
INSERT DATA { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:inferredBy {{ rules }} } }
