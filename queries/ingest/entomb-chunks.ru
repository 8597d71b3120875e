# name: ingest/entomb-chunks
# kind: update
# summary: Retire chunks that a stored trace cites - text, sentences and evidence stay; their facts, mentions and relations no longer count, and their claims go.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
DELETE { GRAPH <urn:graph:source> { ?subgraph tg:contains ?fact } }
INSERT { GRAPH <urn:graph:source> { ?subgraph rag:formerlyContains ?fact } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?subgraph prov:wasDerivedFrom ?chunk ;
      tg:contains ?fact .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?subgraph rag:extractor ?extractor } }
INSERT { GRAPH <urn:graph:source> { ?subgraph prov:invalidatedAtTime {{ now }} } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?subgraph prov:wasDerivedFrom ?chunk ;
      rag:extractor ?extractor .
  }
} ;
DELETE { GRAPH <urn:graph:derived> { ?from ?type ?to } }
INSERT { GRAPH <urn:graph:source> { ?relation prov:invalidatedAtTime {{ now }} } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?relation prov:wasDerivedFrom ?chunk ;
      rag:relationFrom ?from ;
      rag:relationType ?type ;
      rag:relationTo ?to .
    FILTER NOT EXISTS { ?relation prov:invalidatedAtTime ?before }
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?node ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?claim prov:wasDerivedFrom ?chunk ;
      a rag:Claim ;
      rag:evidence? ?node .
    ?node ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?activity rag:extractor ?key } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?activity prov:used ?chunk ;
      rag:extractor ?key .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?sentence rag:mentions ?entity } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?sentence rag:sentenceOf ?chunk ;
      rag:mentions ?entity .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?chunk rag:about ?topic } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk rag:about ?topic .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?failure rag:failureOf ?chunk ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?chunk a tg:Chunk } }
INSERT { GRAPH <urn:graph:source> { ?chunk a rag:Tombstone ; prov:invalidatedAtTime {{ now }} } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?chunk", chunks) }}
    ?chunk a tg:Chunk .
  }
}
