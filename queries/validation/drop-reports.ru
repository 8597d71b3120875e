# name: validation/drop-reports
# kind: update
# summary: Remove reports of validations with their results and activities.
# params:
#   reports: {type: "iri[]", sample: ["urn:graphrag-rdf:validation:1"]}
DELETE { GRAPH <urn:graph:source> { ?node ?p ?o } } WHERE {
  {{ values("?report", reports) }}
  GRAPH <urn:graph:source> {
    ?report sh:result|prov:wasGeneratedBy ?node .
    ?node ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?report ?p ?o } } WHERE {
  {{ values("?report", reports) }}
  GRAPH <urn:graph:source> { ?report ?p ?o }
}
