"""Linked data: what the dataset says of itself, queries as RDF, and every IRI of a store looked up."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyoxigraph as ox
import pytest
import rdflib

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf import prov
from graphrag_rdf.rdf.namespaces import OWL, PREFIXES
from graphrag_rdf.sparql.documentation import executables
from graphrag_rdf.sparql.render import Renderer
from graphrag_rdf.store.base import Changes
from tests.support.commands import environment, program
from tests.support.endpoint import Endpoint

QUESTION = "Who founded the Tarnay Electric Light Company?"
TURTLE = {"Accept": "text/turtle"}
FOUNDER = ox.NamedNode("http://trustgraph.ai/e/walter-pennock")
CHUNKS = "CONSTRUCT { ?s a ?chunk } { GRAPH ?g { ?s a ?chunk ; <https://trustgraph.ai/ns/content> ?text } }"
ELSEWHERE = "http://data.example.org/people/walter"
SPECIAL = {
    **PREFIXES,
    "void": "http://rdfs.org/ns/void#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "sh": "http://www.w3.org/ns/shacl#",
    "foaf": "http://xmlns.com/foaf/0.1/",
}


@pytest.fixture(scope="module")
def served(documents_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A store with all kinds of nodes: a trace, settings, decisions, a tombstone, derived relations."""
    place = tmp_path_factory.mktemp("linked") / "store"
    shutil.copytree(documents_store, place, ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    documents = documents_store.parent / "documents"
    with Engine.open(config=Settings(store=str(place))) as engine:
        engine.live.set("documents.chunk_size", "1900")
        list(engine.ask(QUESTION))
        engine.refresh("relations")
        edited = documents.parent / "again" / "documents"
        shutil.copytree(documents, edited)
        company = edited / "company.txt"
        company.write_text(f"{company.read_text('utf-8')}Walter Pennock owned a boat.\n", encoding="utf-8")
        engine.ingest([edited])
        engine.store.commit(Changes(add=[prov.fact(FOUNDER, OWL.sameAs, ox.NamedNode(ELSEWHERE))]))
    env = {
        "GRAPHRAG_RDF_SERVER__LICENCE": "https://creativecommons.org/licenses/by/4.0/",
        "GRAPHRAG_RDF_SERVER__PUBLISHER": "The Tidal Museum",
    }
    with Endpoint.start(place, **env) as endpoint:
        yield endpoint


@pytest.fixture
def client(served: Endpoint) -> Iterator[httpx.Client]:
    """A client of it."""
    with served.client() as found:
        yield found


def graph_of(response: httpx.Response) -> ox.Store:
    """An answer in RDF."""
    assert response.status_code == 200, response.text
    store = ox.Store()
    store.load(response.content, ox.RdfFormat.from_media_type(response.headers["content-type"]))
    return store


def rows(store: ox.Store, query: str) -> list[Any]:
    """Solutions of a query on such an answer."""
    return list(store.query(query, prefixes=SPECIAL))  # type: ignore[arg-type]


def count(client: httpx.Client, pattern: str) -> int:
    """What the endpoint counts itself."""
    query = f"SELECT (COUNT(*) AS ?n) {{ {pattern} }}"
    found = client.get("/sparql", params={"query": query}).json()
    return int(found["results"]["bindings"][0]["n"]["value"])


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/documents", "tg:Document"),
        ("/entities?match=Tarnay+Electric", "<http://trustgraph.ai/type/organisation>"),
        ("/traces", "rag:Session"),
    ],
)
def test_lists_are_rdf_too(path: str, kind: str, client: httpx.Client) -> None:
    """As much as the list of JSON tells, so that a program may begin there and follow IRIs."""
    items = client.get(path, headers={"Accept": "application/json"}).json()["items"]
    listed = {item["iri"] for item in items if item.get("chunks") != 0}  # no file that could not be read
    found = graph_of(client.get(path, headers=TURTLE))
    assert listed
    told = {(item["bytes"], item["chunks"]) for item in items if item.get("chunks")}
    sizes = rows(found, "SELECT ?bytes ?chunks { ?version rag:byteSize ?bytes ; rag:chunkCount ?chunks }")
    assert {(int(row["bytes"].value), int(row["chunks"].value)) for row in sizes} == told
    failed = {one["reason"] for item in items for one in item.get("failures", ())}
    assert {row["reason"].value for row in rows(found, "SELECT ?reason { ?f rag:reason ?reason }")} == failed
    assert {row["thing"].value for row in rows(found, f"SELECT ?thing {{ ?thing a {kind} }}")} == listed


