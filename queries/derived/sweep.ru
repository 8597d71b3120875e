# name: derived/sweep
# kind: update
# summary: Take out derived relations of chunks and entities that are gone, or that another entity stands for.
DELETE { GRAPH <urn:graph:derived> { ?one rag:sharesEntityWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    ?one rag:sharesEntityWith ?other .
    {{ reifies("?relation", "?one", "rag:sharesEntityWith", "?other") }}
    ?relation ?p ?o .
  }
  FILTER NOT EXISTS { GRAPH <urn:graph:source> { ?one a tg:Chunk } }
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:sharesEntityWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    ?one rag:sharesEntityWith ?other .
    {{ reifies("?relation", "?one", "rag:sharesEntityWith", "?other") }}
    ?relation ?p ?o .
  }
  FILTER NOT EXISTS { GRAPH <urn:graph:source> { ?other a tg:Chunk } }
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:follows ?other } } WHERE {
  GRAPH <urn:graph:derived> { ?one rag:follows ?other }
  FILTER NOT EXISTS { GRAPH <urn:graph:source> { ?one a tg:Chunk } }
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:follows ?other } } WHERE {
  GRAPH <urn:graph:derived> { ?one rag:follows ?other }
  FILTER NOT EXISTS { GRAPH <urn:graph:source> { ?other a tg:Chunk } }
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:coOccursWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    ?one rag:coOccursWith ?other .
    {{ reifies("?relation", "?one", "rag:coOccursWith", "?other") }}
    ?relation ?p ?o .
    FILTER NOT EXISTS { ?one rag:canonicalEntity ?one }
  }
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:coOccursWith ?other . ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    ?one rag:coOccursWith ?other .
    {{ reifies("?relation", "?one", "rag:coOccursWith", "?other") }}
    ?relation ?p ?o .
    FILTER NOT EXISTS { ?other rag:canonicalEntity ?other }
  }
} ;
DELETE { GRAPH <urn:graph:derived> { ?entity rag:documentFrequency ?chunks } } WHERE {
  GRAPH <urn:graph:derived> {
    ?entity rag:documentFrequency ?chunks .
    FILTER NOT EXISTS { ?entity rag:canonicalEntity ?entity }
  }
}
