# name: derived/part
# kind: update
# summary: Remove the order relations of chunks that no longer follow each other; relations that a model found stay.
# params:
#   pairs: {type: "(iri, iri)[]", sample: [["urn:chunk:2", "urn:chunk:1"]], about: "each chunk and the one that it stood after"}
DELETE { GRAPH <urn:graph:derived> { ?chunk rag:follows ?before } } WHERE {
  {{ values("?chunk ?before", pairs) }}
  GRAPH <urn:graph:derived> { ?chunk rag:follows ?before }
  FILTER NOT EXISTS {
    GRAPH <urn:graph:source> {
      ?relation rag:relationFrom ?chunk ;
        rag:relationTo ?before ;
        rag:relationType rag:follows .
      FILTER NOT EXISTS { ?relation prov:invalidatedAtTime ?time }
    }
  }
}
