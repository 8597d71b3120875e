"""Documents, entities and facts: every output has the same numbers, whatever happened to the store."""

from __future__ import annotations

import html
import re
from pathlib import Path

from pyoxigraph import RdfFormat, parse

from tests.support.commands import Run, documents_in
from tests.support.endpoint import Endpoint

AGAIN = "Walter Pennock founded the Tarnay Electric Light Company in 1897.\n"  # as company.txt has it
LEDGER = "vessel,builder,tonnes\nPetrel,Corvane Yard,900\nHalden,Corvane Yard,1200\n"
PAGE = (
    "<html><head><title>The Petrel</title><meta name='author' content='Mona Kell'>"
    "<meta name='date' content='1936-05-05'></head><body><p>Ada Reay sailed the Petrel.</p></body></html>"
)
TURTLE = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:mona rdfs:label "Mona Kell" ; :founded :society ; :age 42 . :society rdfs:label "Lantern Society" .
"""
NAMES = """@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:guild a :Club ; skos:prefLabel "Guild"@en, "Gilde"@de ; skos:altLabel "Gld" ; owl:sameAs :society .
"""
FACTS = """SELECT (COUNT(*) AS ?n) {
  ?s ?p ?o FILTER(?p NOT IN (rdfs:label, skos:altLabel, skos:prefLabel, rdf:type, owl:sameAs))
  FILTER NOT EXISTS { GRAPH <urn:graph:source> { ?s a tg:Document } }
}"""
NUMBERS = ("documents", "entities", "facts")


def numbers(run: Run) -> dict[str, int]:
    """The numbers of `doctor`, which all others must be."""
    store = run("doctor", "--format", "json").json["store"]
    found = {name: store[name] for name in NUMBERS}
    everything = ("--limit", "1000", "--format", "json")
    assert len(run("documents", "--format", "json").json) == found["documents"]
    assert len(run("entities", "list", *everything).json) == found["entities"]
    assert sum(one["facts"] for one in run("relations", "list", *everything).json) == found["facts"]
    assert int(run("sparql", FACTS, "--format", "csv").out.split()[-1]) == found["facts"]
    graph = run("export", "--format", "graphml", "-o", "graph.graphml", "--counts").json
    pairs = Path("graph.graphml").read_text("utf-8").count(">co-occurs with<")
    assert graph["relations"] - pairs + graph["values"] + graph["left_out"] == found["facts"]
    shown = run("doctor").out
    for name in NUMBERS:
        assert re.search(rf"^  {name} +{found[name]:,}(?:,.*)?$", shown, re.MULTILINE)
    return found


def served(store: Path) -> dict[str, int]:
    """The numbers of pages, JSON and VoID."""
    with Endpoint.start(store) as endpoint, endpoint.client() as client:
        described = client.get("/dataset").json()
        found = {name: described[name] for name in NUMBERS}
        for path in ("/dataset", "/"):
            text = html.unescape(client.get(path, headers={"Accept": "text/html"}).text)
            text = " ".join(re.sub(r"<[^>]+>", " ", text).split())
            for name in NUMBERS:
                either = rf"\b{name} {found[name]:,}\b|\b{found[name]:,} {name}\b"
                assert re.search(either, text, re.IGNORECASE), (path, name, found[name])
        for name in NUMBERS:
            assert len(client.get(f"/{name}", params={"limit": 1000}).json()["items"]) == found[name]
        turtle = client.get("/dataset", headers={"Accept": "text/turtle"}).content
        void = {(one.predicate.value, one.object.value) for one in parse(turtle, format=RdfFormat.TURTLE)}
        for name in ("documents", "entities"):
            assert (f"http://rdfs.org/ns/void#{name}", str(found[name])) in void
        return found


def test_the_same_numbers_everywhere(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    for name, text in (("again.txt", AGAIN), ("ledger.csv", LEDGER), ("petrel.html", PAGE)):
        (documents / name).write_text(text)
    report = run("ingest", documents, "--format", "json").json
    fresh = numbers(run)
    assert (report["documents"]["added"], report["entities"], report["facts"]) == tuple(fresh.values())
    assert run("ingest", documents, "--format", "json").json["facts"] == 0

    made = run("entities", "merge", "Walter Pennock", "Beatrice Pennock", "--by", "R. T.")
    assert made.code == 0, made.err
    merged = numbers(run)
    assert merged == {**fresh, "entities": fresh["entities"] - 1}

    assert run("facts", "remove", "Andrew Orr", "was born in", "Arnhythe").code == 0
    less = numbers(run)
    assert less == {**merged, "facts": merged["facts"] - 1, "entities": merged["entities"] - 1}
    assert run("facts", "undo", run("facts", "decisions", "--format", "json").json[0]["iri"]).code == 0

    told = run("forget", documents / "again.txt", "--format", "json").json["removed"]
    assert told["facts"] == 0  # another document has them, too
    told = run("forget", documents / "company.txt", "--format", "json").json["removed"]
    kept = numbers(run)
    assert kept["documents"] == merged["documents"] - 2
    assert kept["facts"] == merged["facts"] - told["facts"]
    assert told["facts"] > 0

    (folder / "people.ttl").write_text(TURTLE)
    brought = run("import", "people.ttl", "--format", "json").json
    now = numbers(run)
    assert now["documents"] == kept["documents"]
    assert now["facts"] == kept["facts"] + brought["facts"]
    assert now["entities"] == kept["entities"] + brought["entities"]
    (folder / "names.ttl").write_text(NAMES)
    named = run("import", "names.ttl", "--format", "json").json
    assert (named["facts"], named["entities"]) == (0, 1), "names, types and merges are no facts"
    assert numbers(run) == now, "the entity is merged with another"
    assert served(folder / "graphrag-store") == now
