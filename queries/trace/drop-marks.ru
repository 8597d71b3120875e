# name: trace/drop-marks
# kind: update
# summary: Take marks of answers back.
# params:
#   marks: {type: "iri[]", sample: ["urn:graphrag-rdf:feedback:1"]}
DELETE { GRAPH <urn:graph:retrieval> { ?mark ?property ?value } } WHERE {
  {{ values("?mark", marks) }}
  GRAPH <urn:graph:retrieval> { ?mark ?property ?value }
}
