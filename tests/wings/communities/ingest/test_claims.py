"""Claims in the store: what is written, that no chunk is read twice, and that nothing outlives its text. The
model is a server that answers over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.estimate import estimate
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.model_stage import estimate as estimate_stage
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.wings.communities.stages.claims import Claims
from tests.ingest.conftest import (
    KilledError,
    MakeEngine,
    assert_same,
    by_model,
    chunk_in,
    chunks,
    content,
    killed_after,
)
from tests.support.scripted_server import Reply, Request, ScriptedServer

PAPER = [
    "In May 1911 the Port of Skell fined Skell Forge for rolling the plates of the Petrel too thin.",
    "Isak Wennerby says that Skell Forge bribed Rhoda Tennant in 1910, and a court has yet to hear it.",
    "Port Merrin lies far from Skell Forge, and the weather there was fine on most days of that year.",
]
LETTER = "Skell Forge has never bribed Rhoda Tennant, neither in 1910 nor in any other year at all."


def claim(subject: str, kind: str, status: str, quote: str, **more: Any) -> dict[str, Any]:
    said = {"subject": subject, "type": kind, "status": status, "quotes": [quote]}
    return {**said, "object": None, "description": f"{subject}: {kind} ({status})", **more}


FINED = claim(
    "Skell Forge", "fine", "TRUE", "the Port of Skell fined Skell Forge", start="1911-05", end="1911-05"
)
BRIBED = claim(
    "Skell Forge", "bribery", "TRUE", "bribed  Rhoda Tennant in 1910", object="Rhoda Tennant", start="1910"
)
DENIED = claim("skell forge", "bribery", "FALSE", "Skell Forge has never bribed", object="Rhoda Tennant")
MADE_UP = claim("The Weather Office", "weather", "SUSPECTED", "Storms raged on every single day.")
FOUND = {PAPER[0]: [FINED], PAPER[1]: [BRIBED], PAPER[2]: [MADE_UP], LETTER: [DENIED]}


def answers(found: dict[str, list[dict[str, Any]] | Reply]) -> Callable[[Request], Reply | None]:
    """Answer prompts for claims by the sentence of the chunk; None to other requests."""

    def answer(request: Request) -> Reply | None:
        if not is_asked(request):
            return None
        told = next((said for sentence, said in found.items() if sentence in chunk_in(request)), [])
        return told if isinstance(told, Reply) else Reply(json.dumps({"claims": told}))

    return answer


def is_asked(request: Request) -> bool:
    return "You note the claims" in request.prompt


def asked(server: ScriptedServer) -> int:
    return sum(map(is_asked, server.requests))


@pytest.fixture
def paper(docs: Path) -> Path:
    (docs / "paper.txt").write_text("\n\n".join(PAPER) + "\n")
    (docs / "letter.txt").write_text(LETTER + "\n")
    return docs


@pytest.fixture
def model(scripted_server: ScriptedServer) -> ScriptedServer:
    scripted_server.answer_with(answers(FOUND))
    return scripted_server


def engine_with(engine_of: MakeEngine, server: ScriptedServer, **overrides: Any) -> Engine:
    return engine_of(**{**by_model(server), "extract__use": "rules", "extract__jobs": 1, **overrides})


def read(engine: Engine, folder: Path) -> Engine:
    engine.ingest([folder])
    engine.refresh("claims")
    return engine


def nodes(engine: Engine) -> dict[str, dict[NamedNode, Any]]:
    """What is known of each claim, by its description."""
    found: dict[Any, dict[NamedNode, Any]] = {}
    for quad in engine.store.quads(Graphs.SOURCE):
        found.setdefault(quad.subject, {})[quad.predicate] = quad.object
    return {
        known[DCTERMS.description].value: {**known, RDF.subject: node}
        for node, known in found.items()
        if known.get(RDF.type) == RAG.Claim
    }


def known_of(engine: Engine, node: Any) -> dict[NamedNode, Any]:
    return {quad.predicate: quad.object for quad in engine.store.quads() if quad.subject == node}


def sound(engine: Engine) -> bool:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    return True


def cookbook(engine: Engine, name: str, **params: Any) -> list[dict[str, str]]:
    rows = engine.store.select(f"cookbook/{name}", **params)
    return [{key: text_of(term) for key, term in row.items()} for row in rows]


def test_claims_have_provenance(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_with(engine_of, model)
    engine.ingest([paper])
    report = engine.refresh("claims")
    assert (report.counts.done, report.failures) == (4, [])
    assert (report.results["found"], report.results["unverified"]) == (4, 1)
    known = nodes(engine)["Skell Forge: bribery (TRUE)"]
    assert known[RAG.claimSubject] == iris.entity("skell-forge")
    assert known[RAG.claimObject] == iris.entity("rhoda-tennant")
    assert (known[RAG.claimType].value, known[RAG.claimStatus].value) == ("bribery", "TRUE")
    assert (known[RAG.startDate].value, RAG.endDate in known) == ("1910", False)
    evidence = known_of(engine, known[RAG.evidence])
    start, length = int(evidence[TG.sourceCharOffset].value), int(evidence[TG.sourceCharLength].value)
    chunk = known[PROV.wasDerivedFrom].value
    assert chunks(engine)[chunk][start : start + length] == evidence[TG.sourceText].value
    assert evidence[TG.sourceText].value == "bribed Rhoda Tennant in 1910", "as the chunk has it"
    assert evidence[PROV.wasQuotedFrom].value.startswith(f"{chunk}#s")
    call = known_of(engine, known[PROV.wasGeneratedBy])
    assert call[TG.llmModel].value == "openai/scripted"
    assert {RAG.promptHash, RAG.extractor, PROV.startedAtTime, TG.inToken, TG.outToken} <= call.keys()
    assert call[PROV.used].value == chunk
    made_up = nodes(engine)["The Weather Office: weather (SUSPECTED)"]
    assert RAG.claimSubject not in made_up, "a name that means no entity stays a name"
    evidence = known_of(engine, made_up[RAG.evidence])
    assert evidence[RAG.verified].value == "false"
    assert TG.sourceCharOffset not in evidence
    assert iris.entity("none") not in {quad.object for quad in engine.store.quads()}
    assert sound(engine)
    assert run_shapes(engine.store.quads()) == []


def test_the_prompt_has_the_names_of_the_chunk(
    paper: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    read(engine_with(engine_of, model), paper)
    (prompt,) = (one.prompt for one in model.requests if is_asked(one) and LETTER in one.prompt)
    names = prompt.partition("<names>")[2].partition("</names>")[0]
    assert {"Skell Forge", "Rhoda Tennant"} <= set(names.split("; "))


def test_nothing_is_asked_or_written_twice(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_with(engine_of, model, claims__build=True)
    assert engine.ingest([paper]).stages["claims"] == 4
    before, commit = content(engine), engine.store.commit_number()
    assert engine.ingest([paper]).stages["claims"] == 0
    assert engine.refresh("claims").counts.kept == 4
    assert (asked(model), engine.store.commit_number()) == (4, commit)
    again = engine.refresh("claims", again=True)
    assert (asked(model), again.counts.done) == (8, 4)
    assert_same(content(engine), before)


def test_another_description_replaces_the_claims(
    paper: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    read(engine_with(engine_of, model, name="kept"), paper).close()
    model.answer_with(answers({PAPER[0]: [FINED]}))
    engine = engine_with(engine_of, model, name="kept", claims__description="fines only")
    assert engine.refresh("claims").counts.done == 4
    assert list(nodes(engine)) == ["Skell Forge: fine (TRUE)"]
    assert "fines only" in model.requests[-1].prompt
    assert sound(engine)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_killed_run_goes_on(
    paper: Path, engine_of: MakeEngine, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    whole = read(engine_with(engine_of, model), paper)
    engine = engine_with(engine_of, model)
    engine.ingest([paper])
    before = asked(model)
    with monkeypatch.context() as dying, suppress(KilledError):
        dying.setattr(engine.store, "commit", killed_after(number, engine.store.commit))
        engine.refresh("claims")
    report = engine.refresh("claims")
    assert (report.counts.kept, report.counts.done) == (number, 4 - number)
    assert asked(model) - before <= 5, "whole chunks are not asked about again"
    assert_same(content(engine), content(whole))


def test_a_budget_ends_the_run_and_what_was_done_stays(
    paper: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_with(engine_of, model, llm__budget_tokens=2500)
    engine.ingest([paper])
    report = engine.refresh("claims")
    assert report.stopped == "budget"
    assert [warning["type"] for warning in report.warnings] == ["budget_spent"]
    assert 0 < report.counts.done < 4
    assert len(nodes(engine)) == report.results["found"] == report.counts.done
    assert sound(engine)


def test_an_answer_that_cannot_be_read_is_a_failure(
    paper: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    model.answer_with(answers({**FOUND, PAPER[1]: Reply("Skell Forge seems to have done it.")}))
    engine = engine_with(engine_of, model, claims__build=True)
    report = engine.ingest([paper])
    assert [(failure.stage, Path(failure.path).name) for failure in report.failures] == [
        ("claims", "paper.txt")
    ]
    assert [warning["type"] for warning in report.warnings] == ["claims_failed"]
    engine.ingest([paper], refresh=True)
    assert len(engine.store.select("claims/failures")) == 1, "reading facts again mends no claims"
    model.answer_with(answers(FOUND))
    mended = engine.refresh("claims")
    assert (mended.counts.done, mended.counts.kept) == (1, 3)
    assert engine.store.select("claims/failures") == []
    assert "Skell Forge: bribery (TRUE)" in nodes(engine)


def test_what_is_rejected_is_recorded(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    wrong = {**FINED, "subject": "NONE"}
    model.answer_with(answers({PAPER[0]: [FINED, wrong], LETTER: [{**DENIED, "start": "long ago"}]}))
    engine = read(engine_with(engine_of, model), paper)
    assert len(nodes(engine)) == 2
    rows = engine.store.select("system/rejected-counts")
    counts = {row["reason"]: row["candidates"] for row in rows}
    assert counts["subject_placeholder"] == counts["invalid_date"] == 1
    assert sound(engine)


def test_an_edit_takes_its_claims(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = read(engine_with(engine_of, model), paper)
    (paper / "paper.txt").write_text(PAPER[0] + "\n")
    engine.ingest([paper])
    assert set(nodes(engine)) == {"Skell Forge: fine (TRUE)", "skell forge: bribery (FALSE)"}
    assert sound(engine)
    count = asked(model)
    engine.refresh("claims")
    assert asked(model) == count


def test_a_retired_chunk_has_no_claims(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    read(engine_with(engine_of, model, name="kept"), paper).close()
    engine = engine_of(name="kept")
    for _ in engine.ask("Who bribed Rhoda Tennant in 1910?"):
        pass
    (paper / "paper.txt").write_text(PAPER[0] + "\n")
    engine.ingest([paper])
    assert engine.store.query(f"ASK {{ GRAPH ?g {{ ?chunk a {RAG.Tombstone} }} }}").boolean
    assert "Skell Forge: bribery (TRUE)" not in nodes(engine)
    assert sound(engine)


def test_forgetting_leaves_nothing(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = read(engine_with(engine_of, model, name="kept"), paper)
    assert engine.response_cache is not None
    engine.close()
    engine = engine_of(name="kept")
    told = [message.response for message in engine.ask("Which claims are there?", pipeline="sparql")]
    assert "The Weather Office: weather (SUSPECTED)" in "".join(told), "a trace holds the claims too"
    forget_documents(engine, find_documents(engine.store, [str(paper / "paper.txt")]))
    assert list(nodes(engine)) == ["skell forge: bribery (FALSE)"]
    for quad in engine.store.quads():
        assert "Weather Office" not in str(quad)
        assert "bribed Rhoda Tennant in 1910" not in str(quad)
        assert "fine (TRUE)" not in str(quad)
    assert sound(engine)
    engine.close()
    for file in engine.place.root.rglob("*") if engine.place else ():
        if file.is_file():
            data = file.read_bytes()
            assert b"Weather Office" not in data, file
            assert b"the Port of Skell fined" not in data, file


def test_an_entity_that_goes_takes_its_links(
    paper: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    """Only the other document named the entity so that the extraction found it."""
    (paper / "letter.txt").write_text("It is not so: nobody bribed anybody at all.\n")
    model.answer_with(answers({"It is not so": [{**DENIED, "quotes": ["nobody bribed anybody"]}]}))
    engine = read(engine_with(engine_of, model), paper)
    assert nodes(engine)["skell forge: bribery (FALSE)"][RAG.claimSubject] == iris.entity("skell-forge")
    forget_documents(engine, find_documents(engine.store, [str(paper / "paper.txt")]))
    left = nodes(engine)["skell forge: bribery (FALSE)"]
    assert RAG.claimSubject not in left
    assert RAG.claimObject not in left
    assert left[RAG.subjectName].value == "skell forge"
    assert sound(engine)


def test_contradictions_are_listed(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = read(engine_with(engine_of, model), paper)
    (row,) = cookbook(engine, "claim-contradictions")
    assert row["differ"] == "status"
    assert {row["claim"], row["other_claim"]} == {
        "Skell Forge: bribery (TRUE)",
        "skell forge: bribery (FALSE)",
    }
    assert {row["title"], row["other_title"]} == {"Paper", "Letter"}


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        ({}, {"status": "FALSE"}, "status"),
        ({}, {"status": "SUSPECTED"}, None),
        ({}, {"status": "FALSE", "type": "theft"}, None),
        ({}, {"status": "FALSE", "object": "Port Merrin"}, None),
        ({"start": "1910", "end": "1910"}, {"status": "FALSE", "start": "1912-05"}, None),
        ({"start": "1910", "end": "1912"}, {"status": "FALSE", "start": "1911-05-01"}, "status"),
        ({"start": "1910"}, {"start": "1912-05"}, "period"),
        ({"start": "1910"}, {"start": "1910-05"}, None),
        ({"type": "mayor"}, {"type": "mayor", "object": "Port Merrin"}, "object"),
        ({"type": "mayor", "end": "1909"}, {"type": "mayor", "object": "Port Merrin", "start": "1910"}, None),
        ({}, {"object": "Port Merrin"}, None),
    ],
)
def test_what_excludes_each_other(
    docs: Path,
    engine_of: MakeEngine,
    scripted_server: ScriptedServer,
    first: dict[str, Any],
    second: dict[str, Any],
    differ: str | None,
) -> None:
    quote, other = "The yard was busy that year.", "The yard was quiet that year."
    (docs / "one.txt").write_text(quote)
    (docs / "two.txt").write_text(other)
    base = claim("Rhoda Tennant", "bribery", "TRUE", quote, object="Skell Forge")
    told = {**base, "quotes": [other], "description": "said otherwise"}
    scripted_server.answer_with(answers({quote: [{**base, **first}], other: [{**told, **second}]}))
    engine = read(engine_with(engine_of, scripted_server), docs)
    found = cookbook(engine, "claim-contradictions")
    assert [row["differ"] for row in found] == ([differ] if differ else [])


def test_claims_of_an_entity_and_of_a_status(
    paper: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = read(engine_with(engine_of, model), paper)
    assert len(cookbook(engine, "claims")) == 4
    of_rhoda = cookbook(engine, "claims", names=["rhoda tennant"])
    assert {row["claim"] for row in of_rhoda} == {
        "Skell Forge: bribery (TRUE)",
        "skell forge: bribery (FALSE)",
    }
    (suspected,) = cookbook(engine, "claims", statuses=["SUSPECTED"])
    assert (suspected["subject"], suspected["verified"]) == ("The Weather Office", "false")
    assert cookbook(engine, "claims", names=["Skell Forge"], statuses=["SUSPECTED"]) == []
    pair = (iris.entity("rhoda-tennant"), iris.entity("isak-wennerby"))
    merge(engine, [Merge(pair[0], pair, "one person", 1.0)], by=iris.person("Ada"))
    assert cookbook(engine, "claims", names=["Isak Wennerby"]) == of_rhoda, "what is merged counts as one"


def test_without_a_model(paper: Path, engine_of: MakeEngine) -> None:
    engine = engine_of(claims__build=True)
    report = engine.ingest([paper])
    assert "claims" not in report.stages
    assert [warning["type"] for warning in report.warnings] == ["no_llm"]
    with pytest.raises(ConfigError, match="need a language model"):
        engine.refresh("claims")


def test_the_estimate(paper: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_with(engine_of, model, claims__build=True, claims__gleaning_rounds=1)
    planned = estimate(engine, [paper])
    engine.ingest([paper])
    calls = asked(model)
    assert planned.llm.calls == 8 >= calls
    assert asked(model) == calls
    found = estimate_stage(engine, Claims, again=True)
    assert (found.counts.done, found.llm.calls) == (4, 8)
    assert estimate_stage(engine, Claims).llm.calls == 0
