"""SPARQLWrapper: every way of sending, every format, and an update with the token as password."""

import json
import os

import SPARQLWrapper

given = json.loads(os.environ["GIVEN"])
url, queries = given["url"], given["queries"]


def sent(query, form, method="GET", way="urlencoded"):
    """The converted result."""
    wrapper = SPARQLWrapper.SPARQLWrapper(f"{url}/sparql")
    wrapper.setMethod(method)
    wrapper.setRequestMethod(way)
    wrapper.setReturnFormat(form)
    wrapper.setQuery(query)
    return wrapper.queryAndConvert()


def values(result):
    """Those of the only column."""
    return [row["o"]["value"] for row in result["results"]["bindings"]]


found = {
    "select": values(sent(queries["select"], SPARQLWrapper.JSON)),
    "ask": sent(queries["ask"], SPARQLWrapper.JSON)["boolean"],
    "construct": len(sent(queries["construct"], SPARQLWrapper.RDFXML)),
    "terms": values(sent(queries["terms"], SPARQLWrapper.JSON)),
    "graph": len(sent(queries["graph"], SPARQLWrapper.RDFXML)),
}
for method, way in (("GET", "urlencoded"), ("POST", "urlencoded"), ("POST", "postdirectly")):
    name = f"{method} {way}"
    for form in (SPARQLWrapper.JSON, SPARQLWrapper.XML, SPARQLWrapper.CSV, SPARQLWrapper.TSV):
        result = sent(queries["select"], form, method, way)
        text = (
            result.toxml()
            if form == SPARQLWrapper.XML
            else json.dumps(result)
            if form == SPARQLWrapper.JSON
            else result.decode()
        )
        found[f"{name} {form}"] = "skell-tidal-station" in text
    for form in (
        SPARQLWrapper.RDFXML,
        SPARQLWrapper.RDF,
        SPARQLWrapper.JSONLD,
        SPARQLWrapper.TURTLE,
        SPARQLWrapper.N3,
        SPARQLWrapper.XML,
    ):
        result = sent(queries["construct"], form, method, way)
        text = result.decode() if isinstance(result, bytes) else result.serialize(format="nt")
        found[f"{name} {form} graph"] = "skell-tidal-station" in text

wrapper = SPARQLWrapper.SPARQLWrapper(f"{url}/sparql", f"{url}/update")
wrapper.setCredentials("anybody", given["token"])
wrapper.setMethod("POST")
wrapper.setQuery("INSERT DATA { GRAPH <urn:sparqlwrapper> { <urn:s> <urn:p> 'text'@en } }")
found["update"] = wrapper.query().response.status
wrapper = SPARQLWrapper.SPARQLWrapper2(f"{url}/sparql")
wrapper.setCredentials("anybody", given["token"])  # whoever wrote sees it at once
wrapper.setQuery("SELECT * { GRAPH <urn:sparqlwrapper> { ?s ?p ?o } }")
found["written"] = [row["o"].lang for row in wrapper.query().bindings]
print(json.dumps(found))
