# name: ingest/outdate-chunks
# kind: update
# summary: Let what was extracted from these chunks count as unfinished, because title, language or tables of their document changed; it stays until it is replaced.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?subgraph rag:extractor ?extractor } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?subgraph prov:wasDerivedFrom ?chunk ;
      rag:extractor ?extractor .
  }
}