# --- the dataset --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/dataset", "/.well-known/void"])
@pytest.mark.parametrize("media_type", ["text/turtle", "application/rdf+xml", "application/ld+json"])
def test_the_description_is_rdf(path: str, media_type: str, served: Endpoint, client: httpx.Client) -> None:
    found = graph_of(client.get(path, params={"context": "inline"}, headers={"Accept": media_type}))
    (row,) = rows(
        found,
        "SELECT * { ?page a void:DatasetDescription ; foaf:primaryTopic ?data . "
        "?data a void:Dataset, dcat:Dataset, sd:Dataset ; void:sparqlEndpoint ?endpoint ; dcterms:title ?t ; "
        "dcterms:license ?licence ; dcterms:publisher/foaf:name ?publisher ; void:dataDump ?dump }",
    )
    assert row["endpoint"].value == f"{served.url}/sparql"
    assert row["data"].value == f"{served.url}/dataset#data"
    assert row["licence"].value == "https://creativecommons.org/licenses/by/4.0/"
    assert row["publisher"].value == "The Tidal Museum"
    assert client.get(row["dump"].value).status_code == 200


def test_its_numbers_are_true(client: httpx.Client) -> None:
    found = graph_of(client.get("/dataset", headers=TURTLE))
    (total,) = rows(found, "SELECT ?n { ?d a dcat:Dataset ; void:triples ?n }")
    graphs = rows(
        found,
        "SELECT * { ?d a dcat:Dataset ; void:subset ?g . ?g rdfs:label ?name ; void:triples ?n ; "
        "void:properties ?p ; void:classes ?c }",
    )
    assert {row["name"].value for row in graphs} >= {"default", "urn:graph:source", "urn:graph:retrieval"}
    assert "urn:graph:system" not in {row["name"].value for row in graphs}
    assert int(total["n"].value) == sum(int(row["n"].value) for row in graphs)
    for row in graphs:
        name = row["name"].value
        where = "?s ?p ?o" if name == "default" else f"GRAPH <{name}> {{ ?s ?p ?o }}"
        assert int(row["n"].value) == count(client, where)
        assert int(row["p"].value) == count(client, f"SELECT DISTINCT ?p {{ {where} }}")
    parts = rows(
        found,
        'SELECT * { ?g rdfs:label "urn:graph:source" . '
        "{ ?g void:classPartition [ void:class ?c ; void:entities ?n ] } "
        "UNION { ?g void:propertyPartition [ void:property ?p ; void:triples ?n ] } }",
    )
    assert parts
    for row in parts:
        pattern = f"?s a {row['c']}" if row["c"] is not None else f"?s {row['p']} ?o"
        assert int(row["n"].value) == count(client, f"GRAPH <urn:graph:source> {{ {pattern} }}")
    (entities,) = rows(found, "SELECT ?n { ?d a dcat:Dataset ; void:entities ?n }")
    assert int(entities["n"].value) == client.get("/dataset").json()["entities"]


def test_it_has_what_void_and_dcat_ask_for(client: httpx.Client) -> None:
    pyshacl = pytest.importorskip("pyshacl")
    data = rdflib.Graph().parse(data=client.get("/dataset", headers=TURTLE).text, format="turtle")
    shapes = rdflib.Graph().parse(Path(__file__).with_name("dataset-shapes.ttl"))
    conforms, _, report = pyshacl.validate(data, shacl_graph=shapes)
    assert conforms, report
    data.remove((None, rdflib.URIRef(f"{SPECIAL['dcat']}downloadURL"), None))
    assert not pyshacl.validate(data, shacl_graph=shapes)[0]


