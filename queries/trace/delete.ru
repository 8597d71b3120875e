# name: trace/delete
# kind: update
# summary: Remove traces - sessions, questions, steps, and their items.
# params:
#   sessions: {type: "iri[]", sample: ["urn:trustgraph:session:1"]}
{% for session in sessions %}
DELETE { GRAPH <urn:graph:retrieval> { ?mark ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {
      ?target prov:wasGeneratedBy {{ session }} .
      ?mark oa:hasTarget ?target ;
        ?property ?value .
    } UNION {
      ?step prov:wasGeneratedBy {{ session }} ;
        tg:selectedEdge|tg:selectedChunk ?target .
      ?mark oa:hasTarget ?target ;
        ?property ?value .
    }
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?statement ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    ?step prov:wasGeneratedBy {{ session }} ;
      ?link ?item .
    ?item tg:edge ?statement .
    ?statement ?property ?value .
    FILTER NOT EXISTS {
      ?other tg:edge ?statement .
      FILTER(!CONTAINS(STR(?other), STRAFTER(STR({{ session }}), "session:")))
    }
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?statement ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {
      ?step prov:wasGeneratedBy {{ session }} ;
        rag:hit ?statement .
      ?statement ?property ?value .
    } UNION {
      ?step prov:wasGeneratedBy {{ session }} ;
        rag:lookUp/rag:hit ?statement .
      ?statement ?property ?value .
    }
    FILTER NOT EXISTS {
      ?other rag:hit ?statement .
      FILTER(!CONTAINS(STR(?other), STRAFTER(STR({{ session }}), "session:")))
    }
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?node ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    ?step prov:wasGeneratedBy {{ session }} ;
      ?link ?item .
    FILTER(CONTAINS(STR(?item), STRAFTER(STR({{ session }}), "session:")))
    FILTER NOT EXISTS { ?item prov:wasGeneratedBy {{ session }} }
    FILTER(?item != {{ session }})
    ?item ?part ?node .
    FILTER(CONTAINS(STR(?node), STRAFTER(STR({{ session }}), "session:")))
    FILTER NOT EXISTS { ?node prov:wasGeneratedBy {{ session }} }
    FILTER(?node != {{ session }})
    ?node ?property ?value .
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?node ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    ?step prov:wasGeneratedBy {{ session }} ;
      ?link ?node .
    FILTER(CONTAINS(STR(?node), STRAFTER(STR({{ session }}), "session:")))
    FILTER NOT EXISTS { ?node prov:wasGeneratedBy {{ session }} }
    FILTER(?node != {{ session }})
    ?node ?property ?value .
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?next prov:wasDerivedFrom ?asked } } WHERE {
  GRAPH <urn:graph:retrieval> {
    ?later rag:continues {{ session }} .
    ?next prov:wasGeneratedBy ?later ;
      prov:wasDerivedFrom ?asked .
    ?asked prov:wasGeneratedBy {{ session }} .
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?node ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    ?node prov:wasGeneratedBy {{ session }} ;
      ?property ?value .
  }
} ;
DELETE WHERE { GRAPH <urn:graph:retrieval> { {{ session }} ?property ?value } } {% if not loop.last %};{% endif %}
{% endfor %}
