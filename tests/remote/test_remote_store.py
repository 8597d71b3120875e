"""A store behind `oxigraph serve`: what is found out about it, the order of writing, who else writes."""

from __future__ import annotations

import io
import json

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import StoreError, StoreMissingError, UsageError
from graphrag_rdf.rdf.namespaces import RAG, RDF, STORE_NODE, TG, XSD, Graphs
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
from graphrag_rdf.store.migrations import migrate
from graphrag_rdf.store.remote import RemoteStore
from tests.support.endpoints import Server, oxigraph
from tests.support.gateway import Gateway, Passed, Said
from tests.support.sample_stores import templates

A, B = NamedNode("urn:a"), NamedNode("urn:b")
FACT = Triple(A, B, Literal("x"))


def opened(url: str, *, create: bool = True, **settings: int) -> RemoteStore:
    given = RemoteSettings(**{"retries": 0, **settings})  # type: ignore[arg-type]
    store = RemoteStore(templates(), Endpoint(Addresses.of(url), given), create=create)
    if create:
        migrate(store)
    return store


@pytest.fixture
def store(server: Server) -> RemoteStore:
    return opened(server.url)


def fact(number: int) -> Quad:
    return Quad(A, B, Literal(str(number)))


# --- what is found out -------------------------------------------------------------------------------


def refusing(*words: str) -> Gateway:
    """An endpoint that takes some spellings for errors."""

    def judge(request: Passed) -> Said | None:
        return Said(400, b"syntax error") if any(word in request.body for word in words) else None

    return Gateway("", judge)


def test_oxigraph_speaks_rdf12_and_keeps_facts_in_the_default_graph(store: RemoteStore) -> None:
    found = store.capabilities
    assert (found.dialect, found.facts_graph, found.lateral, found.numbered) == ("rdf12", None, True, False)


def test_what_was_probed_is_taken_out_again(store: RemoteStore) -> None:
    assert {quad.graph_name for quad in store.quads()} == {Graphs.SYSTEM}


def test_a_default_graph_that_is_a_union_holds_no_facts() -> None:
    server = oxigraph("--union-default-graph")
    server.start()
    try:
        store = opened(server.url)
        assert store.capabilities.facts_graph == Graphs.FACTS
        store.commit(Changes(add=[fact(1)]))
        assert Quad(A, B, Literal("1"), Graphs.FACTS) in set(store.quads())
        assert opened(server.url, create=False).capabilities == store.capabilities
    finally:
        server.stop()


@pytest.mark.parametrize(("refused", "dialect"), [(("<<",), "classic")])
def test_an_engine_without_triple_terms_gets_statements(
    server: Server, refused: tuple[str, ...], dialect: Dialect
) -> None:
    gateway = refusing(*refused)
    with Gateway(server.url, gateway.judge) as between:
        store = opened(between.url)
        assert store.capabilities.dialect == dialect
        store.commit(Changes(add=[Quad(A, TG.contains, FACT, Graphs.SOURCE)]))
        held = {quad.predicate for quad in store.quads(Graphs.SOURCE)}
        assert held == {TG.contains, RDF.subject, RDF.predicate, RDF.object}
        assert opened(between.url, create=False).capabilities.dialect == dialect


def test_what_has_no_form_without_triple_terms_is_told(server: Server) -> None:
    with Gateway(server.url, refusing("<<").judge) as between:
        store = opened(between.url)
        nested = Quad(A, TG.contains, Triple(A, B, FACT), Graphs.SOURCE)
        with pytest.raises(StoreError, match="the dialect classic has no nested triple terms"):
            store.commit(Changes(add=[nested]))
        with pytest.raises(StoreError, match="the dialect classic has no nested triple terms"):
            store.bulk_add([nested])


def test_the_dialect_of_a_store_stays_what_it_was_written_in(server: Server) -> None:
    with Gateway(server.url, refusing("<<").judge) as between:
        opened(between.url)
    assert opened(server.url, create=False).capabilities.dialect == "classic"


def test_a_dialect_that_is_spoken_no_more_is_told(server: Server, store: RemoteStore) -> None:
    with (
        Gateway(server.url, refusing("<<(").judge) as between,
        pytest.raises(StoreError, match="does not support rdf12") as caught,
    ):
        opened(between.url, create=False)
    assert "export" in (caught.value.hint or "")


def test_no_store_is_told_and_none_is_made_unasked(server: Server) -> None:
    with pytest.raises(StoreMissingError, match="there is no store at") as caught:
        opened(f"{server.url}/query?apikey=hunter2", create=False)
    assert "hunter2" not in str(caught.value)
    assert not server.ask("ASK { GRAPH ?g { ?s ?p ?o } }")


