# name: ontology/forget-observed
# kind: update
# summary: Remove the declarations of the relations and types that extraction minted, but for what loaded ontologies say of them.
DELETE { GRAPH <urn:graph:ontology> { ?term ?property ?value } } WHERE {
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?term rdfs:isDefinedBy ?schema ;
      ?property ?value .
  }
  FILTER NOT EXISTS {
    GRAPH <urn:graph:system> { ?ontology rag:activeVersion ?version }
    GRAPH ?version { ?term ?property ?value }
  }
}
