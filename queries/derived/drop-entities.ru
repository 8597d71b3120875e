# name: derived/drop-entities
# kind: update
# summary: Remove what is derived of entities - co-occurrences and the number of chunks that name each.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:derived> { ?one rag:coOccursWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    {{ values("?one", entities) }}
    ?one rag:coOccursWith ?other .
    {{ reifies("?relation", "?one", "rag:coOccursWith", "?other") }}
    ?relation ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:coOccursWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    {{ values("?other", entities) }}
    ?one rag:coOccursWith ?other .
    {{ reifies("?relation", "?one", "rag:coOccursWith", "?other") }}
    ?relation ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:derived> { ?entity rag:documentFrequency ?chunks } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:derived> { ?entity rag:documentFrequency ?chunks }
}
