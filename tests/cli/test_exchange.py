"""`export` and `import`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest
from pyoxigraph import Quad

from graphrag_rdf import Engine
from graphrag_rdf.exchange import import_file
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.commands import Run, environment, program

QUESTION = "Who designed Drumlaw Head Lighthouse?"
TURTLE = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:mona rdfs:label "Mona Kell" ; :founded :society . :society rdfs:label "Lantern Society" .
"""


@pytest.mark.parametrize("form", ["trig", "nquads", "jsonld"])
def test_dump_and_restore(run: Run, store: Path, form: str) -> None:
    run("ask", QUESTION)
    dump = f"dump.{'nq' if form == 'nquads' else form}"
    found = run("export", "-o", dump, "--counts")
    assert found.code == 0
    assert found.json["quads"] > 100
    restored = run("import", dump, "--store", "restored", "--format", "json")
    assert restored.code == 0, restored.err
    assert restored.json["kind"] == "restored"
    assert "A dump holds no blobs" in restored.err
    assert "Andrew Orr" in run("ask", QUESTION, "--store", "restored").out
    assert run("import", dump).code == 2


def test_a_check_of_a_restored_store_is_short(run: Run, store: Path) -> None:
    run("ask", QUESTION)
    run("export", "-o", "dump.trig")
    run("import", "dump.trig", "--store", "restored")
    found = run("check", "--store", "restored", "--format", "json").json
    assert {(one["check"], one["severity"]) for one in found} == {("object-missing", "warning")}
    assert len(found) > 20
    shown = run("check", "--store", "restored")
    assert shown.code == 0
    assert shown.out.count("object-missing  ") == 3
    text = " ".join(shown.out.split())
    assert f"and {len(found) - 3} more of object-missing; --format json lists all" in text
    assert "those of traces come only from a backup" in text
    assert text.endswith(f"0 errors, {len(found)} warnings")


@pytest.mark.parametrize("form", ["trig", "nquads", "turtle", "ntriples", "rdfxml", "jsonld", "graphml"])
def test_formats(run: Run, store: Path, form: str) -> None:
    found = run("export", "--format", form)
    assert found.code == 0, found.err
    assert "Andrew Orr" in found.out
    assert "wrote" in found.err


def test_one_graph(run: Run, store: Path) -> None:
    found = run("export", "--graph", "urn:graph:derived", "--format", "ntriples")
    count = "SELECT (COUNT(*) AS ?n) { GRAPH <urn:graph:derived> { ?s ?p ?o } }"
    assert len(found.out.splitlines()) == int(run("sparql", count, "--format", "csv").out.split()[-1]) > 0
    assert "ns#canonicalEntity" in found.out
    assert "ns#quote" not in found.out


def test_facts_of_others(run: Run, folder: Path) -> None:
    (folder / "people.ttl").write_text(TURTLE)
    found = run("import", "people.ttl", "--format", "json")
    assert found.code == 0, found.err
    assert found.json | {"file": "people.ttl", "kind": "imported", "facts": 1} == found.json
    assert run("import", "people.ttl").out.startswith("people.ttl: unchanged")
    names = [entity["name"] for entity in run("entities", "list", "--format", "json").json]
    assert sorted(names) == ["Lantern Society", "Mona Kell"]
    assert run("check").code == 0


