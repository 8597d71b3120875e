# name: remote/write-default
# kind: update
# summary: Write into the default graph, to see whether there is one.
# params:
#   node: {type: iri, sample: "urn:graphrag-rdf:probe"}
INSERT DATA { {{ node }} rag:index 1 }
