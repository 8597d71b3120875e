# name: settings/replace
# kind: update
# summary: Remove the settings in force and the link to their version; the same transaction writes the new ones.
DELETE { GRAPH <urn:graph:system> { ?setting ?p ?o } } WHERE {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> rag:setting ?setting .
    ?setting ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> ?link ?thing } } WHERE {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> ?link ?thing .
    FILTER(?link IN (rag:setting, rag:settings))
  }
}
