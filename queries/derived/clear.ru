# name: derived/clear
# kind: update
# summary: Remove all derived relations of chunks, and the number of chunks that name each entity.
DELETE { GRAPH <urn:graph:derived> { ?relation ?p ?o } } WHERE {
  GRAPH <urn:graph:derived> { ?relation a rag:ChunkRelation ; ?p ?o }
} ;
DELETE WHERE { GRAPH <urn:graph:derived> { ?one rag:sharesEntityWith ?other } } ;
DELETE WHERE { GRAPH <urn:graph:derived> { ?one rag:follows ?other } } ;
DELETE WHERE { GRAPH <urn:graph:derived> { ?entity rag:documentFrequency ?chunks } } ;
DELETE WHERE { GRAPH <urn:graph:derived> { <urn:graphrag-rdf:relations> ?p ?o } }
