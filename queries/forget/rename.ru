# name: forget/rename
# kind: update
# summary: Replace names of forgotten things by hashes - entities in traces, documents in their versions.
# params:
#   names: {type: "(iri, iri)[]", sample: [["http://trustgraph.ai/e/ada", "urn:graphrag-rdf:forgotten:0"]]}
DELETE { GRAPH ?graph { ?node ?property ?name } }
INSERT { GRAPH ?graph { ?node ?property ?hash } } WHERE {
  {{ values("?name ?hash", names) }}
  VALUES ?graph { <urn:graph:retrieval> <urn:graph:source> }
  GRAPH ?graph { ?node ?property ?name }
}
