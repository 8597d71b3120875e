# name: ontology/activate
# kind: update
# summary: Make a loaded version of an ontology the active one, whose triples are in the graph of ontologies.
# params:
#   ontology: {type: iri, sample: "http://example.org/ships"}
#   version: {type: iri, sample: "urn:graph:ontology:0123456789abcdef"}
INSERT { GRAPH <urn:graph:ontology> { ?s ?p ?o } } WHERE { GRAPH {{ version }} { ?s ?p ?o } } ;
INSERT DATA { GRAPH <urn:graph:system> { {{ ontology }} rag:activeVersion {{ version }} } }