def test_its_numbers_are_those_of_pages_and_commands(
    served: Endpoint, client: httpx.Client, tmp_path: Path
) -> None:
    found = graph_of(client.get("/dataset", headers=TURTLE))
    (row,) = rows(
        found, "SELECT * { ?d a dcat:Dataset ; void:documents ?documents ; void:entities ?entities }"
    )
    json_ = client.get("/dataset").json()
    page = client.get("/dataset", headers={"Accept": "text/html"}).text
    for name in ("documents", "entities"):
        assert int(row[name].value) == json_[name]
        assert f"<dt>{name}</dt><dd>{json_[name]:,}</dd>" in page
    command = program("documents", "--server", served.url, "--format", "json")
    listed = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment(), check=True).stdout
    read = [one for one in json.loads(listed) if one["chunks"]]  # others could not be read
    assert len(read) == json_["documents"]
    assert len(client.get("/entities", params={"limit": 200}).json()["items"]) == json_["entities"]


def test_each_dump_is_in_its_format(client: httpx.Client) -> None:
    found = graph_of(client.get("/dataset", headers=TURTLE))
    dumps = rows(found, "SELECT * { ?d dcat:distribution [ dcat:downloadURL ?url ; dcat:mediaType ?type ] }")
    assert len(dumps) == 2
    for row in dumps:
        response = client.get(row["url"].value)
        assert response.headers["content-type"].partition(";")[0] == row["type"].value.split("types/")[1]
        assert FOUNDER.value in response.text
    assert client.get("/store?format=nonsense").status_code == 400


def test_vocabularies_are_those_of_the_data(client: httpx.Client) -> None:
    found = graph_of(client.get("/dataset", headers=TURTLE))
    named = {row["v"].value for row in rows(found, "SELECT ?v { ?d a dcat:Dataset ; void:vocabulary ?v }")}
    assert {PREFIXES["tg"], PREFIXES["rag"], PREFIXES["prov"], PREFIXES["owl"]} <= named
    assert PREFIXES["oa"] not in named
    assert not any(name.startswith("http://trustgraph.ai/") for name in named)


def test_others_lead_to_it(served: Endpoint, client: httpx.Client) -> None:
    service = graph_of(client.get("/sparql", headers=TURTLE))
    (row,) = rows(service, "SELECT ?d { ?s a sd:Service ; sd:defaultDataset ?d }")
    found = graph_of(client.get(row["d"].value, headers=TURTLE))
    assert rows(found, f"SELECT ?t {{ <{row['d'].value}> dcterms:title ?t }}")
    home = client.get("/", headers={"Accept": "text/html"}).text
    assert 'href="/dataset"' in home
    assert 'href="/.well-known/void"' in home
    page = client.get("/dataset", headers={"Accept": "text/html"}).text
    assert "The Tidal Museum" in page
    assert "urn:graph:source" in page


# --- queries ------------------------------------------------------------------------------------------


def test_queries_are_executables(served: Endpoint, client: httpx.Client) -> None:
    """Each is of the right kind, and its text parses; those that read run as they stand."""
    found = graph_of(client.get("/queries", headers=TURTLE))
    listed = {item["name"]: item for item in client.get("/queries").json()["items"]}
    kinds = rows(found, "SELECT ?name ?kind { ?q a sh:SPARQLExecutable, ?kind ; rdfs:label ?name }")
    assert {row["name"].value for row in kinds} == set(listed)
    texts = rows(
        found,
        "SELECT * { ?q rdfs:label ?name ; sh:prefixes/sh:declare [ sh:prefix 'tg' ; sh:namespace ?n ] ; "
        "sh:select|sh:ask|sh:construct|sh:update ?text OPTIONAL { ?q schema:target ?target } }",
    )
    assert len(texts) == len(listed)
    empty = ox.Store()
    for row in texts:
        header = listed[row["name"].value]
        assert (row["target"] is None) == (header["kind"] == "update")
        assert row["q"].value == f"{served.url}/queries/{header['name']}"
        if header["kind"] != "update":
            empty.query(row["text"].value)
    parameters = rows(
        found, "SELECT ?p { ?q sh:parameter ?p . ?p sh:path ?path ; sh:name ?n ; sh:defaultValue ?v }"
    )
    assert len(parameters) == sum(len(header["params"]) for header in listed.values())


