# name: ingest/clear-sentences
# kind: update
# summary: Remove the sentences of these chunks with their mentions, topics and fingerprints, before the chunks are read again.
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
} ;
DELETE { GRAPH <urn:graph:source> { ?chunk rag:fingerprint ?fingerprint } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk rag:fingerprint ?fingerprint .
  }
}
