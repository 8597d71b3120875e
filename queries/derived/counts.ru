# name: derived/counts
# kind: update
# summary: Count again in how many chunks entities are mentioned, and of how many they are the topic; an entity stands for all that are merged with it.
# params:
#   things: {type: "iri[]", sample: ["http://trustgraph.ai/e/ada"], about: "entities whose mentions or merges have changed; empty for all"}
DELETE { GRAPH <urn:graph:derived> { ?entity ?count ?chunks } } WHERE {
  {% if things %}{{ values("?entity", things) }}{% endif %}
  GRAPH <urn:graph:derived> { ?entity ?count ?chunks }
  FILTER(?count IN (rag:chunkCount, rag:topicCount))
} ;
{% if things %}
DELETE { GRAPH <urn:graph:derived> { ?entity ?count ?chunks } } WHERE {
  {{ values("?thing", things) }}
  GRAPH <urn:graph:derived> {
    ?thing rag:canonicalEntity ?entity .
    ?entity ?count ?chunks .
  }
  FILTER(?count IN (rag:chunkCount, rag:topicCount))
} ;
{% endif %}
INSERT { GRAPH <urn:graph:derived> { ?entity rag:chunkCount ?chunks } } WHERE {
  SELECT ?entity (COUNT(DISTINCT ?chunk) AS ?chunks) WHERE {
    {% if things %}
    {
      SELECT DISTINCT ?entity WHERE {
        {{ values("?thing", things) }}
        GRAPH <urn:graph:derived> { ?thing rag:canonicalEntity ?entity }
      }
    }
    {% endif %}
    GRAPH <urn:graph:derived> { ?member rag:canonicalEntity ?entity }
    GRAPH ?layer { ?sentence rag:mentions ?member }
    GRAPH <urn:graph:source> { ?sentence rag:sentenceOf ?chunk }
  } GROUP BY ?entity
} ;
INSERT { GRAPH <urn:graph:derived> { ?entity rag:topicCount ?chunks } } WHERE {
  SELECT ?entity (COUNT(DISTINCT ?chunk) AS ?chunks) WHERE {
    {% if things %}
    {
      SELECT DISTINCT ?entity WHERE {
        {{ values("?thing", things) }}
        GRAPH <urn:graph:derived> { ?thing rag:canonicalEntity ?entity }
      }
    }
    {% endif %}
    GRAPH <urn:graph:derived> { ?member rag:canonicalEntity ?entity }
    GRAPH <urn:graph:source> { ?chunk rag:about ?member }
  } GROUP BY ?entity
}
