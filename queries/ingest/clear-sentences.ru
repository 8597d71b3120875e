# name: ingest/clear-sentences
# kind: update
# summary: Take out the sentences of these chunks with what they mention, and what the chunks are about, before they are looked at anew.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?sentence ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?sentence rag:sentenceOf ?chunk ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?chunk rag:about ?topic } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk rag:about ?topic .
  }
}