def test_one_query(served: Endpoint, client: httpx.Client) -> None:
    address = "/queries/provenance/sources"
    found = graph_of(client.get(address, headers=TURTLE))
    (row,) = rows(found, "SELECT ?q ?text { ?q a sh:SPARQLSelectExecutable ; sh:select ?text }")
    assert row["q"].value == f"{served.url}{address}"
    body = client.get(address).json()
    assert body["sample"] == row["text"].value
    assert "{{" in body["template"]
    page = client.get(address, headers={"Accept": "text/html"}).text
    assert "/sparql-editor?template=provenance/sources" in page.replace("%2F", "/")
    assert client.get("/queries/no/such").status_code == 404
    assert client.get("/queries/..%2f..%2fetc/passwd").status_code == 404


def test_the_shapes_of_shacl_take_them() -> None:
    """Parameters that a template may be given are IRIs where it says so."""
    with Engine.open(config=Settings(store=":memory:")) as engine:
        store = ox.Store()
        base = "urn:graphrag-rdf:query:"
        for triple in executables(engine.store.templates.values(), Renderer(), base):
            store.add(ox.Quad(triple.subject, triple.predicate, triple.object))
    found = rows(store, "SELECT ?v { ?p sh:nodeKind sh:IRI ; sh:maxCount 1 ; sh:defaultValue ?v }")
    assert found
    assert all(isinstance(row["v"], ox.NamedNode) for row in found)


# --- every IRI ----------------------------------------------------------------------------------------

KINDS = (
    "tg:Document rag:DocumentVersion tg:Chunk tg:Subgraph prov:Activity rag:Session tg:Question tg:Grounding "
    "tg:Exploration tg:Focus tg:Synthesis rag:Settings"
)


def named(term: object) -> Iterator[str]:
    """The IRIs in a term."""
    if isinstance(term, ox.NamedNode):
        yield term.value
    elif isinstance(term, ox.Triple):
        for part in (term.subject, term.predicate, term.object):
            yield from named(part)


def test_every_iri_is_found(served: Endpoint, client: httpx.Client) -> None:
    """As a page and as RDF: whatever stands anywhere in the store, inside triple terms and as a graph too."""
    quads = [
        *ox.parse(
            client.get("/store", headers={"Accept": "application/n-quads;version=1.2"}).content,
            ox.RdfFormat.N_QUADS,
        )
    ]
    system = client.get("/store", params={"graph": "urn:graph:system"}, headers=TURTLE)
    quads += ox.parse(system.content, ox.RdfFormat.TURTLE)
    iris = {
        iri for q in quads for part in (q.subject, q.predicate, q.object, q.graph_name) for iri in named(part)
    }
    types = {q.object.value for q in quads if q.predicate.value.endswith("#type")}
    for name in KINDS.split():
        prefix, _, local = name.partition(":")
        assert PREFIXES[prefix] + local in types, name
    assert any("#s" in iri for iri in iris)
    assert any(iri.startswith("urn:evidence:") for iri in iris)
    missing = []
    for iri in sorted(iris):
        for accept in ("text/html", "text/turtle"):
            found = client.get("/resource", params={"iri": iri}, headers={"Accept": accept})
            if found.status_code != 200 or not found.headers["content-type"].startswith(accept):
                missing.append((iri, accept, found.status_code))
    assert missing == []
    assert len(iris) > 200


