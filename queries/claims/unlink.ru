# name: claims/unlink
# kind: update
# summary: Remove the links of claims to things that are no longer entities; the names stay.
# params:
#   things: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:source> { ?claim ?link ?thing } } WHERE {
  {{ values("?thing", things) }}
  GRAPH <urn:graph:source> { ?claim ?link ?thing }
  FILTER(?link IN (rag:claimSubject, rag:claimObject))
}
