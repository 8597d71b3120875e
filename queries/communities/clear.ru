# name: communities/clear
# kind: update
# summary: Remove all communities, and the record of their build.
DELETE { GRAPH <urn:graph:community> { ?community ?p ?o } } WHERE {
  GRAPH <urn:graph:community> { ?community a rag:Community ; ?p ?o }
} ;
DELETE WHERE { GRAPH <urn:graph:community> { <urn:graphrag-rdf:communities> ?p ?o } }
