# name: derived/shared-entities
# kind: update
# summary: Relate chunks that name the same entities, with the number of these and the sum of their idf; hubs, which too many chunks name, do not count.
# params:
#   chunks: {type: "iri[]", sample: ["urn:chunk:1"]}
#   weights: {type: "(int, term)[]", sample: [[2, '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>']], about: "chunks that name an entity, its idf"}
#   hub_limit: {type: int, sample: 25}
#   every: {type: bool, sample: true, about: "whether every chunk has its turn, so that a pair is looked for from one side only"}
INSERT {
  GRAPH <urn:graph:derived> {
    ?one rag:sharesEntityWith ?other .
    {{ reifies("?relation", "?one", "rag:sharesEntityWith", "?other") }}
    ?relation a rag:ChunkRelation ;
      rag:sharedEntityCount ?count ;
      rag:sharedEntityWeight ?weight .
  }
} WHERE {
  {
    # 0.0, since Virtuoso sums no decimals as they come from VALUES
    SELECT ?one ?other (COUNT(*) AS ?count) (xsd:double(SUM(0.0 + ?idf)) AS ?weight) WHERE {
      {
        SELECT DISTINCT ?one ?other ?entity ?chunks WHERE {
          {{ values("?chunk", chunks) }}
          GRAPH <urn:graph:source> {
            ?sentence rag:sentenceOf ?chunk ;
              rag:mentions ?member .
          }
          GRAPH <urn:graph:derived> {
            ?member rag:canonicalEntity ?entity .
            ?entity rag:documentFrequency ?chunks .
            ?alias rag:canonicalEntity ?entity .
          }
          GRAPH <urn:graph:source> {
            ?elsewhere rag:mentions ?alias ;
              rag:sentenceOf ?place .
          }
          FILTER(?chunks <= {{ hub_limit }})
          FILTER({% if every %}STR(?chunk) < STR(?place){% else %}?chunk != ?place{% endif %})
          BIND(IF(STR(?chunk) < STR(?place), ?chunk, ?place) AS ?one)
          BIND(IF(STR(?chunk) < STR(?place), ?place, ?chunk) AS ?other)
        }
      }
      {{ values("?chunks ?idf", weights) }}
    } GROUP BY ?one ?other
  }
  BIND(IRI(CONCAT("urn:graphrag-rdf:shared:", SHA1(CONCAT(STR(?one), " ", STR(?other))))) AS ?relation)
}
