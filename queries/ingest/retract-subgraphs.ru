# name: ingest/retract-subgraphs
# kind: update
# summary: Remove subgraphs with their evidence, results of validations, rejected candidates and activities, and prompts that no other activity used.
# params:
#   subgraphs: {type: "iri[]", sample: ["https://trustgraph.ai/subgraph/1"]}
DELETE { GRAPH <urn:graph:source> { ?report sh:result ?item } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?subgraph", subgraphs) }}
    ?item prov:wasDerivedFrom ?subgraph .
    ?report sh:result ?item .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?item ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?subgraph", subgraphs) }}
    ?item prov:wasDerivedFrom ?subgraph ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?activity ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?subgraph", subgraphs) }}
    ?subgraph prov:wasGeneratedBy ?activity .
    ?activity ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?subgraph ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?subgraph", subgraphs) }}
    ?subgraph ?p ?o .
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
