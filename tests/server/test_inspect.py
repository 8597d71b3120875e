"""What tokens tell: calls of other servers, however they are spelt or hidden."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.server.execution.sparql_text import inspect_query, inspect_update
from graphrag_rdf.server.http.problems import Problem

ALLOWED = ("https://example.org/sparql",)


def parses(query: str) -> bool:
    """Whether the engine takes a query; it is not run."""
    try:
        ox.Store().query(query)
    except SyntaxError:
        return False
    return True


def test_what_is_allowed_may_be_called() -> None:
    query = "SELECT * { SERVICE SILENT <https://example.org/sparql> { ?s ?p 'SERVICE' } }"
    found = inspect_query(query, ALLOWED)
    assert found.masked == query.replace("'SERVICE'", "'SERVICX'")
    for other in ("<https://example.org/sparql#>", "?x", "e:x"):
        with pytest.raises(Problem) as raised:
            inspect_query(query.replace("<https://example.org/sparql>", other), ALLOWED)
        assert raised.value.status == 403
    assert inspect_update("LOAD <https://example.org/sparql>", ALLOWED) is None
    with pytest.raises(Problem):
        inspect_update("LOAD <https://example.org/other>", ALLOWED)


def test_words_are_masked_letter_for_letter() -> None:
    """What were two names stay two names, and what was no call still parses."""
    query = "PREFIX service: <urn:s> SELECT ?Service ?service ?load { ?Service service:LOAD ?service, ?load }"
    masked = inspect_query(query).masked
    assert masked is not None
    assert parses(query)
    assert parses(masked)
    assert "Servicx" in masked
    assert "servicx" in masked
    assert inspect_query("ASK { ?s ?p ?o }").masked is None


@given(
    st.lists(
        st.sampled_from(["'", '"', "'''", '"""', "<", ">", "#", "\n", "\\u0041", " ", "?x", "<urn:x>"]),
        max_size=9,
    ),
    st.sampled_from(["SERVICE", "service", "SeRvIcE"]),
)
def test_no_call_is_hidden(noise: list[str], keyword: str) -> None:
    """Whatever stands before it: a call that the engine would take is seen by the tokens or by the mask."""
    query = f"ASK {{ {''.join(noise)} {keyword} <http://127.0.0.1:9/> {{ ?a ?b ?c }} }}"
    try:
        masked = inspect_query(query).masked
    except Problem:
        return
    assert masked is not None
    if parses(masked):  # then it was no keyword, so the engine calls nobody
        try:
            ox.Store().query(query)
        except SyntaxError:
            pass
        except OSError as error:
            raise AssertionError(f"it was called: {query!r}") from error


@pytest.mark.parametrize("function", ["NOW()", "RAND ( )", "uuid()", "STRUUID()", "BNODE()"])
def test_what_differs_from_run_to_run(function: str) -> None:
    assert inspect_query(f"SELECT ({function} AS ?x) {{}}").volatile
    assert not inspect_query("SELECT ('x' AS ?x) {}").volatile
