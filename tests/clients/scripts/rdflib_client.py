"""rdflib: its stores for endpoints, and files of the server."""

import json
import os
from urllib.parse import quote

from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore

given = json.loads(os.environ["GIVEN"])
url, queries = given["url"], given["queries"]
DESIGNED = URIRef("http://trustgraph.ai/r/designed")

endpoint = Graph(SPARQLStore(f"{url}/sparql"))
found = {
    "select": [str(row.o) for row in endpoint.query(queries["select"])],
    "ask": endpoint.query(queries["ask"]).askAnswer,
    "construct": len(endpoint.query(queries["construct"]).graph),
    "terms": [str(row.o) for row in endpoint.query(queries["terms"])],
    "graph": len(endpoint.query(queries["graph"]).graph),
}
for method in ("GET", "POST", "POST_FORM"):
    for form in ("xml", "json", "csv", "tsv"):
        store = SPARQLStore(f"{url}/sparql", method=method, returnFormat=form)
        found[f"{method} {form}"] = [str(row.o) for row in Graph(store).query(queries["select"])]
        found[f"{method} {form} terms"] = [str(row.o)[:13] for row in Graph(store).query(queries["terms"])]

found["triples"] = [str(o) for _, _, o in endpoint.triples((None, DESIGNED, None))]
found["graphs"] = sorted(str(name) for name in Dataset(SPARQLStore(f"{url}/sparql")).store.contexts())

store = SPARQLUpdateStore(f"{url}/sparql", f"{url}/update", auth=("anybody", given["token"]))
mine = Graph(store, identifier=URIRef("urn:rdflib"))
mine.add((URIRef("urn:s"), URIRef("urn:p"), Literal("text", lang="en")))
mine.commit()
found["written"] = [o.language for o in mine.objects()]
mine.remove((None, None, None))
mine.commit()
found["removed"] = len(mine)

# files: `Graph.parse` asks for the formats that rdflib reads
entity = quote("http://trustgraph.ai/e/elspeth-marwick", safe="")
found["resource"] = len(list(Graph().parse(f"{url}/resource?iri={entity}").objects(None, DESIGNED)))
found["store"] = len(Dataset(default_union=True).parse(f"{url}/store?format=trig"))
found["json-ld"] = len(Dataset(default_union=True).parse(f"{url}/store", format="json-ld"))
found["ontology"] = len(Graph().parse(f"{url}/ontology")) > 100
found["void"] = len(Graph().parse(f"{url}/.well-known/void")) > 100

# every address in every format of RDF 1.1
forms = {"turtle": "turtle", "rdfxml": "xml", "nt": "nt", "jsonld": "json-ld"}
found["addresses"] = {
    path: [
        len(Dataset(default_union=True).parse(f"{url}{path}format={form}", format=name))
        for form, name in forms.items()
    ]
    for path in (
        f"/resource?iri={entity}&",
        "/store?graph=urn:graph:source&",
        "/traces?",
        "/traces/last?",
        "/documents?",
        "/entities/elspeth-marwick?",
        "/queries/entities/list?",
    )
}
for path in given["files"]:
    found[path] = len(Dataset(default_union=True).parse(path))
print(json.dumps(found))
