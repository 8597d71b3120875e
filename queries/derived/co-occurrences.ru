# name: derived/co-occurrences
# kind: update
# summary: Relate entities that are named near each other in a chunk, with the number of pairs of sentences within a distance that name the two; hubs have no relations.
# params:
#   entities: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"], about: "canonical entities"}
#   window: {type: int, sample: 2, about: "sentences; 1: both in the same"}
#   min_count: {type: int, sample: 2}
#   hub_limit: {type: int, sample: 25}
#   every: {type: bool, sample: true, about: "whether every entity has its turn, so that a pair is looked for from one side only"}
INSERT {
  GRAPH <urn:graph:derived> {
    ?one rag:coOccursWith ?other .
    {{ reifies("?relation", "?one", "rag:coOccursWith", "?other") }}
    ?relation a rag:CoOccurrence ;
      rag:count ?count .
  }
} WHERE {
  {
    SELECT ?one ?other (COUNT(*) AS ?count) WHERE {
      SELECT DISTINCT ?one ?other ?first ?second WHERE {
        {{ values("?entity", entities) }}
        GRAPH <urn:graph:derived> {
          ?entity rag:documentFrequency ?chunks .
          ?member rag:canonicalEntity ?entity .
        }
        GRAPH <urn:graph:source> {
          ?sentence rag:mentions ?member ;
            rag:sentenceOf ?chunk .
          ?near rag:sentenceOf ?chunk ;
            rag:mentions ?alias .
        }
        GRAPH <urn:graph:derived> {
          ?alias rag:canonicalEntity ?neighbour .
          ?neighbour rag:documentFrequency ?around .
        }
        FILTER(?chunks <= {{ hub_limit }} && ?around <= {{ hub_limit }})
        FILTER({% if every %}STR(?entity) < STR(?neighbour){% else %}?entity != ?neighbour{% endif %})
        FILTER(ABS(xsd:integer(STRAFTER(STR(?sentence), "#s"))
          - xsd:integer(STRAFTER(STR(?near), "#s"))) < {{ window }})
        BIND(IF(STR(?entity) < STR(?neighbour), ?entity, ?neighbour) AS ?one)
        BIND(IF(STR(?entity) < STR(?neighbour), ?neighbour, ?entity) AS ?other)
        BIND(IF(STR(?entity) < STR(?neighbour), ?sentence, ?near) AS ?first)
        BIND(IF(STR(?entity) < STR(?neighbour), ?near, ?sentence) AS ?second)
      }
    } GROUP BY ?one ?other HAVING(COUNT(*) >= {{ min_count }})
  }
  BIND(IRI(CONCAT("urn:graphrag-rdf:co-occurrence:", SHA1(CONCAT(STR(?one), " ", STR(?other))))) AS ?relation)
}
