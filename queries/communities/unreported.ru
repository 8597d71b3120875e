# name: communities/unreported
# kind: update
# summary: Remove the record of the last run that made reports, so that the next one looks at what they are made from.
DELETE WHERE { GRAPH <urn:graph:community> { <urn:graphrag-rdf:community-reports> ?p ?o } }
