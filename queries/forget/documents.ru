# name: forget/documents
# kind: update
# summary: Take out documents with their versions, pages and metadata; the hash of each content stays.
# params:
#   documents: {type: "iri[]", sample: ["https://trustgraph.ai/doc/docs/a.md"]}
DELETE { GRAPH <urn:graph:source> { ?page ?p ?o } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    ?page prov:wasDerivedFrom ?document ;
      a tg:Page ;
      ?p ?o .
  }
} ;
DELETE { GRAPH <urn:graph:source> { ?version ?property ?value } } WHERE {
  GRAPH <urn:graph:source> {
    {{ values("?document", documents) }}
    VALUES ?property { rag:originalBytes rag:extractedText }
    ?version prov:specializationOf ?document ;
      ?property ?value .
  }
} ;
DELETE { {% call facts() %}?document ?p ?o .{% endcall %} } WHERE {
  {{ values("?document", documents) }}
  {% call facts() %}?document ?p ?o .{% endcall %}
} ;
DELETE { GRAPH <urn:graph:source> { ?document ?p ?o } } WHERE {
  {{ values("?document", documents) }}
  GRAPH <urn:graph:source> { ?document ?p ?o }
}
