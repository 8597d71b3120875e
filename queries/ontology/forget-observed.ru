# name: ontology/forget-observed
# kind: update
# summary: Remove the declarations of the relations and types that extraction minted.
DELETE { GRAPH <urn:graph:ontology> { ?term ?property ?value } } WHERE {
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?term rdfs:isDefinedBy ?schema ;
      ?property ?value .
  }
}
