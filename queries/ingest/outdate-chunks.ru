# name: ingest/outdate-chunks
# kind: update
# summary: Mark the extractions of these chunks as outdated, because title, language or tables of their document changed; they stay until they are replaced.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?subgraph rag:extractor ?extractor } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?subgraph prov:wasDerivedFrom ?chunk ;
      rag:extractor ?extractor .
  }
}
