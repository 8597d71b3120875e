# name: derived/sweep
# kind: update
# summary: Take out derived relations of chunks and entities that are gone, that another entity stands for, or that stand after each other no more.
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
} ;
DELETE { GRAPH <urn:graph:derived> { ?one rag:follows ?other } } WHERE {
  GRAPH <urn:graph:derived> { ?one rag:follows ?other }
  GRAPH <urn:graph:source> {
    ?one tg:chunkIndex ?place .
    ?other tg:chunkIndex ?index .
  }
  FILTER(?place != ?index + 1)
  FILTER NOT EXISTS {
    GRAPH <urn:graph:source> {
      ?relation rag:relationFrom ?one ;
        rag:relationTo ?other ;
        rag:relationType rag:follows .
      FILTER NOT EXISTS { ?relation prov:invalidatedAtTime ?time }
    }
  }
}
