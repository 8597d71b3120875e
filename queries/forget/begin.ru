# name: forget/begin
# kind: update
# summary: Note that an erasure has begun - until it ends, files of the store may hold forgotten text.
# params:
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
DELETE WHERE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:erasure> ?property ?value } } ;
INSERT DATA {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:erasure> a rag:Erasure ;
      prov:startedAtTime {{ now }} .
  }
}
