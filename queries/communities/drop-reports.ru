# name: communities/drop-reports
# kind: update
# summary: Remove reports with their findings and activities.
# params:
#   reports: {type: "iri[]", sample: ["urn:community-report:1"]}
DELETE { GRAPH <urn:graph:community> { ?finding ?p ?o } } WHERE {
  {{ values("?report", reports) }}
  GRAPH <urn:graph:community> { ?finding rag:findingOf ?report ; ?p ?o }
} ;
DELETE { GRAPH <urn:graph:community> { ?activity ?p ?o } } WHERE {
  {{ values("?report", reports) }}
  GRAPH <urn:graph:community> {
    ?report prov:wasGeneratedBy ?activity .
    ?activity ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:community> { ?report ?p ?o } } WHERE {
  {{ values("?report", reports) }}
  GRAPH <urn:graph:community> { ?report ?p ?o }
}
