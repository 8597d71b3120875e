"""`rag:text`: texts of the blob store in queries."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.sparql.render import with_prefixes

pytestmark = pytest.mark.embedded


def asked(engine: Engine, call: str) -> object:
    """The value of a call; None where it is unbound."""
    rows = engine.store.query(with_prefixes(f"SELECT ?value {{ BIND({call} AS ?value) }}")).rows or [{}]
    return rows[0].get("value")


def test_a_query_reads_a_text_until_it_is_erased() -> None:
    with Engine.open(config=Settings(store=":memory:")) as engine:
        iri = engine.blobs.put("What the model was asked: “谁?”\n")
        assert asked(engine, f"rag:text({iri})") == Literal("What the model was asked: “谁?”\n")
        engine.blobs.delete(iri)
        assert asked(engine, f"rag:text({iri})") is None


@pytest.mark.parametrize("call", ["rag:text(rag:Chunk)", 'rag:text("x")', "rag:text()", "rag:text(1, 2)"])
def test_what_names_no_text_has_no_value(call: str) -> None:
    with Engine.open(config=Settings(store=":memory:")) as engine:
        assert asked(engine, call) is None


def test_other_functions_are_refused() -> None:
    with (
        Engine.open(config=Settings(store=":memory:")) as engine,
        pytest.raises(UsageError, match="ns#texts"),
    ):
        asked(engine, "rag:texts(rag:Chunk)")
