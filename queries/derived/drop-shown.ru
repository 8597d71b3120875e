# name: derived/drop-shown
# kind: update
# summary: Remove the marks that say whether entities are shown. Then their co-occurrences are counted anew.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:derived> { ?entity rag:shown ?shown } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:derived> { ?entity rag:shown ?shown }
}
