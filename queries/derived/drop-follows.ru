# name: derived/drop-follows
# kind: update
# summary: Take out which chunks these stand after.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:derived> { ?chunk rag:follows ?before } } WHERE {
  {{ values("?chunk", chunks) }}
  GRAPH <urn:graph:derived> { ?chunk rag:follows ?before }
}
