"""Commands that write are killed anywhere and run again: the store is that of a run that was left alone."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat, Triple, parse, serialize

from tests.support import killed
from tests.support.commands import COMPANY, HARBOUR, places
from tests.support.killed import contents

pytestmark = pytest.mark.embedded

MORE = """Drumlaw Head Lighthouse was designed by Andrew Orr.
The Tarnay Electric Light Company was founded by Walter Pennock.
WALTER PENNOCK met Andrew Orr. Walter Penock lives in Arnhythe. Mercury is the planet closest to the Sun.
Astronomers observed the orbit of Mercury with telescopes.
"""
SECRET = "Zebedee Quillfeather met Andrew Orr in Arnhythe. Zebedee Quillfeather founded the Vermilion Club.\n"
PLACES = """@prefix : <http://example.org/places#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/places> a owl:Ontology .
:planet a skos:Concept ; skos:prefLabel "Mercury"@en , "Merkur"@de ;
  skos:definition "The smallest planet, in the orbit nearest to the Sun."@en .
"""
SHIPS = """@prefix : <http://example.org/ships#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/ships> a owl:Ontology .
:Ship a owl:Class ; rdfs:label "ship"@en .
"""
FOREIGN = """@prefix e: <http://trustgraph.ai/e/> . @prefix r: <http://trustgraph.ai/r/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:andrew-orr r:taught e:nell-kirk . e:nell-kirk rdfs:label "Nell Kirk" .
"""


@dataclass(frozen=True, slots=True)
class Written:
    """A command that writes.

    Attributes:
        often: in each test run; the others in the slow one.
        absent: words that no file holds afterwards.
    """

    arguments: str
    often: bool = False
    absent: tuple[str, ...] = ()


COMMANDS = (
    Written("forget docs/secret.txt", often=True, absent=("Quillfeather", "docs/secret.txt")),
    Written("relations normalise --apply --min-score 0.5", often=True),
    Written("relations merge founded designed"),
    Written("relations inverse founded was_founded_by"),
    Written("ontology apply ships2.ttl", often=True),
    Written("ontology apply edited.ttl"),
    Written("ontology load ships2.ttl"),
    Written("ontology remove http://example.org/places"),
    Written("entities link --apply", often=True),
    Written("entities normalise --apply --min-score 0.5", often=True),
    Written("entities merge Walter_Pennock Walter_Penock"),
    Written("entities split Andrew_Orr"),
    Written("facts remove Andrew_Orr designed Drumlaw_Head_Lighthouse", often=True),
    Written("facts correct Andrew_Orr designed Drumlaw_Head_Lighthouse --object Arnhythe"),
    Written("import foreign.ttl", often=True),
    Written("ingest docs --sync", often=True),
    Written("trace prune --keep 1", often=True),
    Written("communities build", often=True),
    Written("refresh relations"),
    Written("refresh mentions", often=True),
    Written("refresh facts"),
    Written("refresh names"),
    Written("refresh schema"),
    Written("refresh summaries"),
    Written("refresh inferences"),
    Written("source authority docs/company.txt 0.5"),
    Written("config set graph_rag.exploration.passage_words 0.5"),
    Written("index rebuild"),
)
SETTINGS = ("graph_rag.exploration.passage_words",)


Contents = tuple[set[str], set[str], list[str]]


@dataclass(slots=True)
class Place:
    """The one folder in which all commands run, as stores hold paths of documents.

    Attributes:
        seconds: that each command takes when it is left alone.
        wanted: what the store holds then.
    """

    work: Path
    base: Path
    seconds: dict[Written, float] = field(default_factory=dict)
    wanted: dict[Written, Contents] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        """The store."""
        return self.work / "graphrag-store"

    def begin(self, command: Written) -> None:
        """Begin anew; before an ingest, one file changes and one goes."""
        shutil.rmtree(self.work)
        shutil.copytree(self.base, self.work)
        if command.arguments.startswith("ingest"):
            (self.work / "docs" / "company.txt").write_text(COMPANY + MORE, encoding="utf-8")
            (self.work / "docs" / "secret.txt").unlink()

    def leave_alone(self, command: Written) -> None:
        """Run a command, unless that was done before."""
        if command in self.seconds:
            return
        self.begin(command)
        ended = run(self.work, command.arguments)
        assert ended.code == 0, ended.told
        assert ended.seconds is not None
        self.seconds[command], self.wanted[command] = ended.seconds, contents(self.store)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A store that has a bit of everything, and the files that the commands name."""
    folder = tmp_path_factory.mktemp("killed") / "work"
    docs = folder / "docs"
    docs.mkdir(parents=True)
    for name, text in (
        ("harbour.md", HARBOUR),
        ("company.txt", COMPANY),
        ("more.txt", MORE),
        ("secret.txt", SECRET),
        ("../places.ttl", PLACES),
        ("../ships.ttl", SHIPS),
        ("../ships2.ttl", SHIPS + ':Boat a owl:Class ; rdfs:label "boat"@en .\n'),
        ("../foreign.ttl", FOREIGN),
    ):
        (docs / name).write_text(text, encoding="utf-8")
    for arguments in (
        "ingest docs",
        "ontology load places.ttl ships.ttl",
        "entities merge Andrew_Orr Port_Merrin",
        "ask Who_designed_Drumlaw_Head_Lighthouse?",
        "ask Whom_did_Zebedee_Quillfeather_meet?",
        "ask Where_did_Walter_Pennock_live?",
        "ontology export owl",
    ):
        ended = run(folder, arguments)
        assert ended.code == 0, ended.told
    with (folder / "owl" / "facts.ttl").open("rb") as file:
        triples = [quad.triple for quad in parse(file, RdfFormat.TURTLE)]
    lived = [triple for triple in triples if triple.predicate.value.endswith("/r/lived-in")]
    assert lived
    moved = Triple(lived[0].subject, lived[0].predicate, NamedNode("http://trustgraph.ai/e/arnhythe"))
    edited = [moved if triple == lived[0] else triple for triple in triples]
    serialize(edited, folder / "edited.ttl", RdfFormat.TURTLE)
    base = folder.with_name("base")
    shutil.copytree(folder, base)
    return Place(folder, base)


