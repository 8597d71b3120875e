"""Facts against SHACL shapes of the user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.checks.shapes import Offence, validate_facts
from graphrag_rdf.config import Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.resolutions import Merge
from tests.support.stores import open_engine

PREFIXES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix r: <http://trustgraph.ai/r/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
TEXT = "Walter Pennock founded the Tarnay Electric Light Company. Walter Pennock lived in Port Merrin."
E = "http://trustgraph.ai/e/"
FOUNDERS = f"""{PREFIXES}
<urn:founders> a sh:NodeShape ; sh:targetSubjectsOf r:founded ;
  sh:property <urn:founded> .
<urn:founded> sh:path r:founded ; sh:class <urn:Bank> ; sh:message "only banks are founded" .
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    pytest.importorskip("pyshacl")
    (tmp_path / "pennock.txt").write_text(TEXT)
    with open_engine(tmp_path / "store", config=Settings()) as engine:
        engine.ingest([tmp_path / "pennock.txt"])
        yield engine


def offences(engine: Engine, folder: Path, shapes: str) -> list[Offence]:
    (folder / "shapes.ttl").write_text(shapes)
    return validate_facts(engine.store, [folder / "shapes.ttl"])


def test_a_result_leads_to_the_quotes_of_its_fact(engine: Engine, tmp_path: Path) -> None:
    (found,) = offences(engine, tmp_path, FOUNDERS)
    assert found.severity == "Violation"
    assert found.focus == NamedNode(f"{E}walter-pennock")
    assert (found.focus_label, found.path_label) == ("Walter Pennock", "founded")
    assert found.value_label == "Tarnay Electric Light Company"
    assert (found.message, found.component) == ("only banks are founded", "ClassConstraintComponent")
    assert found.shape == NamedNode("urn:founded")
    (source,) = found.sources
    assert source.source.words == "Walter Pennock founded the Tarnay Electric Light Company."


def test_facts_that_conform_and_missing_values(engine: Engine, tmp_path: Path) -> None:
    assert offences(engine, tmp_path, FOUNDERS.replace("sh:class <urn:Bank>", "sh:nodeKind sh:IRI")) == []
    wanted = FOUNDERS.replace(
        "r:founded ; sh:class <urn:Bank>", "r:born ; sh:severity sh:Warning ; sh:minCount 1"
    )
    (found,) = offences(engine, tmp_path, wanted)
    assert (found.severity, found.value, found.sources) == ("Warning", None, ())


def test_too_many_values_lead_to_the_quotes_of_each_in_the_documents_of_today(
    engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "pennock.txt"
    file.write_text(f"{TEXT} Walter Pennock lived in Skell.")
    engine.ingest([file])
    file.write_text(f"{TEXT} Walter Pennock lived in Skell. Mary Hale lived in Tarn.")
    engine.ingest([file])
    homes = f"""{PREFIXES} <urn:s> a sh:NodeShape ; sh:targetSubjectsOf r:lived-in ;
      sh:property [ sh:path r:lived-in ; sh:maxCount 1 ] ."""
    (found,) = offences(engine, tmp_path, homes)
    assert found.value is None
    assert [each.source.words for each in found.sources] == [
        "Walter Pennock lived in Port Merrin.",
        "Walter Pennock lived in Skell.",
    ]


def test_literals_are_given_as_terms(engine: Engine, tmp_path: Path) -> None:
    short = f"""{PREFIXES} <urn:s> a sh:NodeShape ; sh:targetNode <{E}port-merrin> ;
      sh:property [ sh:path rdfs:label ; sh:maxLength 3 ] ."""
    (found,) = offences(engine, tmp_path, short)
    assert (found.value, found.value_label) == (Literal("Port Merrin", language="en"), "Port Merrin")
    assert found.shape == NamedNode("urn:s"), "the shape without a name is part of it"


def test_statements_about_documents_have_no_sources(engine: Engine, tmp_path: Path) -> None:
    closed = f"{PREFIXES} <urn:s> a sh:NodeShape ; sh:targetSubjectsOf rdfs:label ; sh:closed true ."
    found = offences(engine, tmp_path, closed)
    titles = [each for each in found if str(each.path).endswith("elements/1.1/title>")]
    assert [(each.focus_label, each.sources) for each in titles] == [("Pennock", ())]
    (founded,) = (each for each in found if each.path == NamedNode("http://trustgraph.ai/r/founded"))
    assert [each.source.words for each in founded.sources] == [TEXT.partition(". ")[0] + "."]


def test_merged_entities_are_one(engine: Engine, tmp_path: Path) -> None:
    both = f"""{PREFIXES} <urn:s> a sh:NodeShape ; sh:targetSubjectsOf r:founded ;
      sh:property [ sh:path r:lived-in ; sh:minCount 1 ] ."""
    (tmp_path / "other.txt").write_text("Pennock of Tarnay founded the Lantern Society.")
    engine.ingest([tmp_path / "other.txt"])
    assert [found.focus_label for found in offences(engine, tmp_path, both)] == ["Pennock of Tarnay"]
    walter = NamedNode(f"{E}walter-pennock")
    merge(engine, [Merge(walter, (walter, NamedNode(f"{E}pennock-of-tarnay")))])
    assert offences(engine, tmp_path, both) == []


NO_PATH = f"{PREFIXES} <urn:s> a sh:NodeShape ; sh:targetNode 1 ; sh:property [ sh:minCount 1 ] ."

NO_REGEX = f"""{PREFIXES} <urn:s> a sh:NodeShape ; sh:targetSubjectsOf r:founded ;
  sh:property [ sh:path r:founded ; sh:pattern "(" ] ."""
NO_QUERY = f"""{PREFIXES} <urn:s> a sh:NodeShape ; sh:targetSubjectsOf r:founded ;
  sh:sparql [ sh:select "SELECT $this {{" ] ."""


@pytest.mark.parametrize("shapes", ["no turtle", NO_PATH, NO_REGEX, NO_QUERY])
def test_malformed_shapes_are_refused(engine: Engine, tmp_path: Path, shapes: str) -> None:
    with pytest.raises(UsageError, match="shapes"):
        offences(engine, tmp_path, shapes)


def test_missing_files_are_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        validate_facts(engine.store, [tmp_path / "none.ttl"])
