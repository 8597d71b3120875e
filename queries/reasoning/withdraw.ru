# name: reasoning/withdraw
# kind: update
# summary: Withdraw the inferences with a lost premise. Until the end of the update, nothing says that inferences are complete.
DELETE WHERE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:inferredBy ?rules } } ;
DELETE { GRAPH <urn:graph:inferred> { ?s ?p ?o } } WHERE { GRAPH <urn:graph:inferred:lost> { ?s ?p ?o } }
