# name: communities/reports-begin
# kind: update
# summary: Remove the record of the last run that made reports, and its failures; they are tried again.
DELETE WHERE { GRAPH <urn:graph:community> { <urn:graphrag-rdf:community-reports> ?p ?o } } ;
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  GRAPH <urn:graph:source> { ?failure rag:stage "community report" ; ?p ?o }
}
