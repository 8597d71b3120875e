# name: ontology/drop
# kind: update
# summary: Remove the kept versions of an ontology, after it was deactivated.
# params:
#   ontology: {type: iri, sample: "http://example.org/ships"}
DELETE { GRAPH ?version { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:system> { ?version rag:ontology {{ ontology }} }
  GRAPH ?version { ?s ?p ?o }
} ;
DELETE { GRAPH <urn:graph:system> { ?version ?p ?o } } WHERE {
  GRAPH <urn:graph:system> {
    ?version rag:ontology {{ ontology }} ;
      ?p ?o .
  }
}
