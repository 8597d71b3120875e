# name: ingest/revive-chunks
# kind: update
# summary: Take the tombstones off chunks that a document holds again; they are extracted anew.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?subgraph rag:formerlyContains ?fact } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk a rag:Tombstone .
    ?subgraph prov:wasDerivedFrom ?chunk ;
      rag:formerlyContains ?fact .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?thing prov:invalidatedAtTime ?time } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk a rag:Tombstone .
    ?thing prov:wasDerivedFrom ?chunk ;
      prov:invalidatedAtTime ?time .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?chunk ?property ?value } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk a rag:Tombstone ;
      ?property ?value .
  }
}
