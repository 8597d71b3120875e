"""`cookbook/contradictions` on documents that differ: amounts of tables and prose, holders of an office."""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.sparql.render import with_prefixes
from tests.support.commands import environment, program
from tests.support.endpoint import Endpoint

DOCUMENTS = {
    "report.md": """# Venn Works: annual report

| Item ($ million) | 2022 | 2023 |
|---|---|---|
| Revenue | 3,910 | 4,120 |
| Operating income | 410 | 455 |
""",
    "firms.csv": """firm,revenue 2023 ($ million),employees,chief executive
Venn Works,4120,8400,Ada Venn
Karr Mills,310,900,Bo Karr
""",
    "letter.md": """# A letter to the owners

Venn Works had revenue of $4.2 billion in 2023. Venn Works had operating income of $455 million in 2023.
Karr Mills had revenue of $311 million in 2023. Venn Works had revenue of $3.9 billion in 2022.
Karr Mills has 1,100 employees. Venn Works had revenue of €1.1 billion in 2023.
Cy Dorn was mayor of Kelm from 2001 to 2008. Dee Ashe was mayor of Kelm from May 2008 to 2012.
Ada Lind was guardian of Kelm. Bo Karr was the president of Orrin. Di Rook was the president of Orrin.
""",
    "chronicle.md": """# The chronicle of Kelm

Flo Gant was the mayor of Kelm from 2005 to 2010. Gus Hale is the chief executive of Venn Works.
Hal Venn is guardian of Kelm. Ada Venn was mayor of Orrin.
""",
    # changes over time: a later document ends what an earlier one began, or tells what came after that
    "register.md": """Ina Crane has been governor of Skell since 2001.
Bo Lund was governor of Skell from 2004 to 2009.
""",
    "2009-03-01 news.md": "Ina Crane was governor of Skell until 2004. The capital of Skell is Harn.\n",
    "atlas.md": "The capital of Skell is Tarn since 2012.\n",
    "almanac.md": """Ivo Strand has been chair of Fenwick Trust since 1990.
Una Moss has been chair of Fenwick Trust since 2002.
""",
    "chronik.md": """Anna Berg ist seit 2004 Rektorin der Hochschule Tarnay.
Jan Kolb war von 2010 bis 2014 Bürgermeister von Orrin.
""",
    "bericht.md": """Anna Berg war bis 2013 Rektorin der Hochschule Tarnay.
Carl Hook ist seit 2013 Rektor der Hochschule Tarnay.
Ilse Thal war von 2012 bis 2016 Bürgermeisterin von Orrin.
""",
    "年报.md": "李明从2012年到2018年担任潮东船舶公司的董事长。陈静自2019年起任潮东市市长。\n",
    "年鉴.md": """王伟自2018年起担任潮东船舶公司的董事长。
王芳从2010年到2020年任潮东市市长。李明曾是潮东市的市长。
""",
}
MAYOR = ("Kelm", "mayor of", "Cy Dorn (2001–2008)", "Flo Gant (2005–2010)")
NEXT_MAYOR = ("Kelm", "mayor of", "Dee Ashe (2008-05–2012)", "Flo Gant (2005–2010)")
GERMAN = ("Orrin", "bürgermeister von", "Ilse Thal (2012–2016)", "Jan Kolb (2010–2014)")
CHINESE = ("潮东市", "是…的市长", "王芳 (2010–2020)", "陈静 (2019–)")
CHIEF = ("Venn Works", "chief executive of", "Ada Venn", "Gus Hale")
REVENUE = ("Venn Works", "revenue 2023", "4120 $ million", "revenue of $4.2 billion")
EMPLOYEES = ("Karr Mills", "employees", "900", "1,100 employees")
FOUND = [EMPLOYEES, MAYOR, NEXT_MAYOR, GERMAN, CHIEF, REVENUE, REVENUE, CHINESE]
"""The revenue is in two tables."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("contradictions")
    documents = place / "documents"
    documents.mkdir()
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text, "utf-8")
    with Engine.open(config=Settings(store=str(place / "store"))) as engine:
        engine.ingest([documents])
    return place / "store"


@pytest.fixture(scope="module")
def engine(store: Path) -> Iterator[Engine]:
    with Engine.open(config=Settings(store=str(store)), read_only=True) as engine:
        yield engine


def found(engine: Engine, **values: Any) -> list[tuple[str, ...]]:
    rows = engine.store.select("cookbook/contradictions", **values)
    return [tuple(text_of(row[c]) for c in ("subject", "relation", "value", "other_value")) for row in rows]


def test_amounts_and_holders_that_differ_are_found_and_no_others(engine: Engine) -> None:
    assert found(engine) == FOUND


def test_the_tolerance_says_how_far_amounts_may_differ(engine: Engine) -> None:
    assert REVENUE not in found(engine, tolerance=0.02)
    assert ("Karr Mills", "revenue 2023", "310 $ million", "revenue of $311 million") in found(
        engine, tolerance=0.001
    )


def test_the_offices_can_be_named(engine: Engine) -> None:
    offices = found(engine, offices=["guardian of"])
    assert ("Kelm", "guardian of", "Ada Lind", "Hal Venn") in offices
    assert MAYOR not in offices


def test_a_relation_that_an_ontology_calls_functional_is_an_office(store: Path) -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest([store.parent / "documents"])
        engine.store.update(
            "INSERT DATA { <http://trustgraph.ai/r/guardian-of> a "
            "<http://www.w3.org/2002/07/owl#InverseFunctionalProperty> }"
        )
        assert ("Kelm", "guardian of", "Ada Lind", "Hal Venn") in found(engine)


def test_the_command_and_the_server_give_the_same(store: Path) -> None:
    command = program("queries", "run", "cookbook/contradictions", "--store", store, "--format", "csv")
    asked = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    rows = list(csv.DictReader(io.StringIO(asked.stdout)))
    assert [(r["subject"], r["relation"], r["value"], r["other_value"]) for r in rows] == FOUND
    with Endpoint.start(store) as server, server.client() as client:
        shown = client.get("/queries/cookbook/contradictions", headers={"Accept": "application/json"}).json()
        answer = client.post("/sparql", data={"query": shown["sample"]}, headers={"Accept": "text/csv"})
        assert list(csv.DictReader(io.StringIO(answer.text))) == rows


@pytest.mark.parametrize(
    ("first", "second", "contradict"),
    [
        ({}, {}, True),
        ({"at": "2009"}, {"at": "2015"}, False),
        ({"at": "2009"}, {"at": "2009-05"}, True),
        ({"since": "2001", "until": "2008"}, {"since": "2008"}, False),
        ({"since": "2001", "until": "2008"}, {"since": "2005"}, True),
        ({"since": "2001"}, {"since": "2005"}, False),
        ({"since": "2001"}, {"since": "2001", "until": "2003"}, True),
        ({"at": "2015"}, {}, True),
    ],
)
def test_values_contradict_if_they_are_of_one_time(
    first: dict[str, str], second: dict[str, str], contradict: bool
) -> None:
    """Without dates, of one time, or of periods that overlap; else the value changed."""
    with Engine.open(":memory:") as engine:
        for number, dates in enumerate((first, second)):
            engine.store.update(stated(number, 45 + number, dates))
        assert len(found(engine)) == contradict
        assert bool(engine.store.select("conflicts/documents", entities=[], limit=9)) == contradict


def stated(number: int, value: int, dates: dict[str, str]) -> str:
    """An update that adds the fact that the tower is so high, as a document of its own states it."""
    height = f"<urn:tower> <urn:height> {value}"
    held = " ".join(
        f'; rag:{name} "{day}"^^<http://www.w3.org/2001/XMLSchema#gYear>' for name, day in dates.items()
    )
    return with_prefixes(f"""INSERT DATA {{
        {height} . <urn:tower> rdfs:label "Lamp Tower" .
        GRAPH <urn:graph:derived> {{ <urn:tower> rag:canonicalEntity <urn:tower> }}
        GRAPH <urn:graph:source> {{
            <urn:e{number}> rdf:reifies <<( {height} )>> ; prov:wasDerivedFrom <urn:s{number}> {held} .
            <urn:s{number}> tg:contains <<( {height} )>> ; prov:wasDerivedFrom <urn:c{number}> .
            <urn:c{number}> a tg:Chunk ; dcterms:isPartOf <urn:d{number}> .
            <urn:d{number}> rdfs:label "Document {number}" .
        }} }}""")
