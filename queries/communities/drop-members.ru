# name: communities/drop-members
# kind: update
# summary: Take entities out of their communities.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:community> { ?community prov:hadMember ?entity } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:community> { ?community prov:hadMember ?entity }
} ;
DELETE { GRAPH <urn:graph:community> { ?community rag:centralEntity ?entity } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:community> { ?community rag:centralEntity ?entity }
}
