# name: ontology/mark-linked
# kind: update
# summary: Mark the entities that are linked to vocabularies, whose names may change with an ontology.
INSERT { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:unsettled ?thing } } WHERE {
  GRAPH <urn:graph:system> {
    ?decision a rag:EntityLink ;
      rag:member ?thing .
    FILTER NOT EXISTS { ?decision prov:invalidatedAtTime ?undone }
  }
} ;
INSERT { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:unsettled ?thing } } WHERE {
  GRAPH <urn:graph:system> {
    ?decision a rag:EntityLink ;
      rag:linkRelation owl:sameAs ;
      rag:linkTarget ?thing .
    FILTER NOT EXISTS { ?decision prov:invalidatedAtTime ?undone }
  }
}
