# name: forget/erase-traces
# kind: update
# summary: Erase the words of traces - answer, sentences, reasons, edges - and mark them; their structure and hashes stay.
# params:
#   traces: {type: "iri[]", sample: ["urn:trustgraph:session:1"]}
DELETE { GRAPH <urn:graph:retrieval> { ?item ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace ;
      tg:selectedEdge|tg:selectedChunk|rag:consideredEdge|rag:filterDecision|rag:suggestion|rag:sentence|rag:warning ?item .
    ?item ?property ?value .
    FILTER(?property IN (tg:edge, tg:reasoning, tg:content, rag:detail, rdf:subject, rdf:predicate, rdf:object))
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?step tg:content ?text } }
INSERT { GRAPH <urn:graph:retrieval> { ?trace rag:sourceForgotten true } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace .
    OPTIONAL { ?step tg:content ?text }
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?mark oa:bodyValue ?note } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace .
    { ?mark oa:hasTarget ?step ; oa:bodyValue ?note }
    UNION
    { ?step tg:selectedEdge|tg:selectedChunk ?item . ?mark oa:hasTarget ?item ; oa:bodyValue ?note }
  }
}
