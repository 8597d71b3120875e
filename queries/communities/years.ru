# name: communities/years
# kind: update
# summary: The first and the last year in the dates of facts of members.
# params:
#   communities: {type: "iri[]", sample: ["urn:community:1"]}
INSERT {
  GRAPH <urn:graph:community> {
    ?community rag:firstYear ?first ;
      rag:lastYear ?last .
  }
} WHERE {
  SELECT ?community (MIN(?year) AS ?first) (MAX(?year) AS ?last) WHERE {
    {{ values("?community", communities) }}
    GRAPH <urn:graph:community> { ?community prov:hadMember ?entity }
    GRAPH <urn:graph:derived> { ?name rag:canonicalEntity ?entity }
    {% call facts() %}?name ?p ?date .{% endcall %}
    FILTER(DATATYPE(?date) IN (xsd:date, xsd:gYear, xsd:gYearMonth, xsd:dateTime))
    {{ date_range("?date", "?start", "?end") }}
    BIND(YEAR(?start) AS ?year)
  } GROUP BY ?community
}
