"""Facts removed and corrected by hand: it survives ingests, can be taken back, and is accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import export_graph, import_file
from graphrag_rdf.ingest.decisions import Person
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import local_name
from graphrag_rdf.wings.audit.verify import verify
from tests.ingest.conftest import MakeEngine, everything, index_matches_store

TEXT = (
    "Andrew Orr designed Drumlaw Head Lighthouse in 1881. Andrew Orr was born in Arnhythe. "
    "Beatrice Pennock founded the Lantern Society. Beatrice Pennock lived in Port Merrin."
)
BORN = ("Andrew Orr", "was born in", "Arnhythe")
QUESTION = "Where was Andrew Orr born?"


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine) -> Engine:
    (docs / "a.txt").write_text(TEXT)
    made = engine_of("store")
    made.ingest([docs])
    return made


def sound(engine: Engine) -> bool:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    return index_matches_store(engine)


def asserted(engine: Engine) -> set[Triple]:
    """The graph of facts."""
    facts = (DefaultGraph(), Graphs.FACTS)
    return {quad.triple for quad in everything(engine) if quad.graph_name in facts}


def answer(engine: Engine, question: str = QUESTION) -> str:
    *_, last = engine.ask(question)
    assert last.answer is not None
    return str(last.answer["answer"])


def verified(engine: Engine, name: str = "last") -> dict[str, tuple[bool, str]]:
    return {check.check: (check.ok, check.detail) for check in verify(engine, name)}


def test_answers_use_corrections_and_documents(docs: Path, engine: Engine) -> None:
    """A fact has no full stop, and is no heading for that."""
    (docs / "b.txt").write_text("The archive of Upper Tarnay is old. Andrew Orr was born in Leeds.")
    engine.ingest([docs])
    engine.facts.correct(*BORN, object="Upper Tarnay", by="R. Tennant", with_sentences=True)
    *_, last = engine.ask(QUESTION)
    assert last.answer is not None
    marked = {one["text"][one["marked"]["start"] :] for one in last.answer["passages"]}
    assert {"Andrew Orr was born in Leeds.", "Andrew Orr was born in Upper Tarnay"} <= marked
    assert not any("Arnhythe" in text for text in marked)


def test_removed_and_taken_back(engine: Engine) -> None:
    before = asserted(engine)
    done = engine.facts.remove(*BORN, by="R. Tennant", reason="misread")
    (gone,) = done.facts
    assert before - asserted(engine) == {Triple(*gone)}
    assert sound(engine)
    [decision] = engine.facts.decisions()
    assert (decision.reason, decision.kind.name, decision.label) == (
        "misread",
        "removal",
        "removal by R. Tennant",
    )
    assert engine.facts.remove(*BORN).decisions == []
    back = engine.facts.undo([decision.iri.value])
    assert back.asserted == [gone]
    assert asserted(engine) == before
    assert engine.facts.decisions() == []
    [kept] = engine.facts.decisions(every=True)
    assert kept.undone is not None
    assert sound(engine)


def test_a_dry_run_writes_nothing(engine: Engine) -> None:
    before = everything(engine)
    assert engine.facts.remove(*BORN, dry_run=True).facts
    assert engine.facts.correct(*BORN, object="Tarnay", dry_run=True).asserted
    assert everything(engine) == before


def test_a_removal_survives_ingests(engine: Engine, docs: Path) -> None:
    (gone,) = engine.facts.remove(*BORN).facts
    engine.ingest([docs], refresh=True)
    assert Triple(*gone) not in asserted(engine)
    (docs / "a.txt").write_text(f"A new beginning. {TEXT}")
    (docs / "b.txt").write_text("Andrew Orr was born in Arnhythe.")
    engine.ingest([docs])
    assert Triple(*gone) not in asserted(engine)
    engine.refresh_texts()
    assert Triple(*gone) not in asserted(engine)
    assert sound(engine)
    [decision] = engine.facts.decisions()
    engine.facts.undo([decision.iri.value])
    assert Triple(*gone) in asserted(engine)
    assert sound(engine)


def test_undo_does_not_restore_facts_that_documents_no_longer_state(engine: Engine, docs: Path) -> None:
    (gone,) = engine.facts.remove(*BORN).facts
    (docs / "a.txt").write_text("Beatrice Pennock lived in Port Merrin.")
    engine.ingest([docs])
    [decision] = engine.facts.decisions()
    assert engine.facts.undo([decision.iri.value]).asserted == []
    assert Triple(*gone) not in asserted(engine)
    assert sound(engine)


def test_a_removed_fact_is_not_imported(engine: Engine, tmp_path: Path) -> None:
    (gone,) = engine.facts.remove(*BORN).facts
    file = tmp_path / "more.nt"
    file.write_text(f"{Triple(*gone)} .\n")
    import_file(engine, file)
    assert Triple(*gone) not in asserted(engine)
    assert sound(engine)


def test_a_removal_holds_against_a_store_that_knows_nothing_of_it(
    engine: Engine, docs: Path, engine_of: MakeEngine, tmp_path: Path
) -> None:
    other = engine_of("other")
    other.ingest([docs])
    with (tmp_path / "dump.trig").open("wb") as file:
        export_graph(other.store, file, "trig")
    (gone,) = engine.facts.remove(*BORN).facts
    import_file(engine, tmp_path / "dump.trig", merge=True)
    assert Triple(*gone) not in asserted(engine)
    assert sound(engine)


def test_a_correction_is_a_fact_with_its_provenance(engine: Engine) -> None:
    done = engine.facts.correct(*BORN, object="Tarnay", by="R. Tennant", reason="the register")
    (old,), (new,) = done.facts, done.asserted
    assert Triple(*new) in asserted(engine)
    assert Triple(*old) not in asserted(engine)
    assert sound(engine)
    quads = everything(engine)
    [decision] = engine.facts.decisions()
    [subgraph] = {q.subject for q in quads if (q.predicate, q.object) == (PROV.wasDerivedFrom, decision.iri)}
    assert Quad(subgraph, TG.contains, Triple(*new), Graphs.SOURCE) in quads
    [activity] = {q.object for q in quads if (q.subject, q.predicate) == (subgraph, PROV.wasGeneratedBy)}
    assert Quad(activity, RDF.type, RAG.HumanEdit, Graphs.SOURCE) in quads
    assert Quad(activity, PROV.wasAssociatedWith, decision.by, Graphs.SOURCE) in quads
    [claim] = {q.subject for q in quads if (q.predicate, q.object) == (RDF.reifies, Triple(*new))}
    revised = {q.object for q in quads if (q.subject, q.predicate) == (claim, PROV.wasRevisionOf)}
    evidence = {q.subject for q in quads if (q.predicate, q.object) == (RDF.reifies, Triple(*old))}
    assert revised == evidence != set()
    assert run_shapes(engine.store.quads()) == []


def test_a_correction_is_found_answered_with_and_taken_back(engine: Engine) -> None:
    before = asserted(engine)
    assert "Arnhythe" in answer(engine)
    done = engine.facts.correct(*BORN, object="Upper Tarnay", with_sentences=True)
    assert [entity.value.rpartition("/")[2] for entity in done.entities] == ["upper-tarnay"]
    assert answer(engine) == "Andrew Orr was born in Upper Tarnay. [1]"
    assert all(ok for ok, _ in verified(engine).values())
    assert "Andrew Orr" in answer(engine, "Who was born in Upper Tarnay?")
    trace = next(iter(engine.traces)).iri
    [decision] = engine.facts.decisions()
    engine.facts.undo([decision.iri.value])
    assert asserted(engine) == before
    assert sound(engine)
    assert "Arnhythe" in answer(engine)
    ok, detail = verified(engine, trace)["edges"]
    assert ok is None
    assert "correction by hand, taken back" in detail
    notes = [
        s["removed"] for step in to_json(engine.traces[trace])["steps"] for s in step.get("selections", ())
    ]
    assert [note["taken_back"] for note in notes if note] == [True]


def test_traces_say_what_was_removed_since(engine: Engine) -> None:
    answer(engine)
    engine.facts.remove(*BORN, reason="misread")
    checks = verified(engine)
    assert [name for name, (ok, _) in checks.items() if ok is False] == []
    assert checks["edges"][0] is None
    assert "(Andrew Orr, was born in, Arnhythe) holds no more: removal by hand" in checks["edges"][1]
    assert checks["edges"][1].endswith(": misread")


def test_sentences_are_left_out_where_the_text_is_wrong(engine: Engine) -> None:
    engine.facts.remove(*BORN)
    assert "Arnhythe" not in answer(engine)
    engine.facts.undo_about(*BORN)
    engine.facts.remove(*BORN, with_sentences=True)
    for pipeline in ("graph_rag", "hops_rag", "hybrid_rag"):
        *_, last = engine.ask(QUESTION, pipeline)
        assert last.answer is not None
        assert "Arnhythe" not in last.answer["answer"]


def test_kinds_of_new_objects(docs: Path, engine: Engine) -> None:
    (docs / "b.txt").write_text("Andrew Orr died in 1907.")
    engine.ingest([docs])
    ((_, _, year),) = engine.facts.correct(
        "Andrew Orr", "died in", "1907", object="1908", dry_run=True
    ).asserted
    assert isinstance(year, Literal)
    assert (year.value, local_name(year.datatype.value)) == ("1908", "gYear")
    ((_, _, text),) = engine.facts.correct(*BORN, object='"nobody knows"', dry_run=True).asserted
    assert text.value == "nobody knows"
    ((s, p, o),) = engine.facts.correct(*BORN, subject="beatrice pennock", predicate="hails from").asserted
    assert s.value.endswith("/e/beatrice-pennock")
    assert p.value.endswith("/r/hails-from")
    assert isinstance(o, NamedNode)
    assert engine.facts.decisions()[0].kind.name == "correction"
    assert sound(engine)


def test_what_cannot_be_decided(engine: Engine) -> None:
    with pytest.raises(UsageError, match="is a name"):
        engine.facts.remove("Andrew Orr", "http://www.w3.org/2000/01/rdf-schema#label", '"Andrew Orr"@en')
    with pytest.raises(UsageError, match="no document or import states"):
        engine.facts.remove("urn:a", "urn:b", "urn:c")
    with pytest.raises(UsageError, match="the correction equals the fact"):
        engine.facts.correct(*BORN, object="Arnhythe")
    with pytest.raises(UsageError, match="has the IRI urn:nothing"):
        engine.facts.undo(["urn:nothing"])
    engine.facts.remove(*BORN)
    with pytest.raises(UsageError, match="was removed before"):
        engine.facts.correct("Beatrice Pennock", "lived in", "Port Merrin", subject=BORN[0],
                             predicate=BORN[1], object=BORN[2])  # fmt: skip
    with pytest.raises(UsageError, match="was removed before: removal by hand"):
        engine.facts.correct(*BORN, object="Tarnay")
    assert sound(engine)


def test_forgetting_a_document_forgets_what_was_decided_about_its_facts(engine: Engine, docs: Path) -> None:
    (docs / "b.txt").write_text("Zadie Quill was born in Leeds.")
    engine.ingest([docs])
    engine.facts.remove(*BORN)
    engine.facts.correct("Beatrice Pennock", "lived in", "Port Merrin", object="Upper Tarnay")
    engine.facts.remove("Zadie Quill", "was born in", "Leeds")
    forget_documents(engine, find_documents(engine.store, ["docs/a.txt"]))
    [left] = engine.facts.decisions(every=True)
    assert left.fact[0].value.endswith("zadie-quill")
    assert "pper" not in "".join(str(quad) for quad in everything(engine))
    assert sound(engine)


def test_forgetting_goes_along_corrections_of_corrections(engine: Engine, docs: Path) -> None:
    (docs / "b.txt").write_text("Andrew Orr was born in Leeds.")
    engine.ingest([docs])
    engine.facts.correct("Beatrice Pennock", "lived in", "Port Merrin", object="Upper Tarnay")
    engine.facts.correct("Beatrice Pennock", "lived in", "Upper Tarnay", object="Lower Tarnay")
    engine.facts.remove("Beatrice Pennock", "lived in", "Lower Tarnay", reason="unknown")
    engine.facts.correct(*BORN, object="Leeds")
    engine.facts.remove("Andrew Orr", "was born in", "Leeds")  # as the other document says, too
    forget_documents(engine, find_documents(engine.store, ["docs/a.txt"]))
    [left] = engine.facts.decisions(every=True)
    assert left.fact[2] == NamedNode("http://trustgraph.ai/e/leeds")
    assert "arnay" not in "".join(str(quad) for quad in everything(engine))
    assert sound(engine)


def test_a_correction_and_that_of_it_are_taken_back_together(engine: Engine) -> None:
    before = asserted(engine)
    engine.facts.correct(*BORN, object="Tarnay")
    engine.facts.correct(*BORN[:2], "Tarnay", object="Leeds")
    corrected = asserted(engine)
    done = engine.facts.undo([decision.iri.value for decision in engine.facts.decisions()])
    assert asserted(engine) == before
    named = {triple for triple in corrected - before if triple.predicate == RDFS.label}
    assert {Triple(*fact) for fact in done.facts} == corrected - before - named
    assert {Triple(*fact) for fact in done.asserted} == before - corrected
    assert sound(engine)


def test_an_empty_name_is_refused(engine: Engine) -> None:
    [decision] = engine.facts.remove(*BORN, by="").decisions
    assert (decision.by, decision.label) == (Person().node, "removal by hand")
    assert not [quad for quad in everything(engine) if quad.subject == decision.by]


def test_an_entity_that_is_one_with_another_may_still_say_it(engine: Engine, docs: Path) -> None:
    from graphrag_rdf.ingest.entity_decisions import merge
    from graphrag_rdf.ingest.resolutions import Merge

    (docs / "b.txt").write_text("Orr was born in Arnhythe.")
    engine.ingest([docs])
    members = tuple(engine.entity(name) for name in ("Andrew Orr", "Orr"))
    merge(engine, [Merge(members[0], members)])
    done = engine.facts.remove(*BORN)
    [also] = done.also
    assert also[0] == members[1]
    assert done.as_json()["kept_facts"] == 1


def test_a_correction_is_found_among_many_facts(engine: Engine, tmp_path: Path) -> None:
    """Of what is known of a hub only some is looked at; what somebody gave by hand always is."""
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'<urn:hub> {label} "Grand Junction" .', f'<urn:warden> {label} "has warden" .']
    for number in range(250):
        lines.append(f"<urn:hub> <urn:line> <urn:{number:03}> .")
        lines.append(f'<urn:{number:03}> {label} "Station {number}" .')
    lines.append("<urn:hub> <urn:warden> <urn:007> .")
    (tmp_path / "hub.nt").write_text("\n".join(lines))
    import_file(engine, tmp_path / "hub.nt")
    engine.facts.correct("Grand Junction", "has warden", "Station 7", object="Zadie Quill")
    assert (
        answer(engine, "Who is the warden of Grand Junction?") == "Grand Junction has warden Zadie Quill. [1]"
    )
    assert sound(engine)
