# name: forget/decisions
# kind: update
# summary: Remove entities and relations that no document names from decisions, and decisions that have nothing left to decide.
DELETE { GRAPH <urn:graph:system> { ?decision ?property ?entity } } WHERE {
  VALUES ?kind { rag:EntityMerge rag:EntitySplit rag:EntityLink rag:RelationMerge rag:RelationSplit rag:RelationInverse }
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
  VALUES ?kind { rag:EntityMerge rag:EntitySplit rag:RelationMerge rag:RelationSplit rag:RelationInverse }
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
  GRAPH <urn:graph:system> {
    ?decision a rag:EntityLink ;
      ?property ?value .
  }
  FILTER NOT EXISTS { GRAPH <urn:graph:system> { ?decision rag:member ?entity } }
}