def test_texts_that_triples_name_are_found(client: httpx.Client) -> None:
    """Each query and answer of a trace: as text, on a page, in RDF and JSON; stored ones by a query."""
    query = (
        "SELECT DISTINCT ?o { GRAPH <urn:graph:retrieval> { ?s ?p ?o "
        "FILTER(?p = tg:document && EXISTS { ?s a prov:Entity } || STRSTARTS(STR(?o), 'urn:sha256:')) } }"
    )
    prefixes = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in ("tg", "prov"))
    bindings = client.get("/query", params={"query": prefixes + query}).json()["results"]["bindings"]
    named = [row["o"]["value"] for row in bindings]
    answers = [iri for iri in named if iri.startswith("urn:trustgraph:synthesis:")]
    assert answers
    assert len(named) > len(answers) + 3
    for iri in named:

        def look(accept: str, iri: str = iri) -> httpx.Response:
            return client.get("/resource", params={"iri": iri}, headers={"Accept": accept})

        text = look("text/plain")
        assert text.headers["content-type"].startswith("text/plain"), iri
        assert text.text
        said = rows(graph_of(look("text/turtle")), f"SELECT ?text {{ <{iri}> tg:content ?text }}")
        assert [row["text"].value for row in said] == [text.text]
        assert "The text" in look("text/html").text
        facts = look("application/json").json()["facts"]
        assert text.text in [fact["o"]["value"] for fact in facts]
        if iri.startswith("urn:sha256:"):
            query = f"PREFIX rag: <{PREFIXES['rag']}> SELECT (rag:text(<{iri}>) AS ?text) {{}}"
            (row,) = client.get("/query", params={"query": query}).json()["results"]["bindings"]
            assert row["text"]["value"] == text.text


SAID = "<urn:test:holder> <urn:test:says> <<( <urn:test:s> <urn:test:p> <urn:test:o> )>> ."


@pytest.mark.parametrize("part", ["s", "p", "o"])
def test_what_stands_inside_a_statement_only_is_found_there(
    part: str, endpoint: Endpoint, request: pytest.FixtureRequest
) -> None:
    """It is neither subject, predicate nor object of any triple of the store."""
    client: httpx.Client = request.getfixturevalue("opened")
    for path in ("/store?default", "/store?graph=urn:test:graph"):
        client.put(path, content=SAID, headers={"Content-Type": "text/turtle"}).raise_for_status()
        look = {"iri": f"urn:test:{part}"}
        assert set(
            graph_of(client.get("/resource", params=look | {"dialect": "rdf12"}, headers=TURTLE))
        ) == set(ox.parse(SAID, ox.RdfFormat.TURTLE))
        (inside,) = client.get("/resource", params=look).json()["inside"]
        assert inside["s"]["value"] == "urn:test:holder"
        assert inside["o"]["value"]["subject"]["value"] == "urn:test:s"
        page = client.get("/resource", params=look, headers={"Accept": "text/html"}).text
        assert "urn:test:holder" in page
        client.post("/update", data={"update": "DROP ALL"}).raise_for_status()
    assert client.get("/resource", params=look).status_code == 404


@pytest.fixture
def opened(endpoint: Endpoint) -> Iterator[httpx.Client]:
    """A client of an empty server that takes writes."""
    with endpoint.client() as found:
        yield found


@pytest.mark.slow
def test_who_looks_too_long_into_statements_is_told(tmp_path: Path) -> None:
    lines = "\n".join(f"<urn:h{n}> <urn:says> <<( <urn:s{n}> <urn:p> {n} )>> ." for n in range(60_000))
    options = ("--anonymous", "write", "--query-timeout", "0.1")
    with Endpoint.start(tmp_path / "store", *options) as endpoint, endpoint.client() as client:
        client.put(
            "/store?default", content=lines, headers={"Content-Type": "text/turtle"}
        ).raise_for_status()
        found = client.get("/resource", params={"iri": "urn:nowhere"})
        assert found.status_code == 404
        assert "took too long" in found.json()["detail"]


@pytest.mark.parametrize("term", ["rag#Session", "rag#about", "tg/Chunk", "prov#Activity", "rag"])
def test_terms_have_their_definitions(term: str, client: httpx.Client) -> None:
    iri = {
        "rag#Session": "https://w3id.org/graphrag-rdf/ns#Session",
        "rag#about": "https://w3id.org/graphrag-rdf/ns#about",
        "tg/Chunk": "https://trustgraph.ai/ns/Chunk",
        "prov#Activity": "http://www.w3.org/ns/prov#Activity",
        "rag": "https://w3id.org/graphrag-rdf/ns",
    }[term]
    found = graph_of(client.get("/resource", params={"iri": iri}, headers=TURTLE))
    assert rows(found, f"SELECT ?l {{ <{iri}> rdfs:label|dcterms:title ?l }}")
    assert client.get("/resource", params={"iri": iri}, headers={"Accept": "text/html"}).status_code == 200


