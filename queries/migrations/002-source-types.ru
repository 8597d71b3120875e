# name: migrations/002-source-types
# kind: update
# summary: Give sentences and evidence their classes.
# params:
#   number: {type: int, sample: 2}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
INSERT { GRAPH <urn:graph:source> { ?sentence a rag:Sentence } } WHERE {
  GRAPH <urn:graph:source> { ?sentence rag:sentenceOf ?chunk }
} ;
INSERT { GRAPH <urn:graph:source> { ?evidence a rag:Evidence } } WHERE {
  GRAPH <urn:graph:source> { ?evidence tg:sourceText ?quote }
} ;
DELETE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion ?before } }
INSERT {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> rag:storeVersion {{ number }} .
    <urn:graphrag-rdf:migration:002> a rag:Migration ;
      rdfs:label "002 classes of sentences and evidence" ;
      prov:used <urn:graphrag-rdf:store> ;
      prov:endedAtTime {{ now }} .
  }
} WHERE {
  GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion ?before }
}
