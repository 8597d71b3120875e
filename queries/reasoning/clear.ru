# name: reasoning/clear
# kind: update
# summary: Remove all inferences, and the records that keep them up to date.
DELETE { GRAPH ?graph { ?s ?p ?o } } WHERE {
  VALUES ?graph {
    <urn:graph:inferred> <urn:graph:inferred:axioms> <urn:graph:inferred:changed>
    <urn:graph:inferred:lost> <urn:graph:inferred:new>
  }
  GRAPH ?graph { ?s ?p ?o }
} ;
DELETE WHERE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:inferredBy ?rules } }
