# name: ingest/clear-sentences
# kind: update
# summary: Take out the sentences of these chunks with what they mention, before they are looked at anew.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?sentence ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?sentence rag:sentenceOf ?chunk ;
      ?p ?o .
  }
}
