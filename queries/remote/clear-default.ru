# name: remote/clear-default
# kind: update
# summary: Remove the triple that remote/write-default wrote.
# params:
#   node: {type: iri, sample: "urn:graphrag-rdf:probe"}
DELETE WHERE { {{ node }} rag:index ?value }
