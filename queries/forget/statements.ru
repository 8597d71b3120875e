# name: forget/statements
# kind: update
# summary: Remove unused nodes of statements; an engine without triple terms has them, and they hold words of forgotten documents.
# params:
#   graphs: {type: "iri[]", sample: ["urn:graph:source"]}
{% for graph in graphs %}
DELETE { GRAPH {{ graph }} { ?statement ?part ?term } } WHERE {
  GRAPH {{ graph }} {
    ?statement rdf:subject ?subject .
    FILTER(STRSTARTS(STR(?statement), "urn:statement:"))
    FILTER NOT EXISTS { ?thing ?link ?statement }
    ?statement ?part ?term .
  }
} {% if not loop.last %};{% endif %}
{% endfor %}
