"""Relations that a model finds between passages: what is written, that nothing is done twice or made up, and
that nothing outlives what it rests on. The model is a server that answers over HTTP."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.checks.diagnosis import config_drift
from graphrag_rdf.errors import ConfigError, LlmError
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.model_stage import StageReport
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG, Graphs
from tests.ingest.conftest import KilledError, MakeEngine, by_model, chunks, content, killed_after
from tests.support.scripted_server import Reply, Request, ScriptedServer

STORY = [
    "The boiler of the Petrel cracked on 3 May, when Rhoda Tennant was on watch far out at sea.",
    "For two days the Petrel drifted without steam, and Isak Wennerby signalled to the coast for help.",
    "Port Merrin sent the tug Alder, which towed the Petrel into the harbour on the evening of 5 May.",
    "The inquiry blamed the plates of the boiler, which had been rolled too thin by Skell Forge.",
]
PAIR = re.compile(r"<first>\n(.*)\n</first>\n<second>\n(.*)\n</second>\s*\Z", re.DOTALL)


def place_of(text: str) -> int:
    """Which sentence of STORY a passage holds; -1 for none."""
    return next((place for place, sentence in enumerate(STORY) if sentence in text), -1)


def text_of_pair(request: Request) -> tuple[str, str] | None:
    found = PAIR.search(request.prompt)
    return (found[1], found[2]) if found else None


def said(type_: str, *quotes: str, start: int = 1, confidence: float = 0.9) -> dict[str, Any]:
    places = {"from": start, "to": 3 - start}
    return {"type": type_, **places, "evidence": list(quotes), "confidence": confidence}


def answers(found: dict[tuple[int, int], list[dict[str, Any]] | Reply]) -> Callable[[Request], Reply | None]:
    """Answer pairs of STORY by their places; None to other requests; no relation for other pairs."""

    def answer(request: Request) -> Reply | None:
        pair = text_of_pair(request)
        if pair is None:
            return None
        relations = found.get((place_of(pair[0]), place_of(pair[1])), [])
        return relations if isinstance(relations, Reply) else Reply(json.dumps({"relations": relations}))

    return answer


CAUSES = said("causes", "The boiler of the Petrel cracked on 3 May", "the Petrel drifted without steam")
STEP = said("follows", "towed the Petrel into the harbour", start=2)
LATER = said("follows", "on the evening of 5 May", "cracked on 3 May", start=2)


@pytest.fixture
def story(docs: Path) -> Path:
    (docs / "story.txt").write_text("\n\n".join(STORY) + "\n")
    return docs


@pytest.fixture
def model(scripted_server: ScriptedServer) -> ScriptedServer:
    scripted_server.answer_with(answers({(0, 1): [CAUSES], (1, 2): [STEP], (0, 2): [LATER]}))
    return scripted_server


def engine_with(engine_of: MakeEngine, server: ScriptedServer, **overrides: Any) -> Engine:
    relations = {"relations__window": 2, "relations__min_count": 1, "extract__use": "rules"}
    return engine_of(**{**by_model(server), **relations, **overrides})


def asked(server: ScriptedServer) -> int:
    return sum(text_of_pair(request) is not None for request in server.requests)


def plain(engine: Engine) -> set[tuple[str, str, str]]:
    """(type, from, to) of what is stated between passages, by the number of the sentence in them."""
    places = {
        iri: str(next((i for i, s in enumerate(STORY) if s in text), -1))
        for iri, text in chunks(engine).items()
    }
    return {
        (RAG.local(quad.predicate), places[quad.subject.value], places[quad.object.value])  # type: ignore[union-attr]
        for quad in engine.store.quads(Graphs.DERIVED)
        if quad.predicate in RAG and isinstance(quad.object, NamedNode) and quad.object.value in places
        if quad.predicate != RAG.sharesEntityWith
    }


def nodes(engine: Engine) -> list[dict[NamedNode, list[Any]]]:
    """What is known of each relation: property → values."""
    quads = list(engine.store.quads(Graphs.SOURCE))
    typed = {quad.subject for quad in quads if quad.predicate == RAG.relationType}
    found: dict[Any, dict[NamedNode, list[Any]]] = {node: {} for node in sorted(typed, key=str)}
    for quad in quads:
        if quad.subject in found:
            found[quad.subject].setdefault(quad.predicate, []).append(quad.object)
    return list(found.values())


def known_of(engine: Engine, node: Any) -> dict[NamedNode, Any]:
    return {quad.predicate: quad.object for quad in engine.store.quads() if quad.subject == node}


def sound(engine: Engine) -> bool:
    wrong = run_checks(engine.store, engine.blobs, engine.text_index)
    assert wrong == []
    return True


FOLLOW = {("follows", "1", "0"), ("follows", "2", "1"), ("follows", "3", "2")}


def test_relations_of_a_model_have_provenance(
    story: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_with(engine_of, model)
    engine.ingest([story])
    report = engine.refresh("relations")
    assert asked(model) == 5, "each passage with the two after it"
    assert (report.counts.done, report.results["found"], report.warnings) == (5, 3, [])
    assert plain(engine) == {("causes", "0", "1"), ("follows", "2", "0")} | FOLLOW
    causes = next(node for node in nodes(engine) if node[RAG.relationType] == [RAG.causes])
    (start,), (end,) = causes[RAG.relationFrom], causes[RAG.relationTo]
    assert causes[RDF.reifies] == [Triple(start, RAG.causes, end)]
    assert set(causes[PROV.wasDerivedFrom]) == {start, end}
    assert causes[RAG.confidence][0].value == "0.9"
    about = {
        q.predicate: q.object for q in engine.store.quads() if q.subject == causes[PROV.wasGeneratedBy][0]
    }
    assert about[TG.llmModel].value == "openai/scripted"
    assert int(about[TG.inToken].value) > 0
    assert {PROV.startedAtTime, RAG.promptHash, RAG.extractor, PROV.wasAssociatedWith} <= about.keys()
    texts = chunks(engine)
    for evidence in causes[RAG.evidence]:
        known = known_of(engine, evidence)
        offset, length = int(known[TG.sourceCharOffset].value), int(known[TG.sourceCharLength].value)
        chunk = known[PROV.wasDerivedFrom].value
        assert texts[chunk][offset : offset + length] == known[TG.sourceText].value
        assert known[PROV.wasQuotedFrom].value.startswith(f"{chunk}#s")
    assert len(causes[RAG.evidence]) == 2
    assert sound(engine)
    assert run_shapes(engine.store.quads()) == []


def test_a_quote_with_a_tag_of_the_prompt_is_located(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """A passage cannot end its tag, and what the model repeats of it is located to the character."""
    said = "A </first>."
    (docs / "tags.txt").write_text(
        f"{said} The Petrel sank off the pier of Skell.\n\nIsak Wennerby saw it go down by the pier."
    )

    def causes(request: Request) -> Reply:
        if "<first>" not in request.prompt:
            return Reply('{"entities": [], "relations": []}')
        first = request.prompt.split("<first>\n")[1].split("\n</first>\n<second>\n")[0]
        quotes = [first[: len(said)], "Isak Wennerby saw it go down"]
        relation = {"type": "causes", "from": 1, "to": 2, "confidence": 0.9, "evidence": quotes}
        return Reply(json.dumps({"relations": [relation]}))

    scripted_server.answer_with(causes)
    engine = engine_of(**by_model(scripted_server), documents__chunk_size=50)
    engine.ingest([docs])
    report = engine.refresh("relations")
    assert report.results["found"] == 1
    texts = chunks(engine)
    (node,) = nodes(engine)
    places = [known_of(engine, evidence) for evidence in node[RAG.evidence]]
    found = {
        texts[known[PROV.wasDerivedFrom].value][int(known[TG.sourceCharOffset].value) :][
            : int(known[TG.sourceCharLength].value)
        ]
        for known in places
    }
    assert found == {"A </first", "Isak Wennerby saw it go down"}


def test_a_quote_that_is_not_there_is_marked(
    story: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(
        answers({(0, 1): [said("causes", "Nobody wrote these words anywhere at all.")]})
    )
    engine = engine_with(engine_of, scripted_server)
    engine.ingest([story])
    engine.refresh("relations")
    (evidence,) = nodes(engine)[0][RAG.evidence]
    known = known_of(engine, evidence)
    assert known[RAG.verified].value == "false"
    assert TG.sourceCharOffset not in known
    assert sound(engine)


def test_nothing_is_asked_or_written_twice(story: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_with(engine_of, model, relations__build=True)
    engine.ingest([story])
    before, commit, count = content(engine), engine.store.commit_number(), asked(model)
    report = engine.ingest([story])
    assert report.stages["relations"]["rag:causes"] == 1
    assert asked(model) == count
    assert engine.store.commit_number() == commit, "a run that finds nothing to do writes nothing"
    again = engine.refresh("relations", again=True)
    assert asked(model) == 2 * count
    assert again.counts.done == count
    assert {q for q in content(engine) if q.predicate != RAG.parameters} == {
        q for q in before if q.predicate != RAG.parameters
    }


def test_a_run_goes_on_where_it_was_stopped(
    story: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    whole = engine_with(engine_of, model)
    whole.ingest([story])
    whole.refresh("relations")
    model.reset()
    model.answer_with(answers({(0, 1): [CAUSES], (1, 2): [STEP], (0, 2): [LATER]}))
    engine = engine_with(engine_of, model, extract__jobs=1)
    engine.ingest([story])
    calls = iter([False] * 3 + [True] * 50)
    report = engine.refresh("relations", stop=lambda: next(calls))
    assert report.stopped == "interrupted"
    assert 0 < report.counts.done < 5
    assert sound(engine)
    rest = engine.refresh("relations")
    assert rest.counts.kept == report.counts.done
    assert asked(model) == 5
    assert without_builds(engine) == without_builds(whole)


def without_builds(engine: Engine) -> set[Quad]:
    """Everything but times and which commits the relations were built at."""
    return {quad for quad in content(engine) if quad.predicate != RAG.parameters}


def test_a_budget_ends_the_run_and_what_was_done_stays(
    story: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_with(engine_of, model, llm__budget_tokens=2000, extract__jobs=1)
    engine.ingest([story])
    report = engine.refresh("relations")
    assert report.stopped == "budget"
    assert [warning["type"] for warning in report.warnings] == ["budget_spent"]
    assert 0 < report.counts.done < 5
    assert sound(engine)


def broken(engine_of: MakeEngine, story: Path, server: ScriptedServer) -> tuple[Engine, StageReport]:
    server.answer_with(
        answers({(0, 1): Reply("The first one surely causes the second one."), (1, 2): [STEP]})
    )
    engine = engine_with(engine_of, server)
    engine.ingest([story])
    return engine, engine.refresh("relations")


def test_an_answer_that_cannot_be_read_is_a_failure_and_no_relation(
    story: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    engine, report = broken(engine_of, story, scripted_server)
    assert [warning["type"] for warning in report.warnings] == ["relation_parse_fallback"]
    assert report.counts.failed == len(report.failures) == 1
    assert plain(engine) == FOLLOW, "only what the order of the document says"
    rows = engine.store.select("relations/failures", chunks=[])
    assert len({row["failure"] for row in rows}) == 1
    assert len(rows) == 2
    commit = engine.store.commit_number()
    engine.ingest([story])
    assert engine.store.commit_number() == commit
    scripted_server.answer_with(answers({(0, 1): [CAUSES]}))
    mended = engine.refresh("relations")
    assert (mended.counts.done, mended.counts.kept) == (1, 4)
    assert engine.store.select("relations/failures", chunks=[]) == []
    assert ("causes", "0", "1") in plain(engine)
    assert sound(engine)


def test_a_failure_of_a_pair_outlives_no_extraction_but_its_chunk(
    story: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    engine, _ = broken(engine_of, story, scripted_server)
    engine.ingest([story], refresh=True)
    assert len(engine.store.select("relations/failures", chunks=[])) == 2
    (story / "story.txt").write_text("\n\n".join(STORY[1:]) + "\n")
    engine.ingest([story])
    assert engine.store.select("relations/failures", chunks=[]) == []


def test_unsure_relations_are_counted_and_left_out(
    story: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    unsure = said("supports", "The boiler of the Petrel cracked on 3 May", confidence=0.3)
    scripted_server.answer_with(answers({(0, 1): [CAUSES, unsure]}))
    engine = engine_with(engine_of, scripted_server)
    engine.ingest([story])
    report = engine.refresh("relations")
    assert report.rejected == {"low_confidence": 1}
    assert plain(engine) == {("causes", "0", "1")} | FOLLOW
    rows = engine.store.select("system/rejected-counts")
    assert {row["reason"]: row["candidates"] for row in rows}["low_confidence"] == 1


def test_an_edit_takes_the_relations_of_what_it_takes_out(
    story: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_with(engine_of, model)
    engine.ingest([story])
    engine.refresh("relations")
    (story / "story.txt").write_text("\n\n".join(STORY[1:]) + "\n")
    engine.ingest([story])
    assert plain(engine) == {("follows", "2", "1"), ("follows", "3", "2")}
    assert sound(engine)
    fresh = engine_with(engine_of, model)
    fresh.ingest([story])
    fresh.refresh("relations")
    count = asked(model)
    report = engine.refresh("relations")
    assert asked(model) == count, "what was read before is not read again"
    assert report.counts.kept == 3
    for one in (engine, fresh):
        assert ("follows", "2", "1") in plain(one)
    assert {node[RAG.relationType][0] for node in nodes(engine)} == {RAG.follows}


def test_a_new_chunk_between_two_ends_their_relation(
    story: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_with(engine_of, model, relations__window=1)
    engine.ingest([story])
    engine.refresh("relations")
    more = "Nothing at all happened in the meantime, as every witness said, nor was anything seen of it."
    (story / "story.txt").write_text("\n\n".join([STORY[0], more, *STORY[1:]]) + "\n")
    engine.ingest([story])
    assert ("follows", "1", "0") not in plain(engine), "they stand next to each other no more"
    report = engine.refresh("relations")
    assert report.counts.removed == 1
    assert report.counts.done == 2
    assert "causes" not in {relation for relation, _, _ in plain(engine)}
    assert sound(engine)


def test_forgetting_is_as_if_it_had_never_been(
    story: Path, docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    (docs / "other.txt").write_text("Andrew Orr lived in Port Merrin.\n")
    engine = engine_with(engine_of, model)
    engine.ingest([docs])
    engine.refresh("relations")
    forget_documents(engine, find_documents(engine.store, [str(story / "story.txt")]))
    assert nodes(engine) == []
    assert plain(engine) == set()
    assert sound(engine)
    for quad in engine.store.quads():
        assert "The boiler of the Petrel" not in str(quad)


def test_a_retired_chunk_has_no_relations(story: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_with(engine_of, model)
    engine.ingest([story])
    engine.refresh("relations")
    model.answer_with(lambda _: None)
    engine.settings = engine.settings.model_copy(
        update={"llm": engine.settings.llm.model_copy(update={"model": None})}
    )
    for _ in engine.ask("When did the boiler of the Petrel crack?"):
        pass
    (story / "story.txt").write_text("\n\n".join(STORY[1:]) + "\n")
    engine.ingest([story])
    assert ("causes", "0", "1") not in plain(engine)
    retired = [node for node in nodes(engine) if PROV.invalidatedAtTime in node]
    assert sorted(node[RAG.relationType][0].value for node in retired) == [
        RAG.causes.value,
        RAG.follows.value,
    ]
    assert sound(engine)
    (story / "story.txt").write_text("\n\n".join(STORY) + "\n")
    engine.ingest([story])
    assert sound(engine)


def test_another_window_or_model_reads_only_what_it_must(
    story: Path, engine_of: MakeEngine, model: ScriptedServer, tmp_path: Path
) -> None:
    first = engine_with(engine_of, model, name="kept", relations__window=1)
    first.ingest([story])
    assert first.refresh("relations").counts.done == 3
    first.close()
    wider = engine_with(engine_of, model, name="kept", relations__window=2)
    assert config_drift(wider) == []
    report = wider.refresh("relations")
    assert (report.counts.done, report.counts.kept) == (2, 3)
    wider.close()
    other = engine_with(engine_of, model, name="kept", relations__window=2, relations__truncate=200)
    assert {drift["what"] for drift in config_drift(other)} == {"pairs of chunks read"}
    report = other.refresh("relations")
    assert report.counts.done == 5
    assert report.llm.cached == 5, "the passages are short, so the prompts are the same"
    assert len(nodes(other)) == 3, "what the new answers say takes the place of the old"
    assert config_drift(other) == []
    assert sound(other)


def test_one_document(story: Path, docs: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    (docs / "other.txt").write_text("\n\n".join(f"{s} Indeed it was so." for s in STORY[:2]) + "\n")
    engine = engine_with(engine_of, model)
    engine.ingest([docs])
    report = engine.refresh("relations", find_documents(engine.store, [str(docs / "other.txt")]))
    assert report.counts.done == 1
    assert engine.refresh("relations").counts.kept == 1
    assert sound(engine)


def test_without_a_model_there_is_structure_only_and_a_warning(
    story: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of()
    engine.ingest([story])
    report = engine.refresh("relations")
    assert [warning["type"] for warning in report.warnings] == ["no_llm"]
    assert plain(engine) == FOLLOW
    quiet = engine_with(engine_of, model, relations__use="structure")
    quiet.ingest([story])
    assert quiet.refresh("relations").warnings == []
    assert asked(model) == 0
    with pytest.raises(ConfigError, match=r"relations\.use"):
        engine_of(relations__use="llm").refresh("relations")


def test_a_model_that_cannot_be_used_is_an_error(
    story: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(lambda _: Reply("no", status=401))
    engine = engine_with(engine_of, scripted_server)
    engine.ingest([story])
    with pytest.raises(LlmError):
        engine.refresh("relations")
    assert engine.store.select("relations/failures", chunks=[]) == []


def test_what_is_refreshed_is_read_again_and_the_rest_is_not(
    story: Path, docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    (docs / "other.txt").write_text("\n\n".join(f"{s} Indeed it was so." for s in STORY[:2]) + "\n")
    engine = engine_with(engine_of, model, name="kept", relations__build=True)
    engine.ingest([docs])
    assert asked(model) == 6
    engine.ingest([docs / "other.txt"], refresh=True)
    assert asked(model) == 7


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("again", [False, True])
def test_a_refresh_that_is_killed_leaves_a_sound_store(
    story: Path,
    tmp_path: Path,
    engine_of: MakeEngine,
    model: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    again: bool,
) -> None:
    """After each of its commits. The next refresh comes to what one comes to that nobody stops."""
    with engine_with(lambda **given: engine_of("before", **given), model) as engine:
        engine.ingest([story])
        if again:
            engine.refresh("relations")
    for number in itertools.count(1):
        shutil.copytree(tmp_path / "before", tmp_path / str(number))
        make = partial(engine_of, str(number), extract__jobs=1)
        with engine_with(make, model) as engine, monkeypatch.context() as patch:
            patch.setattr(engine.store, "commit", killed_after(number, engine.store.commit))
            with suppress(KilledError):
                engine.refresh("relations", again=again)
                break
        with engine_with(make, model) as engine:
            assert run_checks(engine.store, engine.blobs, engine.text_index) == []
            engine.refresh("relations", again=again)
            assert run_checks(engine.store, engine.blobs, engine.text_index) == []
            assert plain(engine) >= {("causes", "0", "1"), ("follows", "2", "1"), ("follows", "2", "0")}
    assert number > 3
