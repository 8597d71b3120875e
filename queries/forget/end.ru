# name: forget/end
# kind: update
# summary: Remove the note of an erasure that has ended.
DELETE WHERE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:erasure> ?property ?value } }
