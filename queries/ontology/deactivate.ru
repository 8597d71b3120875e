# name: ontology/deactivate
# kind: update
# summary: Remove the active version of an ontology from the graph of ontologies; what other active ontologies say stays.
# params:
#   ontology: {type: iri, sample: "http://example.org/ships"}
DELETE { GRAPH <urn:graph:ontology> { ?s ?p ?o } } WHERE {
  GRAPH <urn:graph:system> { {{ ontology }} rag:activeVersion ?version }
  GRAPH ?version { ?s ?p ?o }
  FILTER NOT EXISTS {
    GRAPH <urn:graph:system> { ?other rag:activeVersion ?kept }
    FILTER(?other != {{ ontology }})
    GRAPH ?kept { ?s ?p ?o }
  }
} ;
DELETE { GRAPH <urn:graph:system> { {{ ontology }} rag:activeVersion ?version } } WHERE {
  GRAPH <urn:graph:system> { {{ ontology }} rag:activeVersion ?version }
}