def test_an_endpoint_that_only_reads_can_be_read(server: Server, store: RemoteStore) -> None:
    def judge(request: Passed) -> Said | None:
        return Said(403, b"read-only") if request.is_update else None

    with Gateway(server.url, judge) as between:
        found = opened(between.url, create=False)
        assert found.select("system/store-version")
        with pytest.raises(StoreError, match="accepts no updates from this client"):
            found.commit(Changes(add=[fact(1)]))
    assert found.commit_number() == store.commit_number()


# --- reading -----------------------------------------------------------------------------------------


def test_terms_come_back_as_they_were_sent(store: RemoteStore) -> None:
    hostile = [
        Literal('"} ; DROP ALL #\\\n\r\t\u2028'),
        Literal("مرحبا", language="ar"),
        Literal("12", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
        NamedNode("urn:ü?q=1#f"),
        Triple(A, B, Triple(A, B, Literal("<< >>"))),
    ]
    quads = {Quad(A, B, term, Graphs.SOURCE) for term in hostile}
    store.commit(Changes(add=list(quads)))
    assert set(store.quads(Graphs.SOURCE)) == quads
    rows = store.query("SELECT ?o { GRAPH <urn:graph:source> { ?s ?p ?o } }").rows or []
    assert {row["o"] for row in rows} == {quad.object for quad in quads}
    triples = store.query("CONSTRUCT { ?s ?p ?o } { GRAPH <urn:graph:source> { ?s ?p ?o } }").triples
    assert set(triples or ()) == {quad.triple for quad in quads}


@pytest.mark.parametrize(
    ("query", "media_type", "written"),
    [
        ("SELECT ?one ?two { BIND(0.25 AS ?one) }", "text/csv", b"one,two\r\n0.25,\r\n"),
        ("SELECT ('x'@en AS ?one) {}", "text/tab-separated-values", b'?one\n"x"@en\n'),
        ("ASK {}", "text/csv", b"true\r\n"),
        ("CONSTRUCT { <urn:a> <urn:b> 1 } {}", "text/turtle", b"<urn:a> <urn:b> 1 .\n"),
    ],
)
def test_results_are_written_in_every_format_whatever_the_endpoint_writes(
    server: Server, store: RemoteStore, query: str, media_type: str, written: bytes
) -> None:
    def judge(request: Passed) -> Said | None:
        known = any(form in request.headers["accept"] for form in ("results+json", "n-triples", "*/*"))
        return None if known else Said(406, b"no such format")

    with Gateway(server.url, judge) as between:
        out, found = io.BytesIO(), opened(between.url, create=False)
        found.write_results(query, out, media_type)
        assert out.getvalue().endswith(written)  # after prefixes, in Turtle
        with pytest.raises(UsageError, match="cannot be written as image/png"):
            found.write_results(query, out, "image/png")


def test_results_are_written_with_all_digits(server: Server, store: RemoteStore) -> None:
    """Also of an endpoint that prints six of them, as Virtuoso does."""
    query = "SELECT (0.12345678901234567e0 AS ?x) {}"

    def judge(request: Passed) -> Said | None:
        if "text/turtle" in request.headers["accept"]:
            said = b"""@prefix : <http://www.w3.org/2005/sparql-results#> .
            [] :solution [ :binding [ :variable "x" ; :value 0.12345678901234568 ] ] ."""
            return Said(200, said, {"Content-Type": "text/turtle"})
        if "0.12345678901234567e0" not in request.body:
            return None
        row = {"type": "typed-literal", "datatype": XSD.double.value, "value": "0.123457"}
        name = "value" if "?value" in request.body else "x"
        said = json.dumps({"head": {"vars": [name]}, "results": {"bindings": [{name: row}]}}).encode()
        return Said(200, said, {"Content-Type": "application/sparql-results+json"})

    with Gateway(server.url, judge) as between:
        out = io.BytesIO()
        opened(between.url, create=False).write_results(query, out, "text/csv")
    assert out.getvalue() == b"x\r\n0.12345678901234568\r\n"


def test_a_graph_of_which_a_part_came_is_told(server: Server, store: RemoteStore) -> None:
    """Virtuoso cuts a graph off without a word; it is seen by counting."""
    store.commit(Changes(add=[Quad(NamedNode(f"urn:{n}"), B, A, Graphs.SOURCE) for n in range(30)]))

    def judge(request: Passed) -> Said | None:
        wanted = "CONSTRUCT" in request.body
        some = b"".join(b"<urn:%d> <urn:b> <urn:a> .\n" % n for n in range(20))
        return Said(200, some, {"Content-Type": "application/n-triples"}) if wanted else None

    with Gateway(server.url, judge) as between:
        found = opened(between.url, create=False)
        with pytest.raises(StoreError, match=r"sent 20 of the 30 triples of <urn:graph:source>"):
            list(found.quads(Graphs.SOURCE))


def test_more_rows_than_a_graph_has_are_seen_to_be_given(server: Server, store: RemoteStore) -> None:
    """Or else a graph may have been cut off where rows are, which is told of rows only."""
    store.commit(Changes(add=[Quad(NamedNode(f"urn:{n}"), B, A, Graphs.SOURCE) for n in range(30)]))
    text = "CONSTRUCT { ?s ?p ?o } { GRAPH <urn:graph:source> { ?s ?p ?o } } LIMIT 20"

    def judge(request: Passed) -> Said | None:
        many = "SELECT" in request.body and "LIMIT 21" in request.body
        return Said(200, b"{}", {"X-SPARQL-MaxRows": "20"}) if many else None

    with Gateway(server.url, judge) as between:
        with pytest.raises(StoreError, match="limits results to 20 rows"):
            opened(between.url, create=False).query(text)
        between.judge = lambda request: None
        found = opened(between.url, create=False)
        between.passed.clear()
        for _ in range(2):
            assert len(found.query(text).triples or ()) == 20
        assert len(between.passed) == 3  # it is asked once


def test_a_change_that_is_refused_leaves_the_numbers(server: Server, store: RemoteStore) -> None:
    """The new numbers are there before the old ones go, also where a request is not atomic."""
    with Gateway(server.url) as between:
        again = opened(between.url, create=False)
        between.passed.clear()
        again.commit(Changes(add=[fact(1)], remove=[fact(0)]))
        sent = between.updates[0]
    old, new = f'"{store.commit_number()}"', f'"{store.commit_number() + 1}"'
    assert sent.index(new) < sent.index(old)


def test_a_malformed_query_is_the_users(store: RemoteStore) -> None:
    with pytest.raises(UsageError, match="malformed"):
        store.query("SELECT {")


# --- writing -----------------------------------------------------------------------------------------


def numbers(store: RemoteStore) -> dict[NamedNode, list[str]]:
    found: dict[NamedNode, list[str]] = {}
    for quad in store.quads(Graphs.SYSTEM):
        if quad.subject == STORE_NODE and quad.predicate in (RAG.commit, RAG.contentCommit):
            found.setdefault(quad.predicate, []).append(quad.object.value)  # type: ignore[union-attr]
    return found


def test_a_transaction_is_one_request_with_its_number(server: Server) -> None:
    with Gateway(server.url) as between:
        store = opened(between.url)
        between.passed.clear()
        before = store.commit_number()
        changes = Changes(add=[fact(1)], remove=[fact(0)])
        changes.updates.append(("settings/unset", {"key": "x"}))
        assert store.commit(changes) == before + 1
        assert len(between.updates) == 1
        assert numbers(store) == {RAG.commit: [str(before + 1)], RAG.contentCommit: [str(before + 1)]}
        store.commit(Changes(add=[fact(2)], content=False))
        assert numbers(store) == {RAG.commit: [str(before + 2)], RAG.contentCommit: [str(before + 1)]}
    assert (store.commit_number(), store.content_commit()) == (before + 2, before + 1)


def test_an_empty_transaction_sends_nothing(server: Server, store: RemoteStore) -> None:
    with Gateway(server.url) as between:
        again = opened(between.url, create=False)
        between.passed.clear()
        assert again.commit(Changes()) == store.commit_number()
        assert between.passed == []


@pytest.mark.parametrize("settings", [{"batch_quads": 10}, {"batch_bytes": 400}])
def test_what_is_too_large_is_sent_in_parts_with_what_counts_last(
    server: Server, settings: dict[str, int]
) -> None:
    done = Quad(A, RAG.extractor, Literal("rules/1"), Graphs.SOURCE)
    add = [done, *(fact(number) for number in range(40))]
    remove = [fact(number) for number in range(100, 130)]
    with Gateway(server.url) as between:
        store = opened(between.url, **settings)
        store.bulk_add(remove)
        between.passed.clear()
        changes = Changes(add=add, remove=remove)
        changes.updates.append(("settings/unset", {"key": "x"}))
        store.commit(changes)
        sent = between.updates
        held = {quad for quad in store.quads() if quad.graph_name != Graphs.SYSTEM}
    assert held == set(add)
    assert len(sent) > 5
    assert "rag:setting" in sent[0]
    assert all("extractor" not in text and str(RAG.commit) not in text for text in sent[:-1])
    assert "extractor" in sent[-1]
    assert str(RAG.commit) in sent[-1]
    assert max(map(len, sent[1:])) < 4_000


def test_blank_nodes_are_not_torn_apart(server: Server) -> None:
    store = opened(server.url, batch_quads=2)
    with pytest.raises(StoreError, match="blank nodes"):
        store.bulk_add([Quad(BlankNode("b"), B, Literal(str(n))) for n in range(3)])


def test_updates_of_people_are_numbered(store: RemoteStore) -> None:
    before = store.commit_number()
    assert store.update("INSERT DATA { <urn:a> <urn:b> 'x' } # done") == before + 1
    assert numbers(store)[RAG.contentCommit] == [str(before + 1)]
    with pytest.raises(UsageError):
        store.update("INSERT DATA { nonsense")
    assert numbers(store)[RAG.commit] == [str(before + 1)]
    store.update("DROP ALL")
    assert numbers(store) == {RAG.commit: [str(before + 2)], RAG.contentCommit: [str(before + 2)]}


def test_an_update_whose_answer_is_lost_is_run_once_and_numbered(server: Server) -> None:
    """What it did is not known here: the number says that indexes have to look, and nothing is undone."""
    where = "WHERE { <urn:a> <urn:n> ?n BIND(?n + 1 AS ?more) }"
    count = f"DELETE {{ <urn:a> <urn:n> ?n }} INSERT {{ <urn:a> <urn:n> ?more }} {where}"

    def judge(request: Passed) -> Said | None:
        if count not in request.body:
            return None
        server.update(count)
        return Said(0)

    with Gateway(server.url, judge) as between:
        store = opened(between.url, retries=2)
        store.commit(Changes(add=[Quad(A, NamedNode("urn:n"), Literal(1))]))
        before = store.content_commit()
        with pytest.raises(StoreError, match="was lost during the update") as caught:
            store.update(count)
        assert "before you send it again" in (caught.value.hint or "")
        assert server.ask("ASK { <urn:a> <urn:n> 2 }")
        assert store.content_commit() == before + 1
        direct = opened(server.url, create=False)
        assert direct.content_commit() == before + 1
        after = store.commit(Changes(add=[fact(1)]))  # nobody else wrote
    assert numbers(direct) == {RAG.commit: [str(after)], RAG.contentCommit: [str(after)]}


def test_a_bulk_that_breaks_off_is_numbered(server: Server) -> None:
    """Its first batches are there."""
    with Gateway(server.url) as between:
        store = opened(between.url, batch_quads=10)
        before = store.content_commit()
        between.judge = lambda request: Said(500, b"full") if '"25"' in request.body else None
        with pytest.raises(StoreError, match="500"):
            store.bulk_add(fact(number) for number in range(30))
        between.judge = lambda request: None
        again = opened(server.url, create=False)
        assert fact(19) in set(again.quads())
        assert again.content_commit() == store.content_commit() == before + 1


def test_a_refused_change_is_no_fault_of_the_user(server: Server, store: RemoteStore) -> None:
    with Gateway(server.url, refusing("urn:refused").judge) as between:
        again = opened(between.url, create=False)
        with pytest.raises(StoreError, match="refused a change"):
            again.commit(Changes(add=[Quad(NamedNode("urn:refused"), B, A)]))


# --- others who write --------------------------------------------------------------------------------


@pytest.fixture
def other(server: Server, store: RemoteStore) -> RemoteStore:
    """Another program on the same endpoint."""
    return opened(server.url, create=False)


def test_content_that_another_program_changed_ends_a_change(store: RemoteStore, other: RemoteStore) -> None:
    other.commit(Changes(add=[fact(1)]))
    with pytest.raises(StoreError, match="another program changed the content"):
        store.commit(Changes(add=[fact(2)]))
    assert fact(2) not in set(store.quads())
    store.refresh()
    assert store.content_commit() == other.content_commit()
    store.commit(Changes(add=[fact(2)]))


def test_traces_of_another_program_do_not(store: RemoteStore, other: RemoteStore) -> None:
    other.commit(Changes(add=[fact(1)], content=False))
    assert store.commit(Changes(add=[fact(2)])) == other.commit_number() + 1
    assert numbers(store)[RAG.commit] == [str(store.commit_number())]
