# name: forget/documents
# kind: update
# summary: Remove documents with their versions, pages, tables and metadata; the hash of each content stays.
# params:
#   documents: {type: "iri[]", sample: ["https://trustgraph.ai/doc/docs/a.md"]}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
DELETE { GRAPH <urn:graph:source> { ?page ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?page prov:wasDerivedFrom ?document ;
      a tg:Page ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?table ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?table prov:wasDerivedFrom ?document ;
      a rag:Table ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?version ?property ?value } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?version prov:specializationOf ?document ;
      ?property ?value .
    FILTER(?property IN (rag:originalBytes, rag:extractedText))
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?version prov:invalidatedAtTime ?time } }
INSERT { GRAPH <urn:graph:source> { ?version prov:invalidatedAtTime {{ now }} } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?document rag:currentVersion ?version .
    OPTIONAL { ?version prov:invalidatedAtTime ?time }
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?failure ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?failure rag:failureOf ?document ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?successor dcterms:replaces ?document } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?successor dcterms:replaces ?document .
  }
} ;
INSERT { GRAPH <urn:graph:inferred:changed> { ?document ?p ?o } } WHERE {
  {{ values("?document", documents) }}
  {% call facts() %}?document ?p ?o .{% endcall %}
  GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:inferredBy ?rules }
} ;
DELETE { {% call facts() %}?document ?p ?o .{% endcall %} } WHERE {
  {{ values("?document", documents) }}
  {% call facts() %}?document ?p ?o .{% endcall %}
} ;
DELETE { GRAPH <urn:graph:source> { ?document ?p ?o } } WHERE {
  {{ values("?document", documents) }}
  GRAPH <urn:graph:source> { ?document ?p ?o }
}
