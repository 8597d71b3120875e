# name: forget/drop-objects
# kind: update
# summary: Earlier versions of documents no longer name these objects of the blob store, which were erased.
# params:
#   objects: {type: "iri[]", sample: ["urn:sha256:0"]}
DELETE { GRAPH <urn:graph:source> { ?version ?holds ?object } } WHERE {
  {{ values("?object", objects) }}
  GRAPH <urn:graph:source> { ?version ?holds ?object }
  FILTER(?holds IN (rag:originalBytes, rag:extractedText))
}
