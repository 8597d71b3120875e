# name: derived/clear-synonyms
# kind: update
# summary: Take out all candidates for synonyms; decisions stay.
DELETE { GRAPH <urn:graph:derived> { ?candidate ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> {
    ?candidate a rag:SynonymCandidate ;
      ?p ?o .
  }
}
