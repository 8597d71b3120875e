# name: derived/drop-follows
# kind: update
# summary: Remove the order relations of chunks.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:derived> { ?chunk rag:follows ?before } } WHERE {
  {{ values("?chunk", chunks) }}
  GRAPH <urn:graph:derived> { ?chunk rag:follows ?before }
} ;
DELETE { GRAPH <urn:graph:derived> { ?after rag:follows ?chunk } } WHERE {
  {{ values("?chunk", chunks) }}
  GRAPH <urn:graph:derived> { ?after rag:follows ?chunk }
}
