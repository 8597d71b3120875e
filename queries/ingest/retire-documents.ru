# name: ingest/retire-documents
# kind: update
# summary: Retire documents whose files were moved - name, place and hashes stay for the traces that cite them.
# params:
#   documents: {type: "iri[]", sample: ["https://trustgraph.ai/doc/docs/a.md"]}
#   now: {type: datetime, sample: "2026-01-02T03:04:05+00:00"}
DELETE { GRAPH <urn:graph:source> { ?page ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?page prov:wasDerivedFrom ?document ;
      a tg:Page ;
      ?p ?o .
    FILTER NOT EXISTS { ?chunk prov:wasDerivedFrom ?page }
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
DELETE { GRAPH <urn:graph:source> { ?table ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?table prov:wasDerivedFrom ?document ;
      a rag:Table ;
      ?p ?o .
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
DELETE { GRAPH <urn:graph:source> { ?document a tg:Document ; rag:currentVersion ?version } }
INSERT { GRAPH <urn:graph:source> { ?document a rag:Tombstone ; prov:invalidatedAtTime {{ now }} } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?document a tg:Document ;
      rag:currentVersion ?version .
  }
}
