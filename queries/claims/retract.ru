# name: claims/retract
# kind: update
# summary: Remove model calls that looked for claims, with the claims, their evidence and what was rejected.
# params:
#   activities: {type: "iri[]", sample: ["https://trustgraph.ai/activity/1"]}
DELETE { GRAPH <urn:graph:source> { ?evidence ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?activity", activities) }}
    ?claim prov:wasGeneratedBy ?activity ;
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
