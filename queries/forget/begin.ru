# name: forget/begin
# kind: update
# summary: Note that an erasure has begun, and of which documents - until it ends, files of the store may hold forgotten text.
# params:
#   documents: {type: "iri[]", sample: ["https://trustgraph.ai/doc/docs/a.md"]}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
DELETE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:erasure> prov:startedAtTime ?before } }
INSERT {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:erasure> a rag:Erasure ;
      prov:startedAtTime {{ now }} ;
      prov:invalidated {% for document in documents %}{{ document }}{% if not loop.last %}, {% endif %}{% endfor %} .
  }
} WHERE {
  OPTIONAL { GRAPH <urn:graph:system> { <urn:graphrag-rdf:erasure> prov:startedAtTime ?before } }
}
