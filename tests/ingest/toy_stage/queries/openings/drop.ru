# name: openings/drop
# kind: update
# summary: Remove openings.
# params:
#   openings: {type: "iri[]", sample: ["urn:opening:1"]}
DELETE { GRAPH <urn:graph:derived> { ?opening ?p ?o } } WHERE {
  {{ values("?opening", openings) }}
  GRAPH <urn:graph:derived> { ?opening ?p ?o }
}
