# name: forget/erase-traces
# kind: update
# summary: Erase the words of traces - question, answer, sentences, concepts, reasons, edges; their structure and hashes stay.
# params:
#   traces: {type: "iri[]", sample: ["urn:trustgraph:session:1"]}
DELETE { GRAPH <urn:graph:retrieval> { ?item ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace ;
      tg:selectedEdge|tg:selectedChunk|rag:consideredEdge|rag:filterDecision|rag:suggestion|rag:sentence|rag:warning|rag:seed|rag:conceptTerm|rag:lookUp ?item .
    ?item ?property ?value .
    FILTER(?property IN (
      tg:edge, tg:reasoning, tg:content, tg:concept, rag:detail, rag:matchedText, rdfs:label, rdf:subject, rdf:predicate, rdf:object
    ))
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?step ?property ?text } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace ;
      ?property ?text .
    FILTER(?property IN (tg:content, tg:concept, rag:reason))
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?asked tg:query ?question } }
INSERT { GRAPH <urn:graph:retrieval> { ?asked tg:query "" } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    { ?trace tg:query ?question . BIND(?trace AS ?asked) }
    UNION
    { ?asked prov:wasGeneratedBy ?trace ; tg:query ?question }
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
