# name: links/drop
# kind: update
# summary: Remove the links of the sentences of chunks.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:derived> { ?sentence rag:mentions ?entity } } WHERE {
  {{ values("?chunk", chunks) }}
  GRAPH <urn:graph:source> { ?sentence rag:sentenceOf ?chunk }
  GRAPH <urn:graph:derived> { ?sentence rag:mentions ?entity }
}
