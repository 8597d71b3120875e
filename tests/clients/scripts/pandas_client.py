"""pandas: tables of a query's rows."""

import json
import os
from io import StringIO
from urllib.parse import urlencode

import pandas

given = json.loads(os.environ["GIVEN"])
query = "SELECT ?s ?name { ?s a <http://trustgraph.ai/type/person> ; rdfs:label ?name } ORDER BY ?s"
query = f"PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> {query}"


def address(form):
    """Of the rows in a format."""
    return f"{given['url']}/sparql?{urlencode({'query': query, 'format': form})}"


def names(frame):
    """The first two columns' names and the number of rows."""
    return [list(frame.columns), len(frame)]


found = {
    "csv": names(pandas.read_csv(address("csv"))),
    "tsv": names(pandas.read_csv(address("tsv"), sep="\t")),
    "json": len(pandas.json_normalize(pandas.read_json(address("json"))["results"]["bindings"])),
    "documents": len(pandas.read_json(f"{given['url']}/documents")),
    "token": names(
        pandas.read_csv(address("csv"), storage_options={"Authorization": f"Bearer {given['token']}"})
    ),
    "first": pandas.read_csv(StringIO(pandas.read_csv(address("csv")).to_csv(index=False)))["name"][0],
}
print(json.dumps(found))