def test_our_own_paths_negotiate(client: httpx.Client) -> None:
    (walter,) = client.get("/entities", params={"match": "walter"}).json()["items"]
    for path in (f"/entities/{walter['iri'].rpartition('/')[2]}", "/documents/documents/company.txt"):
        for accept in ("text/html", "text/turtle", "application/json", "application/n-quads"):
            found = client.get(path, headers={"Accept": accept})
            assert found.status_code == 200
            assert found.headers["content-type"].startswith(accept)


def test_partitions_by_class_and_property(client: httpx.Client) -> None:
    found = graph_of(client.get("/.well-known/void", headers=TURTLE))
    part = (
        '?g rdfs:label "default" ; void:classPartition [ void:class ?c ; void:propertyPartition ?pp ] . '
        "?pp void:property ?p"
    )
    whole = rows(found, f"SELECT * {{ {part} ; void:triples ?n }}")
    assert whole
    for row in whole:
        assert int(row["n"].value) == count(client, f"?s a {row['c']} ; {row['p']} ?o")
    things = rows(found, f"SELECT * {{ {part} ; void:classPartition [ void:class ?t ; void:triples ?n ] }}")
    for row in things:
        assert int(row["n"].value) == count(client, f"?s a {row['c']} ; {row['p']} ?o . ?o a {row['t']}")
    ext = "<http://ldf.fi/void-ext#datatype"
    values = rows(found, f"SELECT * {{ {part} ; {ext}Partition> [ {ext}> ?t ; void:triples ?n ] }}")
    assert values
    for row in values:
        where = f"?s a {row['c']} ; {row['p']} ?o FILTER(DATATYPE(?o) = {row['t']})"
        assert int(row["n"].value) == count(client, where)


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")  # in rdflib itself
def test_json_ld_with_the_context_of_the_server_is_read_by_rdflib(served: Endpoint) -> None:
    document = {
        "@context": f"{served.url}/context.jsonld",
        "id": "urn:chunk:1",
        "type": "Chunk",
        "charOffset": 12,
        "about": "urn:entity:1",
        "dcterms:title": "Loss of the Petrel",
    }
    found = rdflib.Graph().parse(data=json.dumps(document), format="json-ld")
    chunk, tg = rdflib.URIRef("urn:chunk:1"), "https://trustgraph.ai/ns/"
    assert set(found) == {
        (chunk, rdflib.RDF.type, rdflib.URIRef(f"{tg}Chunk")),
        (chunk, rdflib.URIRef(f"{tg}charOffset"), rdflib.Literal(12)),
        (chunk, rdflib.URIRef("https://w3id.org/graphrag-rdf/ns#about"), rdflib.URIRef("urn:entity:1")),
        (chunk, rdflib.DCTERMS.title, rdflib.Literal("Loss of the Petrel")),
    }


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")  # in rdflib itself
@pytest.mark.parametrize("path", ["/documents/documents/company.txt", f"/sparql?query={quote(CHUNKS)}"])
def test_answers_in_json_ld_name_the_context_by_its_address(
    path: str, served: Endpoint, client: httpx.Client
) -> None:
    ask = client.build_request("GET", path, headers={"Accept": "application/ld+json"})
    named = client.send(ask)
    ask.url = ask.url.copy_merge_params({"context": "inline"})
    inline = client.send(ask)
    assert named.json()["@context"] == f"{served.url}/context.jsonld"
    assert inline.json()["@context"] == client.get("/context.jsonld").json()["@context"]
    assert named.json()["@graph"] == inline.json()["@graph"] != []
    read = [rdflib.Graph().parse(data=found.text, format="json-ld") for found in (named, inline)]
    assert set(read[0]) == set(read[1]) != set()
    ask.url = ask.url.copy_set_param("context", "elsewhere")
    assert client.send(ask).status_code == 400


def test_graphs_to_be_stored_elsewhere_have_the_context_in_them(client: httpx.Client) -> None:
    stored = client.get("/store", headers={"Accept": "application/ld+json"}).json()
    assert "tg" in stored["@context"]