def test_an_import_that_was_stopped_is_finished_by_the_next(
    run: Run, store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever part of a dump the engine has written; the store's own records stay."""
    run("ask", QUESTION)
    run("export", "-o", "dump.trig")
    load = EmbeddedStore.bulk_add

    def stopped(self: EmbeddedStore, quads: Iterable[Quad]) -> int:
        load(self, islice(quads, 200))
        raise KeyboardInterrupt

    monkeypatch.setattr(EmbeddedStore, "bulk_add", stopped)
    with pytest.raises(KeyboardInterrupt), Engine.open(str(folder / "part")) as engine:
        import_file(engine, "dump.trig")
    monkeypatch.setattr(EmbeddedStore, "bulk_add", load)
    part = ("--store", folder / "part")
    checked = run(*part, "check")
    assert "restores-finished" in checked.out
    assert run(*part, "import", "dump.trig").code == 0
    assert "restores-finished" not in run(*part, "check").out
    assert run(*part, "import", "dump.trig").code == 2
    run(*part, "export", "-o", "again.trig")
    one, other = (len((folder / name).read_text().splitlines()) for name in ("dump.trig", "again.trig"))
    assert one == other


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_import_while_the_engine_writes(run: Run, folder: Path, number: int) -> None:
    names = (f'<http://e/{n}> <http://p/{n % 7}> "text {n}" .' for n in range(120_000))
    (folder / "large.nt").write_text("\n".join(names))
    process = subprocess.Popen(
        program("import", "large.nt", "-v"),
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    logs = folder / "graphrag-store" / "oxigraph"
    while not any(log.stat().st_size > 1 << 20 for log in logs.glob("*.log")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    begun = time.monotonic()
    assert "run the same command again" in process.communicate()[1]
    assert (process.returncode, time.monotonic() - begun < 5) == (130, True)
    assert run("check").code == 0


def test_into_a_graph_of_its_own(run: Run, store: Path, folder: Path) -> None:
    (folder / "people.ttl").write_text(TURTLE)
    assert run("import", "people.ttl", "--graph", "http://example.org/g").code == 0
    query = "ASK { GRAPH <http://example.org/g> { ?s rdfs:label 'Mona Kell' } }"
    assert run("sparql", query).out == "yes\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["import", "nowhere.ttl"], "nowhere.ttl"),
        (["import", "broken.ttl"], "line 1"),
        (["import", "prefix.ttl"], "@prefix prov: <http://www.w3.org/ns/prov#> ."),
        (["import", "people.txt"], "RDF format"),
        (["import", "fine.ttl", "--graph", "no iri"], "IRI"),
        (["import", "fine.ttl", "--graph", "urn:graph:source"], "urn:graph:source"),
        (["import", "evalset", "nowhere.json"], "nowhere.json"),
        (["export", "--counts"], "-o FILE"),
        (["export", "-o", "nowhere/dump.trig"], "nowhere"),
        (["export", "--format", "rdfxml", "--dialect", "rdf-star"], "RDF-star"),
    ],
)
def test_wrong_usage(run: Run, store: Path, folder: Path, arguments: list[str], told: str) -> None:
    (folder / "broken.ttl").write_text("this is no Turtle")
    (folder / "prefix.ttl").write_text("<urn:s> a prov:Activity .")
    (folder / "fine.ttl").write_text(TURTLE)
    (folder / "people.txt").write_text(TURTLE)
    found = run(*arguments)
    assert found.code == 2
    assert told in found.err
    assert not list(folder.glob("*.part"))


def test_a_mistyped_import_makes_no_store(run: Run, folder: Path) -> None:
    assert run("import", "nowhere.ttl").code == 2
    assert not (folder / "graphrag-store").exists()


def test_evaluation_set(run: Run, folder: Path) -> None:
    evalset = {
        "name": "tiny",
        "corpus": [{"title": "Lighthouse", "text": "Andrew Orr designed Drumlaw Head Lighthouse in 1881."}],
        "questions": [],
        "openie": [[["Andrew Orr", "designed", "Drumlaw Head Lighthouse"]]],
    }
    (folder / "tiny.json").write_text(json.dumps(evalset))
    found = run("import", "evalset", "tiny.json", "--extraction", "recorded", "--format", "json")
    assert found.code == 0, found.err
    assert found.json["documents"]["added"] == 1
    assert found.json["facts"] == 1
    query = "SELECT ?n { GRAPH <urn:graph:source> { ?d dcterms:identifier ?n } }"
    assert run("sparql", "--format", "csv", query).out.split() == ["n", "0"]
    assert "1 passages" not in run("import", "evalset", "tiny.json", "--extraction", "recorded").out
