# name: forget/decisions
# kind: update
# summary: Remove things that no document names from decisions, and decisions that have nothing left to decide.
# params:
#   kinds: {type: "iri[]", sample: ["https://w3id.org/graphrag-rdf/ns#EntityMerge", "https://w3id.org/graphrag-rdf/ns#EntityLink"], about: "classes of decisions with members"}
#   several: {type: "iri[]", sample: ["https://w3id.org/graphrag-rdf/ns#EntityMerge"], about: "those that need two members"}
DELETE { GRAPH <urn:graph:system> { ?decision ?property ?entity } } WHERE {
  {{ values("?kind", kinds) }}
  GRAPH <urn:graph:system> {
    ?decision a ?kind ;
      ?property ?entity .
  }
  FILTER(?property IN (rag:member, rag:canonicalEntity, rag:canonicalRelation, rag:splitInto))
  FILTER NOT EXISTS { {% call facts() %}?entity rdfs:label ?label{% endcall %} }
  FILTER NOT EXISTS {
    GRAPH <urn:graph:ontology> { ?entity rdfs:label ?named }
    FILTER NOT EXISTS { GRAPH <urn:graph:ontology> { ?entity rag:observedCount ?count } }
  }
  FILTER NOT EXISTS { GRAPH <urn:graph:derived> { ?entity rag:displayName ?name } }
  FILTER NOT EXISTS { GRAPH <urn:graph:system> { ?decision prov:hadPrimarySource ?file } }
} ;
DELETE { GRAPH <urn:graph:system> { ?decision ?property ?value } } WHERE {
  {{ values("?kind", several) }}
  GRAPH <urn:graph:system> {
    ?decision a ?kind ;
      ?property ?value .
  }
  FILTER NOT EXISTS {
    GRAPH <urn:graph:system> {
      ?decision rag:member ?one , ?other .
      FILTER(?one != ?other)
    }
  }
  FILTER NOT EXISTS { GRAPH <urn:graph:system> { ?decision prov:hadPrimarySource ?file } }
} ;
DELETE { GRAPH <urn:graph:system> { ?decision ?property ?value } } WHERE {
  {{ values("?kind", kinds) }}
  GRAPH <urn:graph:system> {
    ?decision a ?kind ;
      ?property ?value .
  }
  FILTER NOT EXISTS { GRAPH <urn:graph:system> { ?decision rag:member ?entity } }
  FILTER NOT EXISTS { GRAPH <urn:graph:system> { ?decision prov:hadPrimarySource ?file } }
}
