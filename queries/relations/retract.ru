# name: relations/retract
# kind: update
# summary: Remove calls that looked for relations between chunks, with all that they found.
# params:
#   activities: {type: "iri[]", sample: ["https://trustgraph.ai/activity/1"]}
DELETE { GRAPH <urn:graph:derived> { ?from ?type ?to } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?activity", activities) }}
    ?relation prov:wasGeneratedBy ?activity ;
      rag:relationFrom ?from ;
      rag:relationType ?type ;
      rag:relationTo ?to .
  }
} ;
INSERT { GRAPH <urn:graph:derived> { ?next rag:follows ?chunk } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?activity", activities) }}
    ?relation prov:wasGeneratedBy ?activity ;
      rag:relationType rag:follows ;
      rag:relationFrom ?next ;
      rag:relationTo ?chunk .
    ?chunk tg:chunkIndex ?index .
    ?next tg:chunkIndex ?place .
    FILTER(?place = ?index + 1)
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?evidence ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?activity", activities) }}
    ?relation prov:wasGeneratedBy ?activity ;
      rag:evidence ?evidence .
    ?evidence ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?found ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?activity", activities) }}
    ?found prov:wasGeneratedBy ?activity ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?activity ?p ?o } } WHERE {
  {{ values("?activity", activities) }}
  GRAPH <urn:graph:source> { ?activity ?p ?o }
}
