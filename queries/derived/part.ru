# name: derived/part
# kind: update
# summary: Take out that chunks stand after others, between which an edit has put something; what a model found stays.
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
