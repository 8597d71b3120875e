# name: derived/clear-synonyms
# kind: update
# summary: Remove all synonym candidates; decisions stay.
DELETE { GRAPH <urn:graph:derived> { ?candidate ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    ?candidate a rag:SynonymCandidate ;
      ?p ?o .
  }
}
