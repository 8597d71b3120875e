# name: ingest/retract-chunks
# kind: update
# summary: Remove chunks with their sentences, failures, extractions, relations to other chunks, and prompts that no other activity used.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE {
  GRAPH <urn:graph:derived> { ?from ?type ?to }
  GRAPH <urn:graph:source> { ?evidence ?p ?o }
} WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?relation prov:wasDerivedFrom ?chunk ;
      rag:relationFrom ?from ;
      rag:relationType ?type ;
      rag:relationTo ?to ;
      rag:evidence ?evidence .
    ?evidence ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?report sh:result ?item } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?subgraph prov:wasDerivedFrom ?chunk .
    ?item prov:wasDerivedFrom ?subgraph .
    ?report sh:result ?item .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?item ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?subgraph prov:wasDerivedFrom ?chunk .
    ?item prov:wasDerivedFrom ?subgraph ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?activity ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?activity prov:used ?chunk ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?item ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?item ?link ?chunk .
    FILTER(?link IN (prov:wasDerivedFrom, rag:sentenceOf, rag:failureOf))
    ?item ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?chunk ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?prompt ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    ?prompt a rag:Prompt ;
      ?p ?o .
    FILTER NOT EXISTS { ?activity rag:usedPrompt ?prompt }
    FILTER NOT EXISTS { ?prompt prov:wasGeneratedBy ?tuning }
    FILTER NOT EXISTS { ?revision prov:wasRevisionOf ?prompt }
  }
}
