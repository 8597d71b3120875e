# name: communities/text-units
# kind: update
# summary: Link communities to their chunks - those that name at least two members, or the only one.
# params:
#   communities: {type: "iri[]", sample: ["urn:community:1"]}
INSERT { GRAPH <urn:graph:community> { ?community rag:textUnit ?chunk } } WHERE {
  SELECT ?community ?chunk WHERE {
    {{ values("?community", communities) }}
    GRAPH <urn:graph:community> {
      ?community rag:memberCount ?members ;
        prov:hadMember ?entity .
    }
    GRAPH <urn:graph:derived> { ?name rag:canonicalEntity ?entity }
    {
      GRAPH <urn:graph:source> {
        ?sentence rag:mentions ?name ;
          rag:sentenceOf ?chunk .
      }
    } UNION {
      GRAPH <urn:graph:source> { ?chunk rag:about ?name }
    }
  } GROUP BY ?community ?chunk ?members HAVING(COUNT(DISTINCT ?entity) > 1 || ?members = 1)
}
