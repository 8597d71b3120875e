# name: derived/drop-shown
# kind: update
# summary: Remove the marks of entities that say whether these are shown.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:derived> { ?entity rag:shown ?shown } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:derived> { ?entity rag:shown ?shown }
}
