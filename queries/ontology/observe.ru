# name: ontology/observe
# kind: update
# summary: Declare the relations and types that facts use, with labels, counts, domains, ranges and inverses as observed and decided.
# params:
#   namespaces: {type: "string[]", sample: ["http://trustgraph.ai/"], about: "in which extraction mints"}
INSERT {
  GRAPH <urn:graph:ontology> {
    ?relation a ?kind ;
      rag:observedCount ?facts ;
      rdfs:isDefinedBy ?schema .
  }
} WHERE {
  {
    SELECT ?relation (COUNT(*) AS ?facts) (SUM(IF(isLiteral(?object), 1, 0)) AS ?literals) WHERE {
      {% call facts() %}?subject ?relation ?object .{% endcall %}
    } GROUP BY ?relation
  }
  {{ values("?namespace", namespaces) }}
  FILTER(STRSTARTS(STR(?relation), CONCAT(?namespace, "r/")))
  BIND(IF(?literals = 0, owl:ObjectProperty, IF(?literals = ?facts, owl:DatatypeProperty, rdf:Property)) AS ?kind)
  BIND(IRI(CONCAT(?namespace, "schema")) AS ?schema)
} ;
INSERT {
  GRAPH <urn:graph:ontology> {
    ?type a owl:Class ;
      rag:observedCount ?things ;
      rdfs:isDefinedBy ?schema .
  }
} WHERE {
  {
    SELECT ?type (COUNT(*) AS ?things) WHERE {
      {% call facts() %}?thing a ?type .{% endcall %}
    } GROUP BY ?type
  }
  {{ values("?namespace", namespaces) }}
  FILTER(STRSTARTS(STR(?type), CONCAT(?namespace, "type/")))
  BIND(IRI(CONCAT(?namespace, "schema")) AS ?schema)
} ;
INSERT {
  GRAPH <urn:graph:ontology> {
    ?schema a owl:Ontology, rag:ObservedSchema ;
      rdfs:label "relations and types that were found in documents"@en ;
      rdfs:isDefinedBy ?schema .
  }
} WHERE {
  {{ values("?namespace", namespaces) }}
  BIND(IRI(CONCAT(?namespace, "schema")) AS ?schema)
  FILTER EXISTS { GRAPH <urn:graph:ontology> { ?term rdfs:isDefinedBy ?schema ; rag:observedCount ?count } }
} ;
INSERT { GRAPH <urn:graph:ontology> { ?term ?property ?name } } WHERE {
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?term rdfs:isDefinedBy ?schema .
  }
  {% call facts() %}?term ?property ?name .{% endcall %}
  FILTER(?property IN (rdfs:label, skos:altLabel))
} ;
# no axiom: the next document may have things of other types
INSERT { GRAPH <urn:graph:ontology> { ?relation schema:domainIncludes ?type } } WHERE {
  {
    SELECT DISTINCT ?relation ?type WHERE {
      {% call facts() %}
      ?subject ?relation ?object .
      ?subject a ?type .
      {% endcall %}
      FILTER(isIRI(?type))
    }
  }
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?relation rdfs:isDefinedBy ?schema ;
      rag:observedCount ?facts .
  }
} ;
INSERT { GRAPH <urn:graph:ontology> { ?relation schema:rangeIncludes ?type } } WHERE {
  {
    SELECT DISTINCT ?relation ?type WHERE {
      {% call facts() %}
      ?subject ?relation ?object .
      ?object a ?type .
      {% endcall %}
      FILTER(isIRI(?type))
    }
  }
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?relation rdfs:isDefinedBy ?schema ;
      rag:observedCount ?facts .
  }
} ;
INSERT { GRAPH <urn:graph:ontology> { ?relation schema:rangeIncludes ?datatype } } WHERE {
  {
    SELECT DISTINCT ?relation ?datatype WHERE {
      GRAPH <urn:graph:ontology> {
        ?schema a rag:ObservedSchema .
        ?relation rdfs:isDefinedBy ?schema ;
          a ?kind .
        FILTER(?kind IN (owl:DatatypeProperty, rdf:Property))
      }
      {% call facts() %}?subject ?relation ?object .{% endcall %}
      FILTER(isLiteral(?object))
      BIND(DATATYPE(?object) AS ?datatype)
    }
  }
} ;
INSERT { GRAPH <urn:graph:ontology> { ?relation rag:valueRelation ?value } } WHERE {
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?relation rdfs:isDefinedBy ?schema ;
      a ?kind .
    FILTER(?kind IN (owl:ObjectProperty, rdf:Property))
    BIND(IRI(CONCAT(STR(?relation), "-value")) AS ?value)
    ?value rdfs:isDefinedBy ?schema ;
      a owl:DatatypeProperty .
  }
} ;
INSERT { GRAPH <urn:graph:ontology> { ?relation owl:inverseOf ?inverse } } WHERE {
  GRAPH <urn:graph:derived> { ?relation owl:inverseOf ?inverse }
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?relation rdfs:isDefinedBy ?schema ;
      a owl:ObjectProperty .
    ?inverse a owl:ObjectProperty .
  }
} ;
# relations that are one: the one that stands for them is above the others and has their names
INSERT {
  GRAPH <urn:graph:ontology> {
    ?relation rdfs:subPropertyOf ?canonical .
    ?above skos:altLabel ?name .
  }
} WHERE {
  GRAPH <urn:graph:derived> { ?relation rag:canonicalRelation ?canonical }
  FILTER(?relation != ?canonical)
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?relation rdfs:isDefinedBy ?schema ;
      ?called ?name .
    FILTER(?called IN (rdfs:label, skos:altLabel))
    BIND(EXISTS { ?canonical rag:observedCount ?number } AS ?observed)
  }
  FILTER NOT EXISTS { GRAPH <urn:graph:ontology> { ?canonical rdfs:label ?name } }
  BIND(IF(?observed, ?canonical, ?none) AS ?above)
} ;
INSERT { GRAPH <urn:graph:ontology> { ?canonical ?includes ?type } } WHERE {
  GRAPH <urn:graph:ontology> {
    ?relation rdfs:subPropertyOf ?canonical .
    ?canonical rdfs:isDefinedBy ?schema ;
      rag:observedCount ?number .
    ?schema a rag:ObservedSchema .
    ?relation rdfs:isDefinedBy ?schema ;
      ?includes ?type .
    FILTER(?includes IN (schema:domainIncludes, schema:rangeIncludes))
  }
} ;
# the label that a person gives by editing the schema is the label
DELETE { GRAPH <urn:graph:ontology> { ?term rdfs:label ?observed } }
INSERT { GRAPH <urn:graph:ontology> { ?term skos:altLabel ?observed } } WHERE {
  GRAPH <urn:graph:system> { ?ontology rag:activeVersion ?version }
  GRAPH ?version { ?term rdfs:label ?edited }
  GRAPH <urn:graph:ontology> {
    ?schema a rag:ObservedSchema .
    ?term rdfs:isDefinedBy ?schema ;
      rdfs:label ?observed .
  }
  FILTER(STR(?ontology) = CONCAT(STR(?schema), "/edits"))
  FILTER(LANG(?observed) = LANG(?edited) && ?observed != ?edited)
  FILTER NOT EXISTS { GRAPH ?version { ?term rdfs:label ?observed } }
}
