"""Reports of communities: what they are written from and cite, that nothing is written twice, that a failure
costs one report, and that no report outlives what it was written from. The model is a server over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import load_settings
from graphrag_rdf.errors import ConfigError, LlmError
from graphrag_rdf.ingest.fact_decisions import remove_facts
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.sparql.render import decode, with_prefixes
from graphrag_rdf.wings.communities.context import Entry, Part, fit, whole_names
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine

TEXTS = {
    "a.txt": "Walter Pennock founded the Tarnay Electric Light Company. He lived in Port Merrin.\n",
    "b.txt": "Beatrice Pennock succeeded Walter Pennock in 1911. Andrew Orr visited Port Merrin.\n",
    "d.txt": "Lin Yuhua met Chen Liwen. Chen Liwen taught Lin Yuhua.\n",
}
ENTRY = re.compile(r"^([efsp]\d+) \| (.*)$", re.MULTILINE)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    for name, text in TEXTS.items():
        (place / name).write_text(text)
    return place


@pytest.fixture
def open_one(documents: Path, tmp_path: Path) -> Iterator[Any]:
    """Opens an engine with the documents, read by rules."""
    opened: list[Engine] = []

    def make(server: ScriptedServer | None = None, **overrides: Any) -> Engine:
        given = {"extract.use": "rules", "communities.auto": False}
        given |= {key.replace("__", "."): value for key, value in overrides.items()}
        if server is not None:
            given |= {"llm.model": "openai/scripted", "llm.api_base": server.base_url, "llm.api_key": "k"}
            given |= {"llm.max_retries": 0}
        engine = open_engine(tmp_path / f"store{len(opened)}", config=load_settings(None, given).settings)
        opened.append(engine)
        engine.ingest([documents])
        return engine

    yield make
    for engine in opened:
        engine.close()


def entries(request: Request) -> dict[str, str]:
    """The entries that a request shows, by id."""
    return dict(ENTRY.findall(str(request.messages[0]["content"])))


def answer(ids: list[str], title: str = "A group", **other: Any) -> str:
    finding = {"summary": f"{title}: one.", "explanation": f"{title}: it is said.", "cites": ids}
    said = {
        "title": title,
        "summary": f"{title}: what it is.",
        "rating": 7,
        "rating_explanation": f"{title} matters.",
    }
    return json.dumps({**said, "findings": [finding], **other})


def cite_all(request: Request) -> Reply:
    return Reply(answer([*entries(request)]))


def of(engine: Engine, predicate: NamedNode) -> list[str]:
    quads = decode(engine.store.quads(Graphs.COMMUNITY))
    return [text_of(quad.object) for quad in quads if quad.predicate == predicate]


def require_sound(engine: Engine) -> None:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


# --- without a model ------------------------------------------------------------------------------------


def test_without_a_model_reports_quote(open_one: Any) -> None:
    engine = open_one()
    found = engine.refresh("communities")
    rows = engine.store.select("communities/to-report")
    assert found.by == "extractive"
    assert found.counts.done == len(rows) > 1
    said = {"Lin Yuhua met Chen Liwen.", "Chen Liwen taught Lin Yuhua."}
    assert any(all(sentence in text for sentence in said) for text in of(engine, RAG.summary))
    assert said <= {*of(engine, RAG.explanation)}
    assert not of(engine, TG.llmModel)
    assert not of(engine, RAG.rating)
    require_sound(engine)


def test_a_report_without_a_model_quotes_a_sentence_once(open_one: Any) -> None:
    engine = open_one()
    engine.refresh("communities")
    quads = [quad for quad in engine.store.quads(Graphs.COMMUNITY) if quad.predicate == RAG.explanation]
    report = {
        quad.subject: quad.object
        for quad in engine.store.quads(Graphs.COMMUNITY)
        if quad.predicate == RAG.findingOf
    }
    said = [(report[quad.subject], quad.object) for quad in quads]
    assert len(said) == len({*said}) > 1


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["Gate 4", "Gate 4 of the Station", "Port Merrin"], ["Gate 4 of the Station", "Port Merrin"]),
        (["Gate 4", "Gate 41"], ["Gate 4", "Gate 41"]),
        (["court house", "Court House of Port Merrin"], ["Court House of Port Merrin"]),
        (["Marley", "marley"], ["Marley", "marley"]),
        ([], []),
    ],
)
def test_titles_leave_out_names_that_are_part_of_others(names: list[str], left: list[str]) -> None:
    assert whole_names(names) == left


def test_what_findings_cite_leads_to_chunks(open_one: Any) -> None:
    engine = open_one()
    engine.refresh("communities")
    source = {quad.subject: quad for quad in decode(engine.store.quads(Graphs.SOURCE))}
    assert of(engine, RAG.cites)
    assert all(NamedNode(iri) in source for iri in of(engine, RAG.cites))
    chunks = {row["chunk"].value for row in engine.store.select("derived/chunks", documents=[])}
    assert {*of(engine, PROV.used)} <= chunks


@pytest.mark.slow
def test_reports_have_their_shapes(open_one: Any, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(cite_all)
    for engine in (open_one(), open_one(scripted_server)):
        engine.refresh("communities")
        assert run_shapes(engine.store.quads()) == []


def test_llm_without_a_model_is_refused(open_one: Any) -> None:
    with pytest.raises(ConfigError, match=r"communities\.reports is llm, but no model is set"):
        open_one(communities__reports="llm").refresh("communities")


# --- by a model -----------------------------------------------------------------------------------------


def test_a_model_writes_reports_and_its_ids_become_what_they_stand_for(
    open_one: Any, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(
        lambda request: Reply(
            answer(
                ["S1", "e1", "f1", "f99"],
                findings=[
                    {"summary": "One.", "explanation": "First.", "cites": ["[S1, e1]", "f1", "f99"]},
                    {"summary": "Two.", "explanation": "Made up.", "cites": ["x7"]},
                ],
            )
        )
    )
    engine = open_one(scripted_server)
    found = engine.refresh("communities")
    number = len(engine.store.select("communities/to-report"))
    assert (found.by, found.counts.done) == ("openai/scripted", number)
    assert found.llm.calls == number == len(scripted_server.requests)
    shown = [entries(request) for request in scripted_server.requests]
    unknown = sum(key not in each for each in shown for key in ("s1", "e1", "f1", "f99", "x7"))
    dropped = {"unknown_id": unknown, "uncited_finding": number}
    assert found.rejected == found.as_json()["reports"]["dropped"] == dropped
    pair = next(each for each in shown if "Chen Liwen" in each["e1"] + each["e2"] and len(each) < 8)
    assert "Lin Yuhua met Chen Liwen." in pair.values()
    kinds = {
        iri.partition(":")[2].partition(":")[0] for iri in of(engine, RAG.cites) if iri.startswith("urn")
    }
    assert kinds == {"evidence", "chunk"}
    assert set(of(engine, RDFS.label)) == {"A group", "One."}
    assert set(of(engine, RAG.rating)) == {"7.0"} or set(of(engine, RAG.rating)) == {"7"}
    assert set(of(engine, TG.llmModel)) == {"openai/scripted"}
    assert len(of(engine, TG.inToken)) == len(of(engine, RAG.promptHash)) == number
    require_sound(engine)


def test_what_has_not_changed_is_not_asked_again(
    open_one: Any, scripted_server: ScriptedServer, documents: Path
) -> None:
    scripted_server.answer_with(cite_all)
    (documents / "b.txt").write_text("Beatrice Pennock succeeded Walter Pennock in 1911.\n")
    engine = open_one(scripted_server, cache__enabled=False)
    engine.refresh("communities")
    before, commit = {*of(engine, RAG.reportOf)}, engine.store.commit_number()
    scripted_server.reset()
    assert engine.refresh("communities").counts.kept == len(before)
    assert engine.store.commit_number() == commit
    (documents / "e.txt").write_text(
        "Hugh Sandison met Neil Corrigall. Neil Corrigall taught Hugh Sandison.\n"
    )
    engine.ingest([documents])
    scripted_server.answer_with(cite_all)
    found = engine.refresh("communities")
    assert (found.counts.done, found.counts.kept) == (1, len(before))
    assert ["Hugh Sandison" in str(request.prompt) for request in scripted_server.requests] == [True]
    assert engine.refresh("communities", again=True).counts.done == 0
    require_sound(engine)


def test_an_answer_that_is_no_report_is_asked_for_once_more(
    open_one: Any, scripted_server: ScriptedServer
) -> None:
    def reply(request: Request) -> Reply:
        if len(request.messages) == 1:
            return Reply(answer(["s1"], rating=70))
        assert "rating" in request.messages[-1]["content"]
        return Reply(f"Here it is:\n```json\n{answer(['s1'])[:-1]},}}\n```")

    scripted_server.answer_with(reply)
    engine = open_one(scripted_server)
    found = engine.refresh("communities")
    assert found.counts.done > 1
    assert not found.failures
    assert len(scripted_server.requests) == 2 * found.counts.done


@pytest.mark.parametrize("bad", ["I cannot do that.", answer(["nothing"]), answer([]), '{"title": "x"}'])
def test_a_failed_report_is_recorded_and_the_others_are_written(
    open_one: Any, scripted_server: ScriptedServer, bad: str
) -> None:
    spoiled = True

    def reply(request: Request) -> Reply:
        lin = any("Lin Yuhua" in text for text in entries(request).values())
        return Reply(bad) if lin and spoiled else cite_all(request)

    scripted_server.answer_with(reply)
    engine = open_one(scripted_server)
    found = engine.refresh("communities")
    assert (found.counts.failed, found.warnings[0]["type"]) == (1, "report_failed")
    assert found.counts.done == len(engine.store.select("communities/to-report")) - 1
    rows = engine.store.select("ingest/failures")
    assert [(row["stage"], row["about"].value) for row in rows] == [
        ("community report", found.failures[0].names["community"])
    ]
    require_sound(engine)
    spoiled = False
    scripted_server.requests.clear()
    found = engine.refresh("communities")
    assert (found.counts.done, found.counts.failed) == (1, 0)
    assert len(scripted_server.requests) == 1
    assert not engine.store.select("ingest/failures")


def test_a_budget_ends_the_run_and_the_next_continues(open_one: Any, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(cite_all)
    engine = open_one(scripted_server, llm__budget_tokens=900, extract__jobs=1)
    found = engine.refresh("communities")
    assert found.stopped == "budget"
    assert [warning["type"] for warning in found.warnings] == ["budget_spent"]
    engine.budget.max_tokens = None
    left = len(engine.store.select("communities/to-report")) - found.counts.done
    again = engine.refresh("communities").counts
    assert (again.done, again.kept) == (left, found.counts.done)


def test_an_interrupted_run_continues(open_one: Any, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(cite_all)
    engine = open_one(scripted_server, extract__jobs=1)
    found = engine.refresh("communities", stop=lambda: len(scripted_server.requests) == 1)
    assert (found.counts.done, found.stopped) == (1, "interrupted")
    assert engine.refresh("communities").counts.kept == 1


def test_a_model_that_is_out_of_reach_ends_the_run(open_one: Any, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(lambda _: Reply("no such key", status=401))
    with pytest.raises(LlmError):
        open_one(scripted_server).refresh("communities")


# --- what goes with what --------------------------------------------------------------------------------


def test_a_report_of_a_large_community_uses_those_of_its_parts(
    open_one: Any, scripted_server: ScriptedServer, documents: Path
) -> None:
    names = [
        f"{first} {last}"
        for last in ("Orr", "Gow", "Reay", "Tait")
        for first in ("Ann", "Ben", "Cora", "Dan")
    ]
    for number, (one, other) in enumerate(pairwise(names)):
        met = [f"{one} met {other} in {year} at the harbour.\n" for year in range(1901, 1911)]
        (documents / f"met{number}.txt").write_text("".join(met))
    scripted_server.answer_with(
        lambda request: Reply(answer([*entries(request)], summary=f"Kestrel {len(entries(request))}."))
    )
    engine = open_one(scripted_server, communities__max_size=2, communities__report_tokens=500)
    engine.refresh("communities")
    shown = [entries(request) for request in scripted_server.requests]
    parents = [each for each in shown if "p1" in each]
    assert parents
    assert all("Kestrel" in each["p1"] for each in parents)
    assert of(engine, PROV.wasDerivedFrom)
    assert not any(key.startswith("p") for each in shown[:3] for key in each), "parts come first"
    require_sound(engine)
    # what goes from a part goes from the report that read it
    forget_documents(engine, find_documents(engine.store, [str(documents / "met0.txt")]))
    require_sound(engine)
    assert "ann-orr" not in "".join(map(str, decode(engine.store.quads(Graphs.COMMUNITY))))


def test_no_text_of_a_report_outlives_its_documents(
    open_one: Any, scripted_server: ScriptedServer, documents: Path
) -> None:
    def reply(request: Request) -> Reply:
        lin = any("Lin Yuhua" in text for text in entries(request).values())
        return Reply(answer(["e1"], title="Zwei Gelehrte" if lin else "Others"))

    scripted_server.answer_with(reply)
    engine = open_one(scripted_server)
    engine.refresh("communities")
    assert "Zwei Gelehrte" in of(engine, RDFS.label)
    number = len(of(engine, RAG.reportOf))
    forget_documents(engine, find_documents(engine.store, [str(documents / "d.txt")]))
    assert "Zwei Gelehrte" not in of(engine, RDFS.label)
    assert len(of(engine, RAG.reportOf)) == number - 1, "the others stay"
    assert engine.response_cache is not None
    kept = engine.response_cache._db.execute("SELECT prompt || answer FROM entry").fetchall()
    assert kept
    assert not any("Zwei Gelehrte" in text for (text,) in kept)
    require_sound(engine)


def test_a_fact_removed_by_hand_takes_its_reports_along(open_one: Any) -> None:
    engine = open_one()
    engine.refresh("communities")
    number = len(of(engine, RAG.reportOf))
    (row,) = [
        row
        for row in engine.store.select("communities/report-facts", communities=_communities(engine))
        if "founded" in row["p"].value
    ]
    remove_facts(engine, [(row["s"], row["p"], row["o"])])
    assert len(of(engine, RAG.reportOf)) < number
    engine.refresh("communities")
    assert not any("founded Tarnay" in text for text in of(engine, RDFS.label))


def _communities(engine: Engine) -> list[NamedNode]:
    return [row["community"] for row in engine.store.select("communities/to-report")]


# --- the budget -----------------------------------------------------------------------------------------

_MEMBERS = st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=2)


@given(
    st.lists(
        st.builds(lambda text, about: Entry("s", text, about), st.text(max_size=80), _MEMBERS), max_size=20
    ),
    st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), max_size=3),
    st.integers(0, 200),
)
def test_entries_fit_the_budget(own: list[Entry], parts: list[frozenset[str]], tokens: int) -> None:
    reports = [Part(Entry("p", "of a part", members), members) for members in parts]
    found = fit(own, reports, tokens)
    assert sum(len(entry.text) // 4 + 4 for entry in found) <= tokens
    shown = [entry.about for entry in found if entry.kind == "p"]
    assert shown == parts[: len(shown)], "largest parts first"
    left = [entry for entry in found if entry.kind == "s"]
    assert not any(entry.about <= members for entry in left for members in shown)
    order = iter(own)
    assert all(entry in order for entry in left), "their order stays"
    if sum(len(entry.text) // 4 + 4 for entry in own) <= tokens:
        assert found == own


def test_a_report_of_an_entity_with_many_definitions(open_one: Any) -> None:
    """Together they are longer than what a report is written from."""
    engine = open_one(communities__report_tokens=500)
    define = "".join(
        f"<http://trustgraph.ai/e/chen-liwen> skos:definition "
        f'"Chen Liwen is described in document {number} in the same words as everywhere." . '
        for number in range(100)
    )
    engine.store.update(with_prefixes(f"INSERT DATA {{ {define} }}"))
    report = engine.refresh("communities", again=True)
    assert report.counts.done > 0
    assert any("Chen Liwen" in text for text in of(engine, RAG.summary))
