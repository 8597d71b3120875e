# name: reasoning/clear
# kind: update
# summary: Remove what was inferred.
DELETE { GRAPH <urn:graph:inferred> { ?s ?p ?o } } WHERE { GRAPH <urn:graph:inferred> { ?s ?p ?o } }
