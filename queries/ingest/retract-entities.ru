# name: ingest/retract-entities
# kind: update
# summary: Forget the canonical link of those of these entities that have no name left.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"]}
DELETE { GRAPH <urn:graph:derived> { ?entity rag:canonicalEntity ?canonical } } WHERE {
  {{ values("?entity", entities) }}
  GRAPH <urn:graph:derived> { ?entity rag:canonicalEntity ?canonical }
  FILTER NOT EXISTS { {% call facts() %}?entity rdfs:label ?label{% endcall %} }
}
