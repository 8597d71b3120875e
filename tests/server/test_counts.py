"""How many things there are: always right, and the facts read no oftener than they change."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf.namespaces import RAG, RDF, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.server.statistics import Counter
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore


def test_facts_are_read_again_when_they_changed_and_not_after_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = EmbeddedStore(TemplateLibrary(folder("queries")))
    counter, asked = Counter(store, "http://trustgraph.ai/"), list[str]()
    select = store.select
    monkeypatch.setattr(store, "select", lambda name, /, **v: asked.append(name) or select(name, **v))

    def fact(number: int) -> Changes:
        return Changes(add=[Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal(number))])

    def trace(number: int) -> Changes:
        session = Quad(NamedNode(f"urn:session:{number}"), RDF.type, RAG.Session, Graphs.RETRIEVAL)
        return Changes(add=[session], content=False)

    for number in (1, 2):
        store.commit(fact(number))
        for other in (1, 2):
            store.commit(trace(10 * number + other))
            counts = counter.things()
            assert (counts["facts"], counts["traces"]) == (number, 2 * (number - 1) + other)
    assert asked.count("server/counts") == 2
