# name: derived/sweep-synonyms
# kind: update
# summary: Take out candidates for synonyms of entities that are gone, or that another entity stands for.
DELETE { GRAPH <urn:graph:derived> { ?candidate ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    ?candidate a rag:SynonymCandidate ;
      rag:member ?entity ;
      ?p ?o .
    FILTER NOT EXISTS { ?entity rag:canonicalEntity ?entity }
  }
}
