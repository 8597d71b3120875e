# name: reasoning/empty
# kind: update
# summary: Empty graphs that updates of inferences work with.
# params:
#   graphs: {type: "iri[]", sample: ["urn:graph:inferred:new"]}
DELETE { GRAPH ?graph { ?s ?p ?o } } WHERE {
  {{ values("?graph", graphs) }}
  GRAPH ?graph { ?s ?p ?o }
}