def run(folder: Path, arguments: str, kill_after: float | None = None) -> killed.Ended:
    """Run a command; in its words, `_` stands for a space."""
    words = arguments.split()
    return killed.run(
        folder,
        *(word if word in SETTINGS else word.replace("_", " ") for word in words),
        kill_after=kill_after,
    )


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.often], ids=lambda c: c.arguments)
def test_a_killed_command_is_finished_by_the_next(place: Place, command: Written) -> None:
    assert_repeated(place, command, random.Random(command.arguments), times=1)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.arguments)
def test_a_command_may_be_killed_anywhere(place: Place, command: Written) -> None:
    assert_repeated(place, command, random.Random(), times=10)


def assert_repeated(place: Place, command: Written, chance: random.Random, times: int) -> None:
    """Kill the command, run it again, and compare with the run that was left alone."""
    place.leave_alone(command)
    for _ in range(times):
        share = chance.uniform(0.1, 1)
        place.begin(command)
        run(place.work, command.arguments, kill_after=share * place.seconds[command])
        again = run(place.work, command.arguments)
        where = f"killed after {share:.0%} of {place.seconds[command]:.2f} s; then: {again.told[-500:]}"
        assert again.code in (0, 2), where  # 2: it was done, and only its process had not ended
        for there, those in zip(contents(place.store), place.wanted[command], strict=True):
            assert sorted(set(there) - set(those))[:5] == [], where
            assert sorted(set(those) - set(there))[:5] == [], where
        checked = run(place.work, "check")
        assert checked.told.startswith("no errors, no warnings\n"), f"{checked.told}\n{where}"
        for words in command.absent:
            assert places(place.store, words) == [], where


@pytest.mark.parametrize("share", [0.6, 0.8])
def test_a_killed_question_is_ended_by_the_next_run(place: Place, share: float) -> None:
    """Its trace has an end, and no outcome."""
    command = Written("ask Who_founded_the_Vermilion_Club?")
    place.leave_alone(command)
    place.begin(command)
    run(place.work, command.arguments, kill_after=share * place.seconds[command])
    checked = run(place.work, "check")
    assert checked.told.startswith("no errors, no warnings\n"), checked.told
