# name: derived/drop-shared
# kind: update
# summary: Remove the relations of chunks by shared entities.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:derived> { ?one rag:sharesEntityWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    {{ values("?one", chunks) }}
    ?one rag:sharesEntityWith ?other .
    {{ reifies("?relation", "?one", "rag:sharesEntityWith", "?other") }}
    ?relation ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:sharesEntityWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    {{ values("?other", chunks) }}
    ?one rag:sharesEntityWith ?other .
    {{ reifies("?relation", "?one", "rag:sharesEntityWith", "?other") }}
    ?relation ?p ?o .
  }
}
