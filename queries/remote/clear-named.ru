# name: remote/clear-named
# kind: update
# summary: Remove the triples that the other probes wrote.
DELETE WHERE { GRAPH <urn:graphrag-rdf:probe> { ?s ?p ?o } }
