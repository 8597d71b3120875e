# name: forget/taken-out
# kind: update
# summary: Note that the text of the documents is out of everything but the files - the note names them no more.
DELETE WHERE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:erasure> prov:invalidated ?document } }
