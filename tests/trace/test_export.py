"""Traces for elsewhere: read again by whoever gets them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from pyoxigraph import Literal, Quad, RdfFormat, Store, Triple, parse

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import PREFIXES, TG, Graphs
from graphrag_rdf.sparql.render import decode
from graphrag_rdf.trace.export import FORMATS, export_trace, to_prov_json, to_prov_n, trace_quads
from graphrag_rdf.trace.page import cited, mark
from graphrag_rdf.trace.recorder import TraceRecorder
from tests.trace.conftest import Sample, make_sample, record

RDF_FORMATS = {"trig": RdfFormat.TRIG, "turtle": RdfFormat.TURTLE, "nquads": RdfFormat.N_QUADS}


@pytest.mark.parametrize("name", RDF_FORMATS)
def test_rdf_is_read_again(sample: Sample, run: TraceRecorder, name: str) -> None:
    text = export_trace(sample.store, sample.blobs, run.session, name)  # type: ignore[arg-type]
    found = set(parse(text, format=RDF_FORMATS[name]))
    quads = trace_quads(sample.store, run.session)
    if name == "turtle":
        assert found == {Quad(quad.subject, quad.predicate, quad.object) for quad in quads}
    else:
        assert found == set(quads)


@pytest.mark.parametrize("name", RDF_FORMATS)
def test_classic_rdf_is_read_by_older_tools(sample: Sample, run: TraceRecorder, name: str) -> None:
    text = export_trace(sample.store, sample.blobs, run.session, name, dialect="classic")  # type: ignore[arg-type]
    found = list(parse(text, format=RDF_FORMATS[name]))
    assert not any(isinstance(quad.object, Triple) for quad in found)
    if name != "turtle":
        assert set(decode(found)) == set(trace_quads(sample.store, run.session))


def test_json_ld_is_the_classic_form_with_the_context(sample: Sample, run: TraceRecorder) -> None:
    text = export_trace(sample.store, sample.blobs, run.session, "jsonld")
    found = list(parse(text, format=RdfFormat.JSON_LD))
    assert set(decode(found)) == set(trace_quads(sample.store, run.session))
    types = [node.get("@type") for graph in json.loads(text)["@graph"] for node in graph["@graph"]]
    assert "Grounding" in str(types)


def test_rdf_star_has_the_brackets_of_its_time(sample: Sample, run: TraceRecorder) -> None:
    text = export_trace(sample.store, sample.blobs, run.session, "turtle", dialect="rdf-star")
    assert "<< <" in text
    assert "<<(" not in text


def test_formats_without_dialects(sample: Sample, run: TraceRecorder) -> None:
    with pytest.raises(UsageError, match="no dialects"):
        export_trace(sample.store, sample.blobs, run.session, "prov-n", dialect="classic")


def test_prov_xml_says_what_prov_json_says(sample: Sample, run: TraceRecorder) -> None:
    root = etree.fromstring(export_trace(sample.store, sample.blobs, run.session, "provx").encode())
    told = json.loads(export_trace(sample.store, sample.blobs, run.session, "prov-json"))
    prov = f"{{{PREFIXES['prov']}}}"
    for kind in ("entity", "activity", "agent"):
        assert {node.get(f"{prov}id") for node in root.findall(f"{prov}{kind}")} == set(told[kind])
    for relation in ("wasGeneratedBy", "wasDerivedFrom", "used"):
        found = [
            [end.get(f"{prov}ref") for end in node if end.get(f"{prov}ref")]
            for node in root.iter(prov + relation)
        ]
        wanted = [
            [value for key, value in body.items() if key not in ("prov:time", "prov:type")]
            for body in told.get(relation, {}).values()
        ]
        assert found == wanted
    assert root.find(f"{prov}activity/{prov}startTime") is not None


def test_both_dialects_export_the_same() -> None:
    """Only the run's own names and times differ, so the sources are equal and the trace has as many quads."""
    ours, theirs = (trace_quads(s.store, record(s).session) for s in map(make_sample, ("rdf12", "classic")))
    sources = [{quad for quad in quads if quad.graph_name == Graphs.SOURCE} for quads in (ours, theirs)]
    assert sources[0] == sources[1]
    assert len(ours) == len(theirs)


def test_a_trace_is_all_that_was_recorded() -> None:
    sample = make_sample("rdf12")
    run = record(sample)
    assert set(trace_quads(sample.store, run.session, with_sources=False)) == set(
        sample.store.quads(Graphs.RETRIEVAL)
    )


