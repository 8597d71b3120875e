"""The pages, from a real server: what is on them, nothing unescaped, every link leads somewhere."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import rdflib
from rdflib import OWL, RDF

from tests.support.endpoint import TOKENS, Endpoint
from tests.support.pages import Page, browser, crawl, get

QUESTION = "Who founded the Tarnay Electric Light Company?"
HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"


@pytest.fixture
def client(answering: Endpoint) -> Iterator[httpx.Client]:
    """A client of a server over two documents."""
    with browser(answering) as found:
        yield found


@pytest.fixture
def asked(client: httpx.Client) -> str:
    """The address of a trace, got as a browser without JavaScript gets it."""
    response = client.post("/ask", data={"question": QUESTION}, timeout=60)
    assert response.status_code == 303, response.text
    return response.headers["location"]


def test_scores_on_the_page_of_a_trace_have_three_digits(client: httpx.Client, asked: str) -> None:
    text = get(client, asked).text
    assert re.search(r"score 0\.\d{3}\b", text)
    assert re.findall(r"(?<![\d.:])[01]\.\d{4,}", text) == []


def test_home(client: httpx.Client, asked: str) -> None:
    page = get(client, "/")
    assert asked in page.addresses("a")
    assert QUESTION in page.text
    counts = client.get("/", headers={"Accept": "application/json"}).json()["counts"]
    assert counts["documents"] == 2
    assert counts["facts"] > 3
    assert f"{counts['entities']}" in page.text


def test_trace(client: httpx.Client, asked: str) -> None:
    page = get(client, asked)
    for part in (QUESTION, "Answer", "Walter Pennock", "Grounding", "Seeds", "Chunks", "selected", "calls"):
        assert part in page.text
    tags = [tag for tag, _ in page.tags]
    assert "svg" in tags
    assert "mark" in tags
    assert "#cite-1" in page.addresses("a")
    assert any(address.startswith("/documents/") for address in page.addresses("a"))
    assert any(address.startswith("/entities/") for address in page.addresses("a"))


def test_document(client: httpx.Client) -> None:
    listed = get(client, "/documents")
    (company,) = [a for a in listed.addresses("a") if a.endswith("company.txt")]
    page = get(client, company)
    assert "Walter Pennock founded the Tarnay Electric Light Company in 1897." in page.text
    assert "mark" in [tag for tag, _ in page.tags]
    assert get(client, f"{company}?offset=1000").text.count("Chunk") == 0


def test_entity(client: httpx.Client) -> None:
    found = get(client, "/entities?match=walter")
    (walter,) = [a for a in found.addresses("a") if a.startswith("/entities/")]
    page = get(client, walter)
    for part in ("Walter Pennock", "What is said of it", "What is said with it", "Where it is mentioned"):
        assert part in page.text
    assert "svg" in [tag for tag, _ in page.tags]
    assert "No entity has this name" in get(client, "/entities?match=zzz").text


def test_a_fact(client: httpx.Client) -> None:
    """From an entity to where a fact is said, and on to the passage in its document."""
    (fact,) = [
        address
        for address in get(client, "/entities/walter-pennock").addresses("a")
        if address.startswith("/facts?") and "founded%3E" in address and address.endswith("company%3E")
    ]
    page = get(client, fact)
    assert "Walter Pennock founded the Tarnay Electric Light Company in 1897." in page.text
    (place, *_) = [a for a in page.addresses("a") if a.startswith("/documents/")]
    assert place.partition("#")[2] in get(client, place.partition("#")[0]).ids
    sources = client.get(fact, headers={"Accept": "application/json"}).json()["items"]
    assert sources[0]["verified"]
    unknown = {"subject": "<urn:a>", "predicate": "<urn:b>", "object": "1"}
    assert client.get("/facts", params=unknown).status_code == 404
    assert client.get("/facts", params={"subject": "<urn:a>"}).status_code == 400
    assert "no decisions" in get(client, "/facts/decisions").text


def test_wherever_a_fact_is_shown_its_source_is_a_link_away(client: httpx.Client, asked: str) -> None:
    """So it can be corrected where somebody finds that it is wrong."""
    for path in (asked, "/documents/documents/company.txt"):
        sources = {a for a in get(client, path).addresses("a") if a.startswith("/facts?")}
        assert any("founded%3E" in address for address in sources), path
        assert "Sources" in get(client, min(sources)).text


def test_a_fact_that_is_not_there_says_what_may_be_meant(client: httpx.Client) -> None:
    misspelt = {"subject": "Walter Pennocks", "predicate": "founded", "object": "x"}
    page = client.get("/facts", params=misspelt)
    assert page.status_code == 404
    assert "did you mean “Walter Pennock”" in page.text


def test_the_texts_of_calls_can_be_read(client: httpx.Client, asked: str) -> None:
    texts = [a for a in get(client, asked).addresses("a") if "urn%3Asha256%3A" in a]
    assert any("SELECT" in get(client, address).text for address in texts[:3])


def test_lists_turn(client: httpx.Client) -> None:
    for path in ("/documents", "/entities", "/facts"):
        first = get(client, f"{path}?limit=1")
        (after,) = [a for a in first.addresses("a") if "offset=1" in a]
        second = get(client, after)
        assert f"{path}?limit=1&offset=0" in second.addresses("a")
        assert first.text != second.text


def test_the_counts_of_the_first_page_lead_to_lists_of_as_many(client: httpx.Client, asked: str) -> None:
    assert asked
    counts = client.get("/", headers={"Accept": "application/json"}).json()["counts"]
    page = get(client, "/")
    for name, number in counts.items():
        assert f"/{name}" in page.addresses("a")
        items = []
        while found := _items(client, name, limit=7, offset=len(items)):
            items += found
        assert len(items) == number, name
        assert len({str(item) for item in items}) == number, name


def test_facts_are_found_by_any_of_their_names_and_by_values(client: httpx.Client) -> None:
    every = _items(client, "facts", limit=1000)
    value = next(fact["o_label"] for fact in every if ":" not in fact["o"])
    for word in ("pennock", "FOUNDED", value.upper()):
        found = _items(client, "facts", match=word, limit=1000)
        said = [fact for fact in every if word.lower() in " ".join(map(str, fact.values())).lower()]
        assert {str(fact) for fact in said} <= {str(fact) for fact in found}
        assert 0 < len(found) < len(every)
    page = get(client, "/facts?match=pennock")
    assert any(address.startswith("/facts?subject=") for address in page.addresses("a"))
    (query,) = [a for a in page.addresses("a") if a.startswith("/sparql-editor?query=")]
    assert "Walter Pennock" in get(client, query).text
    assert "No fact contains this text" in get(client, "/facts?match=zzz").text


def test_questions_are_listed_by_their_outcome(client: httpx.Client, asked: str) -> None:
    unknown = "What is the price of saffron?"
    client.post("/ask", data={"question": unknown}, timeout=60)
    page = get(client, "/traces")
    for told in ("answered (", "no answer: closest chunks ("):
        assert told in page.text
    (few,) = [a for a in page.addresses("a") if a.endswith("outcome=unanswered")]
    assert unknown in get(client, few).text
    assert QUESTION not in get(client, few).text
    unanswered = {item["question"] for item in _items(client, "traces", outcome="unanswered")}
    assert unknown in unanswered
    assert QUESTION not in unanswered
    matched = {item["question"] for item in _items(client, "traces", match="FOUNDED the")}
    assert QUESTION in matched
    assert all("founded the" in question.lower() for question in matched)
    every = client.get("/traces", headers={"Accept": "application/json"}).json()
    assert every["outcomes"]["unanswered"] >= len(unanswered)  # other tests ask on the same server
    assert sum(every["outcomes"].values()) >= len(every["items"])
    assert client.get("/traces?outcome=lost").status_code == 400
    assert "unanswered" not in Page(client.get("/", headers={"Accept": "text/html"}).text).text


def _items(client: httpx.Client, name: str, **asked: object) -> list[dict[str, str]]:
    found = client.get(f"/{name}", params=asked, headers={"Accept": "application/json"})
    items: list[dict[str, str]] = found.raise_for_status().json()["items"]
    return items


def test_a_relation(client: httpx.Client) -> None:
    page = get(client, f"/resource?iri={quote('http://trustgraph.ai/r/founded')}")
    assert "Where it is the relation" in page.text
    assert "Walter Pennock" in page.text


def test_every_link_leads_somewhere(client: httpx.Client, asked: str) -> None:
    """And every page on the way is in order: landmarks, labels, ids, nothing from elsewhere."""
    pages = crawl(client, asked)
    assert "/" in pages
    assert len(pages) > 50


def test_an_answer_that_is_nested_too_deeply_for_a_page(client: httpx.Client) -> None:
    term = "<<( <urn:a> <urn:b> " * 300 + "1" + " )>>" * 300
    page = client.post("/sparql-editor", data={"query": f"SELECT ({term} AS ?x) {{}}"})
    assert page.status_code == 422
    assert "download it" in page.text


def test_the_editor_completes_what_the_store_uses(client: httpx.Client) -> None:
    found = client.get("/sparql-editor/terms").json()
    assert found["prefixes"]["rag"] == "https://w3id.org/graphrag-rdf/ns#"
    by_text = {term["text"]: term for term in found["terms"]}
    assert len(by_text) == len(found["terms"])
    founded = by_text["<http://trustgraph.ai/r/founded>"]
    assert (founded["label"], founded["kind"]) == ("founded", "relation")
    assert founded["count"] > 0
    assert by_text["rag:confidence"]["kind"] == "relation"
    assert by_text["tg:Chunk"]["kind"] == "class"
    assert by_text["<urn:graph:source>"]["kind"] == "graph"


def test_templates_of_the_cookbook_come_first(client: httpx.Client) -> None:
    page = get(client, "/sparql-editor")
    names = [attributes["value"] for tag, attributes in page.tags if tag == "option"]
    cookbook = [name for name in names if name.startswith("cookbook/")]
    assert names[: len(cookbook)] == cookbook
    assert len(names) > len(cookbook) > 20


def test_queries(client: httpx.Client) -> None:
    page = get(client, "/sparql-editor?template=entities%2Flist")
    assert "Entities with a name that holds a text -" in page.text
    assert "SELECT ?entity" in page.text
    query = "SELECT * { GRAPH <urn:graph:source> { ?s tg:contains ?t } } LIMIT 3"
    found = Page(client.post("/sparql-editor", data={"query": query}).text)
    found.check()
    assert "«" in found.text
    assert any(a.startswith("/resource?iri=") for a in found.addresses("a"))
    assert "Rows: 3" in found.text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("ASK { ?s rdfs:label ?o }", "true"),
        ("ASK { ?s <urn:none> ?o }", "false"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 2", "Triples: 2"),
        ("SELECT ?x { VALUES ?x { UNDEF 'a\\tb\\n<c>'@en 12 } }", "Rows: 3"),
        ("SELECT ?x { VALUES ?x { 1 } FILTER(false) }", "Rows: 0"),
        ("SELECT * { ?a ?b ?c . ?d ?e ?f }", "Rows: 500, and there are more"),
        ("SELECT nothing", "This cannot be run"),
        ("SELECT * { SERVICE <http://localhost/> { ?s ?p ?o } }", "SERVICE is refused"),
    ],
)
def test_answers_of_queries(query: str, told: str, client: httpx.Client) -> None:
    response = client.post("/sparql-editor", data={"query": query})
    assert response.status_code in (200, 400, 403)
    page = Page(response.text)
    page.check()
    assert told in page.text
    assert query in page.text


def test_downloads(client: httpx.Client) -> None:
    select, graph = "SELECT ?o { ?s rdfs:label ?o } LIMIT 2", "CONSTRUCT WHERE { ?s rdfs:label ?o }"
    for query, form, media_type in (
        (select, "csv", "text/csv"),
        (select, "json", "application/sparql-results+json"),
        (graph, "ttl", "text/turtle"),
    ):
        found = client.post("/sparql-editor", data={"query": query, "as": form})
        assert found.status_code == 200
        assert found.headers["content-type"].startswith(media_type)
        assert found.headers["content-disposition"].startswith("attachment")


def test_the_query_of_a_step_runs_again(client: httpx.Client, asked: str) -> None:
    again = [a for a in get(client, asked).addresses("a") if a.startswith("/sparql-editor?call=")]
    assert "Rows: " in get(client, again[0]).text
    assert client.get("/sparql-editor?call=urn:nothing").status_code == 404
    assert client.get("/sparql-editor?template=..%2Fsecret").status_code == 404
    assert client.get("/sparql-editor?template=..%2Fsecret&query=%0A").status_code == 404
    assert client.get("/sparql-editor?template=forget%2Fdocuments").status_code == 404


def test_ontology(client: httpx.Client) -> None:
    page = get(client, "/ontology")
    assert {"tg-Chunk", "rag-Evidence"} <= set(page.ids)
    assert "#tg-Chunk" in page.addresses("a")


@pytest.mark.parametrize("media_type", ["text/turtle", "application/rdf+xml"])
def test_the_ontology_is_one_that_tools_open(client: httpx.Client, media_type: str) -> None:
    """One header, no imports, and terms of both vocabularies; and the declarations of what the facts use."""
    found = {path: rdflib.Graph() for path in ("/ontology", "/ontology/schema")}
    for path, graph in found.items():
        answer = client.get(path, headers={"Accept": media_type})
        assert answer.headers["content-type"].startswith(media_type)
        graph.parse(data=answer.content, format=media_type)
    program, facts = found.values()
    assert len(set(program.subjects(RDF.type, OWL.Ontology))) == 1
    assert not list(program.objects(None, OWL.imports))
    classes = {str(term) for term in program.subjects(RDF.type, OWL.Class)}
    assert {"https://trustgraph.ai/ns/Chunk", "https://w3id.org/graphrag-rdf/ns#Evidence"} <= classes
    assert len(set(facts.subjects(RDF.type, OWL.ObjectProperty))) > 3


def test_static_files(client: httpx.Client) -> None:
    for page in (get(client, "/"), get(client, "/")):
        for address in page.addresses("link", "script"):
            assert client.get(address).status_code == 200
    assert client.get("/static/..%2fassets.py").status_code == 404
    assert client.get("/static/nothing.css").status_code == 404


def test_pages_are_strict(client: httpx.Client) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", ["/nowhere", "/entities/nobody", "/resource?iri=no", "/traces/0000"])
def test_problems_are_pages_for_people(path: str, client: httpx.Client) -> None:
    response = client.get(path)
    assert response.status_code in (400, 404)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    Page(response.text).check()
    told = client.get(path, headers={"Accept": "application/json"})
    assert told.headers["content-type"] == "application/problem+json"


def test_empty_and_foreign_forms(client: httpx.Client) -> None:
    overview = client.post("/ask", data={"question": "  "})
    assert overview.status_code == 303
    assert overview.headers["location"].startswith("/traces/")
    assert client.post("/ask", data={"question": "a", "token": "wrong"}).status_code == 401
    foreign = {"Origin": "https://evil.example"}
    assert client.post("/ask", data={"question": QUESTION}, headers=foreign).status_code == 403
    navigated = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.post("/ask", data={"question": QUESTION}, headers=navigated).status_code == 403


@pytest.mark.parametrize("setting", ["LLM__MODEL", "RERANK__MODEL"])
def test_with_a_model_the_form_takes_a_token(setting: str, documents_store: Path, tmp_path: Path) -> None:
    shutil.copytree(documents_store, tmp_path / "store")
    with (
        Endpoint.start(
            tmp_path / "store", **TOKENS, **{f"GRAPHRAG_RDF_{setting}": "openai/none"}
        ) as endpoint,
        browser(endpoint) as client,
    ):
        assert "token" in get(client, "/").ids
        refused = client.post("/ask", data={"question": QUESTION})
        assert refused.status_code == 401
        assert "token" in refused.text
        for path in ("/ask", "/retrieve"):
            assert client.post(path, json={"question": QUESTION}).status_code == 401


def test_read_only_answers_on_the_page(documents_store: Path, tmp_path: Path) -> None:
    shutil.copytree(documents_store, tmp_path / "store")
    with (
        Endpoint.start(tmp_path / "store", "--read-only") as endpoint,
        browser(endpoint) as client,
    ):
        response = client.post("/ask", data={"question": QUESTION}, timeout=60)
        assert response.status_code == 200
        page = Page(response.text)
        page.check()
        assert "Walter Pennock" in page.text
        assert "trace_not_stored" not in response.text
        assert "keeps nothing of it" in page.text
        said = "Best passage Company Walter Pennock founded the Tarnay Electric Light Company in 1897."
        assert said in " ".join(page.text.split()), " ".join(page.text.split())[300:900]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server over a document, names and a question that try to break out."""
    from graphrag_rdf import Engine
    from graphrag_rdf.config import Settings

    place = tmp_path_factory.mktemp("hostile")
    (place / "evil.md").write_text(
        f"# {HOSTILE}\n\nWalter Pennock founded the {HOSTILE} Company in 1897. Walter Pennock {HOSTILE}.\n",
        encoding="utf-8",
    )
    with Engine.open(config=Settings(store=str(place / "store"))) as engine:
        engine.ingest([place / "evil.md"])
    with Endpoint.start(place / "store", "--anonymous", "write") as endpoint:
        label = HOSTILE.replace("\\", "").replace('"', '\\"')
        update = f"""
            PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
            PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
            PREFIX rag: <https://w3id.org/graphrag-rdf/ns#>
            INSERT {{ ?e skos:altLabel "{label}" ; <urn:p> "{label}" ; a <urn:type> .
                      <urn:type> rdfs:label "{label}" . <urn:p> rdfs:label "{label}" }}
            WHERE {{ GRAPH <urn:graph:derived> {{ ?m rag:canonicalEntity ?e }} }}"""
        with endpoint.client() as client:
            client.post("/update", data={"update": update}).raise_for_status()
        yield endpoint


