# name: communities/drop-chunks
# kind: update
# summary: Take chunks out of the communities whose members they name.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:community> { ?community rag:textUnit ?chunk } } WHERE {
  {{ values("?chunk", chunks) }}
  GRAPH <urn:graph:community> { ?community rag:textUnit ?chunk }
}
