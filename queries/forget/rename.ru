# name: forget/rename
# kind: update
# summary: Put hashes in the place of the names of what was forgotten - entities in traces, documents in what is kept of their versions.
# params:
#   names: {type: "(iri, iri)[]", sample: [["http://trustgraph.ai/e/ada", "urn:graphrag-rdf:forgotten:0"]]}
DELETE { GRAPH ?graph { ?node ?property ?name } }
INSERT { GRAPH ?graph { ?node ?property ?hash } } WHERE {
  {{ values("?name ?hash", names) }}
  VALUES ?graph { <urn:graph:retrieval> <urn:graph:source> }
  GRAPH ?graph { ?node ?property ?name }
}
