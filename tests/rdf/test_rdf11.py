"""RDF 1.2 in RDF 1.1 and back, on any terms; and rows, whose bytes are searched rather than made anew."""

from __future__ import annotations

import io

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.formats import XmlOutput, solutions
from graphrag_rdf.rdf.rdf11 import as_rdf11, from_rdf11, in_row
from graphrag_rdf.rdf.rdf11_rows import write_rdf11

IRIS = st.sampled_from([NamedNode(f"urn:{name}") for name in ("a", "b(1)", "c")])
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20),
    st.sampled_from(['"}', "<<( <a> )>>", "<triple>", '{"type":"triple",', '"@ar--rtl\t', "\\", "\t\n"]),
)
LITERALS = st.one_of(
    TEXTS.map(Literal),
    st.builds(lambda text: Literal(text, language="en"), TEXTS),
    st.builds(
        lambda text, way: Literal(text, language="ar-eg", direction=way),
        TEXTS,
        st.sampled_from([BaseDirection.LTR, BaseDirection.RTL]),
    ),
    st.integers(-5, 5).map(Literal),
)
SUBJECTS = st.one_of(IRIS, st.sampled_from([BlankNode("x"), BlankNode("y")]))
TERMS = st.recursive(
    st.one_of(SUBJECTS, LITERALS), lambda inner: st.builds(Triple, SUBJECTS, IRIS, inner), max_leaves=4
)
QUADS = st.builds(Quad, SUBJECTS, IRIS, TERMS, st.sampled_from([NamedNode("urn:g"), ox.DefaultGraph()]))


@given(st.sets(QUADS, max_size=8))
def test_what_is_read_in_rdf11_and_written_back_is_the_same(quads: set[Quad]) -> None:
    plain = list(as_rdf11(quads))
    assert not any(isinstance(quad.object, Triple) for quad in plain)
    assert set(from_rdf11(plain)) == quads  # type: ignore[arg-type]
    text = ox.serialize((quad.triple for quad in plain), format=ox.RdfFormat.N_TRIPLES)  # type: ignore[union-attr]
    rdflib.Graph().parse(data=text, format="nt")


def test_reifications_of_others_are_left_alone() -> None:
    data = """<urn:r> <urn:says> <<( <urn:s> <urn:p> <<( <urn:s> <urn:p> 1 )>> )>> .
    <urn:r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <urn:s> <urn:p> 1 )>>, <<( <urn:s> <urn:p> 2 )>> .
    <urn:old> <http://www.w3.org/1999/02/22-rdf-syntax-ns#subject> <urn:s> ;
      <http://www.w3.org/1999/02/22-rdf-syntax-ns#predicate> <urn:p> ;
      <http://www.w3.org/1999/02/22-rdf-syntax-ns#object> 1 ."""  # noqa: E501
    quads = set(ox.parse(data, ox.RdfFormat.TURTLE))
    assert set(from_rdf11(as_rdf11(quads))) == quads  # type: ignore[arg-type]


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
WHOLE = f"<urn:statement:1> <{RDF}subject> <urn:s> ; <{RDF}predicate> <urn:p> ; <{RDF}object> 1 ."


@pytest.mark.parametrize(
    "data",
    [
        WHOLE,
        "<urn:r> <urn:p> <urn:statement:1> .",
        f"<urn:r> <urn:p> <urn:statement:1> . <urn:statement:1> <{RDF}subject> <urn:s> .",
        f"<urn:r> <urn:p> <urn:statement:1> . {WHOLE} <urn:statement:1> <{RDF}object> 2 .",
        f"<urn:r> <urn:p> <urn:statement:1> . {WHOLE} <urn:statement:1> <urn:note> 'mine' .",
        f"<urn:r> <urn:p> <urn:statement:1> . {WHOLE.replace('> 1 .', '> <urn:statement:1> .')}",
        f"<urn:r> <urn:p> <urn:statement:1> . {WHOLE.replace('<urn:s>', '1')}",
    ],
)
def test_what_cannot_be_turned_back_is_refused(data: str) -> None:
    with pytest.raises(UsageError, match="stands for a triple term"):
        from_rdf11(ox.parse(data, ox.RdfFormat.TURTLE))


class _InPieces:
    """A store's solutions, which the engine writes in pieces of a size."""

    def __init__(self, found: ox.QuerySolutions, size: int) -> None:
        self._found, self._size = found, size

    def serialize(self, output: ox.QuerySolutions, *, format: ox.QueryResultsFormat) -> None:  # noqa: A002
        data = self._found.serialize(format=format)
        assert data is not None
        for start in range(0, len(data), self._size):
            output.write(data[start : start + self._size])  # type: ignore[attr-defined]


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.none() | TERMS, st.none() | TERMS), max_size=6),
    st.sampled_from([ox.QueryResultsFormat.JSON, ox.QueryResultsFormat.XML, ox.QueryResultsFormat.TSV]),
    st.integers(1, 400),
    st.integers(1, 400),
)
def test_rows_are_those_of_the_engine_with_nodes_for_triple_terms(
    rows: list[tuple[ox.Triple | None, ...]], form: ox.QueryResultsFormat, size: int, block: int
) -> None:
    from graphrag_rdf.rdf import rdf11_rows

    before, rdf11_rows._BLOCK = rdf11_rows._BLOCK, block
    try:
        written = io.BytesIO()
        found = _InPieces(solutions(["a", "b"], rows), size)
        write_rdf11(found, XmlOutput(written), form)  # type: ignore[arg-type]
    finally:
        rdf11_rows._BLOCK = before
    expected = solutions(["a", "b"], [[in_row(term) for term in row] for row in rows]).serialize(format=form)
    assert written.getvalue() == expected
