# name: trace/end-sessions
# kind: update
# summary: End the sessions that a killed process left open, with the last time that is known of them; they get no outcome.
INSERT { GRAPH <urn:graph:retrieval> { ?session prov:endedAtTime ?last } } WHERE {
  SELECT ?session (MAX(?time) AS ?last) WHERE {
    GRAPH <urn:graph:retrieval> {
      ?session a rag:Session .
      FILTER NOT EXISTS { ?session prov:endedAtTime ?ended }
      ?step prov:wasGeneratedBy ?session ;
        prov:generatedAtTime ?time .
    }
  } GROUP BY ?session
} ;
INSERT { GRAPH <urn:graph:retrieval> { ?session prov:endedAtTime ?started } } WHERE {
  GRAPH <urn:graph:retrieval> {
    ?session a rag:Session ;
      prov:startedAtTime ?started .
    FILTER NOT EXISTS { ?session prov:endedAtTime ?ended }
  }
}