def test_nothing_hostile_gets_through(hostile: Endpoint) -> None:
    with browser(hostile) as client:
        question = f"{HOSTILE} Walter Pennock?".replace("\u202e", "")
        response = client.post("/ask", data={"question": question}, timeout=60)
        assert response.status_code == 303, response.text
        pages = crawl(client, "/")
        assert response.headers["location"] in pages
        shown = [page for page in pages.values() if "<script>alert(1)</script>" in page.text]
        assert len(shown) > 5
        assert any("{{7*7}}" in page.text for page in shown)
        assert [path for path, page in pages.items() if "\u202e" in page.text] == []


def test_an_empty_result_names_the_change_that_finds_something(client: httpx.Client) -> None:
    """A query that other stores would answer is answered by its corrected form, one click away."""
    query = "SELECT ?t { ?e tg:sourceText ?t }"
    page = Page(client.post("/sparql-editor", data={"query": query}).text)
    assert "With all graphs as the default graph" in page.text
    (address,) = [a for a in page.addresses("a") if a.startswith("/sparql-editor?") and "#result" in a]
    corrected = get(client, address.partition("#")[0])
    assert "Rows: 0" not in corrected.text
    assert (
        "With all graphs" not in client.post("/sparql-editor", data={"query": "ASK { <urn:x> ?p ?o }"}).text
    )