def test_from_the_answer_to_the_characters_in_the_file_alone(sample: Sample, run: TraceRecorder) -> None:
    text = export_trace(sample.store, sample.blobs, run.session, "trig")
    store = Store()
    store.load(text.encode(), format=RdfFormat.TRIG)
    prefixes = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in PREFIXES.items())
    rows = store.query(
        prefixes
        + """SELECT ?title ?characters WHERE {
          GRAPH ?t { ?sentence rag:cites ?selection . ?selection rag:supportedBy ?evidence ; tg:edge ?fact }
          GRAPH ?g {
            ?evidence rdf:reifies ?fact ; prov:wasDerivedFrom ?subgraph ;
              tg:sourceCharOffset ?offset ; tg:sourceCharLength ?length .
            ?subgraph prov:wasDerivedFrom ?chunk ; tg:contains ?fact .
            ?chunk tg:content ?text ; dcterms:isPartOf ?document .
            ?document rdfs:label ?title .
          }
          BIND(SUBSTR(?text, ?offset + 1, ?length) AS ?characters)
        }"""
    )
    found = {(row["title"].value, row["characters"].value) for row in rows}  # type: ignore[union-attr]
    assert found == {
        ("A letter", "Ada founded the mill in 1903."),
        ("A letter", "The mill stands in Corvane."),
        ("Report on the mill", "Ada founded the mill."),
    }


def test_turtle_for_people(sample: Sample, run: TraceRecorder) -> None:
    text = export_trace(sample.store, sample.blobs, run.session, "turtle")
    assert "@prefix tg: <https://trustgraph.ai/ns/> ." in text
    assert "tg:edge <<( <http://trustgraph.ai/e/ada>" in text
    assert "schema:" not in text, "only prefixes in use are declared"


def test_other_formats_are_refused(sample: Sample, run: TraceRecorder) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        export_trace(sample.store, sample.blobs, run.session, "docx")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
def test_an_unknown_trace_is_an_error(sample: Sample, name: str) -> None:
    with pytest.raises(UsageError):
        export_trace(sample.store, sample.blobs, "urn:trustgraph:session:0", name)  # type: ignore[arg-type]


# --- PROV ------------------------------------------------------------------------------------------

INNER = r"[\w/@~&+*?#$!]|%[0-9A-F]{2}|\\[=\x27(),\-:;\[\].]"
LOCAL = rf"(?:{INNER})(?:(?:{INNER}|[.\-])*(?:{INNER}|-))?"
NAME = rf"[A-Za-z][\w-]*:(?:{LOCAL})?"
VALUE = rf'(?:"(?:[^"\\\n\r]|\\[tbnrf"\\])*"(?:@[A-Za-z-]+| %% {NAME})?|\x27{NAME}\x27)'
ATTRIBUTES = rf"(?:, \[{NAME}={VALUE}(?:, {NAME}={VALUE})*\])?"
TIME = r"(?:-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"
STATEMENT = re.compile(
    rf"""  (?:prefix\ [A-Za-z][\w-]*\ <[^<>\s]*>
      |(?:entity|agent)\({NAME}{ATTRIBUTES}\)
      |activity\({NAME},\ {TIME},\ {TIME}{ATTRIBUTES}\)
      |(?:wasGeneratedBy|used|wasAssociatedWith)\({NAME},\ {NAME},\ {TIME}{ATTRIBUTES}\)
      |(?:wasDerivedFrom|wasAttributedTo|wasInformedBy|wasInfluencedBy)\({NAME},\ {NAME}{ATTRIBUTES}\)
      |(?:specializationOf|hadMember)\({NAME},\ {NAME}\))\Z""".replace("\n      |", "|")
)


def check_grammar(text: str) -> None:
    """Every line is a statement of PROV-N (https://www.w3.org/TR/prov-n/#prov-n-grammar)."""
    first, *lines, last = text.rstrip("\n").split("\n")
    assert (first, last) == ("document", "endDocument")
    for line in lines:
        assert STATEMENT.match(line), line


def test_prov_n(sample: Sample, run: TraceRecorder) -> None:
    text = export_trace(sample.store, sample.blobs, run.session, "prov-n")
    check_grammar(text)
    run_name = run.run
    for line in (
        rf"wasDerivedFrom(run:prov\:focus\:{run_name}, run:prov\:exploration\:{run_name})",
        rf"hadMember(run:prov\:focus\:{run_name}, run:prov\:edge\:{run_name}\:0)",
        rf"wasDerivedFrom(run:prov\:sentence\:{run_name}\:0, run:prov\:edge\:{run_name}\:0, "
        "[prov:type='rag:cites'])",
        "agent(agent:rules, [prov:type='prov:Agent', prov:type='prov:SoftwareAgent', prov:label=\"rules\"",
    ):
        assert f"  {line}" in text
    assert re.search(rf"wasGeneratedBy\(run:question\\:{run_name}, run:session\\:{run_name}, 20", text)
    assert re.search(rf"activity\(run:session\\:{run_name}, 20[^,]+Z, 20[^,]+Z, ", text)
    assert re.search(r"used\(activity:[^,]+, chunk:[^,]+, -\)", text)
    assert re.search(r"wasAssociatedWith\(activity:[^,]+, agent:rules, -\)", text)


