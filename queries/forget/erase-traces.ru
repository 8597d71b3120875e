# name: forget/erase-traces
# kind: update
# summary: Erase the words of traces - question, answer, and the words that kinds of steps declare; structure and hashes stay.
# params:
#   traces: {type: "iri[]", sample: ["urn:trustgraph:session:1"]}
#   of_steps: {type: "iri[]", sample: ["https://trustgraph.ai/ns/content"], about: "predicates of steps"}
#   links: {type: "iri[]", sample: ["https://trustgraph.ai/ns/selectedEdge"], about: "predicates from steps to items, and from items to items under them"}
#   of_items: {type: "iri[]", sample: ["https://trustgraph.ai/ns/edge"], about: "predicates of items, and of items under them"}
{% macro any(of) %}({% for one in of %}{{ one }}{% if not loop.last %}, {% endif %}{% endfor %}){% endmacro %}
{% macro item_words() %}
FILTER(CONTAINS(STR(?item), STRAFTER(STR(?trace), "session:")))
FILTER NOT EXISTS { ?item prov:wasGeneratedBy ?trace }
?item ?property ?value .
FILTER(?property IN {{ any(of_items) }})
{% endmacro %}
DELETE { GRAPH <urn:graph:retrieval> { ?item ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace ;
      ?link ?owner .
    FILTER(?link IN {{ any(links) }})
    ?owner ?part ?item .
    FILTER(?part IN {{ any(links) }})
    {{ item_words() }}
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?item ?property ?value } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace ;
      ?link ?item .
    FILTER(?link IN {{ any(links) }})
    {{ item_words() }}
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?step ?property ?text } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace ;
      ?property ?text .
    FILTER(?property IN {{ any(of_steps) }})
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?asked tg:query ?question } }
INSERT { GRAPH <urn:graph:retrieval> { ?asked tg:query "" } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    { ?trace tg:query ?question . BIND(?trace AS ?asked) }
    UNION
    { ?asked prov:wasGeneratedBy ?trace ; tg:query ?question }
  }
} ;
DELETE { GRAPH <urn:graph:retrieval> { ?mark oa:bodyValue ?note } } WHERE {
  GRAPH <urn:graph:retrieval> {
    {{ values("?trace", traces) }}
    ?step prov:wasGeneratedBy ?trace .
    { ?mark oa:hasTarget ?step ; oa:bodyValue ?note }
    UNION
    { ?step tg:selectedEdge|tg:selectedChunk ?item . ?mark oa:hasTarget ?item ; oa:bodyValue ?note }
  }
}
