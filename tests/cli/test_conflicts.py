"""`facts conflicts`: two values where one is expected, other dates in other documents, disjoint types."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

RULES = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://example.org/rules> a owl:Ontology .
<http://trustgraph.ai/r/was-born-in> a owl:ObjectProperty, owl:FunctionalProperty .
<http://trustgraph.ai/r/founded-in-value> a owl:DatatypeProperty, owl:FunctionalProperty .
<urn:t:Ship> a owl:Class ; owl:disjointWith <urn:t:Person> .
<urn:t:Steamer> a owl:Class ; <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:t:Ship> .
<urn:t:Person> a owl:Class .
"""
OTHER = "Andrew Orr was born in Tarnay. He was an engineer.\n"


@pytest.fixture
def rules(folder: Path) -> Path:
    (folder / "rules.ttl").write_text(RULES)
    return folder / "rules.ttl"


def test_two_birthplaces(run: Run, store: Path, rules: Path, folder: Path) -> None:
    assert run("facts", "conflicts").out == "no conflicts\n"
    (folder / "other.md").write_text(OTHER)
    run("ingest", "other.md", "--model", "none")
    run("ontology", "load", rules)
    [found] = run("facts", "conflicts", "--format", "json").json
    assert (found["rule"], found["subject_label"], found["relation_label"]) == (
        *("functional", "Andrew Orr"),
        "was born in",
    )
    sides = {side["o_label"]: side["sources"] for side in found["facts"]}
    assert set(sides) == {"Arnhythe", "Tarnay"}
    assert [source["quote"] for source in sides["Tarnay"]] == ["Andrew Orr was born in Tarnay."]
    assert all(
        source["title"] and source["char_offset"] is not None for each in sides.values() for source in each
    )
    shown = run("facts", "conflicts", "--about", "Andrew Orr").out
    assert "Andrew Orr · was born in\n" in shown
    assert "“Andrew Orr was born in Tarnay.” (" in shown
    assert run("facts", "conflicts", "--about", "Tarnay").out == "no conflicts\n"
    run("facts", "remove", "Andrew Orr", "was born in", "Tarnay")
    assert run("facts", "conflicts").out == "no conflicts\n"


def test_merged_values_do_not_contradict(run: Run, store: Path, rules: Path, folder: Path) -> None:
    (folder / "other.md").write_text(OTHER)
    run("ingest", "other.md", "--model", "none")
    run("ontology", "load", rules)
    run("entities", "merge", "Arnhythe", "Tarnay")
    assert run("facts", "conflicts").out == "no conflicts\n"


def test_dates_of_two_documents(run: Run, store: Path, folder: Path) -> None:
    """Nothing is declared; another relation, or the same date, does not contradict."""
    (folder / "one.md").write_text(
        "The Merlin sank on 14 November 1911. The Merlin was built on 3 May 1900.\n"
    )
    (folder / "two.md").write_text(
        "The Merlin sank on 17 November 1911. The Merlin was built on 3 May 1900.\n"
    )
    run("ingest", "one.md", "two.md", "--model", "none")
    [found] = run("facts", "conflicts", "--about", "Merlin", "--format", "json").json
    assert (found["rule"], found["relation_label"]) == ("documents", "sank on")
    assert [fact["o"] for fact in found["facts"]] == ["1911-11-14", "1911-11-17"]
    assert [len(fact["sources"]) for fact in found["facts"]] == [1, 1]


FACTS = "\n".join(f'<urn:e:{n}> <urn:p:born> "190{n}-01-01" .' for n in range(9))
BORN = "<urn:p:born> a <http://www.w3.org/2002/07/owl#FunctionalProperty> ."


@pytest.mark.parametrize(
    ("more", "rules_found"),
    [
        ('<urn:e:0> <urn:p:born> "1950" .', ["functional"]),
        ('<urn:e:0> <urn:p:born> "1900" .', []),
        ("<urn:e:0> a <urn:t:Steamer>, <urn:t:Person> .", ["types"]),
        ("<urn:e:0> a <urn:t:Steamer>, <urn:t:Ship> .", []),
    ],
)
def test_rules(more: str, rules_found: list[str], run: Run, rules: Path, folder: Path) -> None:
    """A functional relation, a year and its date, disjoint types by superclasses."""
    (folder / "facts.ttl").write_text(f"{FACTS}\n{more}\n")
    rules.write_text(f"{RULES}{BORN}\n")
    run("import", "facts.ttl")
    run("ontology", "load", rules)
    found = run("facts", "conflicts", "--format", "json").json
    assert [each["rule"] for each in found] == rules_found


def test_names_of_merged_entities_do_not_contradict(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("# A\n\nMary Hale works at Corvane Yard. The Gannet sank in Skell Sound.\n")
    (folder / "b.md").write_text("# B\n\nMary H. Hale lived in Tarn. The Gannet was built in Tarnay.\n")
    assert run("--store", "two", "ingest", "a.md", "b.md", "--model", "none").code == 0
    assert run("--store", "two", "entities", "merge", "Mary H. Hale", "Mary Hale").code == 0
    assert run("--store", "two", "facts", "conflicts").out == "no conflicts\n"
    assert (
        run("--store", "two", "queries", "run", "cookbook/contradictions", "--format", "csv").out.count("\n")
        == 1
    )
