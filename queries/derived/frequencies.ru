# name: derived/frequencies
# kind: update
# summary: Count again how many chunks name each entity.
DELETE WHERE { GRAPH <urn:graph:derived> { ?entity rag:documentFrequency ?chunks } } ;
INSERT { GRAPH <urn:graph:derived> { ?entity rag:documentFrequency ?chunks } } WHERE {
  SELECT ?entity (COUNT(DISTINCT ?chunk) AS ?chunks) WHERE {
    GRAPH <urn:graph:source> {
      ?sentence rag:mentions ?member ;
        rag:sentenceOf ?chunk .
    }
    GRAPH <urn:graph:derived> { ?member rag:canonicalEntity ?entity }
  } GROUP BY ?entity
}