@given(st.text(), st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1))
def test_prov_n_escapes_whatever_it_is_given(value: str, local: str) -> None:
    try:
        quad = Quad(TG[local], TG.content, Literal(value))
    except ValueError:
        return
    if "%" in local:
        return
    check_grammar(to_prov_n([quad]))


def test_prov_json(sample: Sample, run: TraceRecorder) -> None:
    found = json.loads(export_trace(sample.store, sample.blobs, run.session, "prov-json"))
    session = f"run:session:{run.run}"
    assert found["activity"][session]["prov:startTime"].endswith("Z")
    assert {"$": "rag:Session", "type": "prov:QUALIFIED_NAME"} in found["activity"][session]["prov:type"]
    assert "agent:rules" in found["agent"]
    focus, exploration = (f"run:prov:{step}:{run.run}" for step in ("focus", "exploration"))
    assert {"prov:generatedEntity": focus, "prov:usedEntity": exploration} in found["wasDerivedFrom"].values()
    things = {name for kind in ("entity", "activity", "agent") for name in found[kind]}
    relations = [
        r
        for kind in found
        if kind not in ("prefix", "entity", "activity", "agent")
        for r in found[kind].values()
    ]
    ends = {
        value
        for relation in relations
        for key, value in relation.items()
        if key not in ("prov:type", "prov:time")
    }
    assert ends <= things, "what is related is described"
    assert {name.split(":")[0] for name in things} <= found["prefix"].keys()


def test_prov_of_nothing_is_a_document() -> None:
    assert to_prov_n([]).startswith("document\n")
    assert json.loads(to_prov_json([])).keys() == {"prefix"}


# --- the page --------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page is made of."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.marked: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "mark":
            self.marked.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "mark" in self.open and "sup" not in self.open:
            self.marked[-1] += data


def test_the_page(sample: Sample, run: TraceRecorder) -> None:
    page = Page(export_trace(sample.store, sample.blobs, run.session, "html"))
    assert set(page.marked) == {
        "Ada founded the mill in 1903.",
        "The mill stands in Corvane.",
        "Ada founded the mill.",
    }
    assert "Who founded the mill?" in page.text
    assert "It names the founder." in page.text
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "img", "iframe", "object", "form")
        assert not any(name.startswith("on") for name in attributes)
        href = attributes.get("href")
        assert href is None or (href[0] == "#" and href[1:] in ids)


def test_everything_on_the_page_is_escaped(sample: Sample) -> None:
    hostile = "<script>alert(1)</script>\"'&\u202e\x1b[2J{{ 7*7 }}"
    run = record(sample, hostile, reasoning=hostile, answer=f"{hostile} [1] {hostile} [2]")
    page = export_trace(sample.store, sample.blobs, run.session, "html")
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "{{ 7*7 }}" in Page(page).text


def test_only_web_addresses_are_links(sample: Sample, run: TraceRecorder) -> None:
    for location, linked in (("javascript:alert(1)", False), ("https://example.org/a", True)):
        old = [
            q
            for q in sample.store.quads(Graphs.SOURCE)
            if q.subject == sample.letter and "location" in str(q.predicate)
        ]
        sample.edit(
            remove=old, add=[Quad(old[0].subject, old[0].predicate, Literal(location), Graphs.SOURCE)]
        )
        page = Page(export_trace(sample.store, sample.blobs, run.session, "html"))
        assert (location in [attributes.get("href") for _, attributes in page.tags]) == linked
        assert location in page.text


@given(
    st.text(max_size=30),
    st.lists(st.tuples(st.integers(-5, 40), st.integers(-2, 40), st.none() | st.integers(1, 3)), max_size=6),
)
def test_marks_cover_what_they_mark_and_lose_nothing(
    text: str, spans: list[tuple[int, int, int | None]]
) -> None:
    pieces = mark(text, spans)
    assert "".join(piece.text for piece in pieces) == text
    position = 0
    for piece in pieces:
        for index in range(position, position + len(piece.text)):
            over = [number for start, length, number in spans if 0 <= start <= index < start + length]
            assert piece.marked == bool(over)
            assert set(piece.markers) == {number for number in over if number is not None}
        position += len(piece.text)


@given(st.text("a[1]20 ", max_size=30), st.sets(st.integers(0, 21), max_size=5))
def test_citations_are_cut_out_and_nothing_is_lost(answer: str, markers: set[int]) -> None:
    pieces = cited(answer, markers)
    assert "".join(text for text, _ in pieces) == answer
    assert {number for _, number in pieces} <= markers | {None}


def test_a_citation_leads_to_its_evidence(sample: Sample, run: TraceRecorder) -> None:
    page = Page(export_trace(sample.store, sample.blobs, run.session, "html"))
    hrefs = [attributes.get("href") for _, attributes in page.tags]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert "#cite-1" in hrefs
    assert ids.count("cite-1") == 1
