# name: ingest/clear-failures
# kind: update
# summary: Remove failures of chunks or documents that have succeeded since; failures of relations and claims stay.
# params:
#   things: {type: "iri[]", sample: ["urn:chunk:1"]}
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?thing", things) }}
    ?failure rag:failureOf ?thing ;
      ?p ?o .
    FILTER NOT EXISTS { ?failure rag:stage "relations" }
    FILTER NOT EXISTS { ?failure rag:stage "claims" }
  }
}
