# name: summaries/begin
# kind: update
# summary: Remove the record of the last run that made descriptions, and its failures; they are tried again.
DELETE WHERE { GRAPH <urn:graph:derived> { <urn:graphrag-rdf:summaries> ?p ?o } } ;
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  GRAPH <urn:graph:source> { ?failure rag:stage "summary" ; ?p ?o }
}
