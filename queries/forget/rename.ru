# name: forget/rename
# kind: update
# summary: Replace names of forgotten things by hashes - entities in traces, documents in their versions - and remove the hits of explorations that reached them, and results of validations about them.
# params:
#   names: {type: "(iri, iri)[]", sample: [["http://trustgraph.ai/e/ada", "urn:graphrag-rdf:forgotten:0"]]}
DELETE { GRAPH <urn:graph:source> { ?report sh:result ?result } } WHERE {
  {{ values("?name ?hash", names) }}
  GRAPH <urn:graph:source> {
    ?result sh:focusNode|sh:value ?name .
    ?report sh:result ?result .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?result ?property ?value } } WHERE {
  {{ values("?name ?hash", names) }}
  GRAPH <urn:graph:source> {
    ?result sh:focusNode|sh:value ?name ;
      ?property ?value .
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?exploration rag:hit ?hit } } WHERE {
  {{ values("?name ?hash", names) }}
  GRAPH <urn:graph:retrieval> {
    ?exploration rag:sureness ?sure .
    {{ hit_of("?exploration", "?name", "?kind", "?value") }}
    ?exploration rag:hit ?hit .
  }
} ;
DELETE { GRAPH ?graph { ?node ?property ?name } }
INSERT { GRAPH ?graph { ?node ?property ?hash } } WHERE {
  {{ values("?name ?hash", names) }}
  VALUES ?graph { <urn:graph:retrieval> <urn:graph:source> }
  GRAPH ?graph { ?node ?property ?name }
}
