# name: remote/clear-named
# kind: update
# summary: Take out what other probes wrote.
DELETE WHERE { GRAPH <urn:graphrag-rdf:probe> { ?s ?p ?o } }
