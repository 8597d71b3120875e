# name: ingest/clear-mentions
# kind: update
# summary: Take out what the sentences of these chunks mention, before they are looked at anew.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?sentence rag:mentions ?entity } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?sentence rag:sentenceOf ?chunk ;
      rag:mentions ?entity .
  }
}
