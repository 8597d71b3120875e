"""Look-ups: what the model says is missing is searched for, over the wire, and stands in the trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.trace.catalogue import delete_trace
from graphrag_rdf.trace.export import TraceFormat, export_trace
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.replay import replay
from tests.pipeline.test_evidence import ask, checks
from tests.pipeline.test_with_a_model import settings
from tests.support.pages import Page
from tests.support.scripted_server import Request, ScriptedServer, in_parts, number_of, offered, shown
from tests.support.stores import open_engine

QUESTION = "Where was the wife of the builder of the Ostby bridge born?"
DOCUMENTS = {
    "bridge": "Egon Falk built the Ostby bridge in 1911. The Ostby bridge has four arches.",
    "falk": "Egon Falk lived in Varn for thirty years. In 1920 Egon Falk married Thea Lund.",
    "lund": "Thea Lund painted ships. Thea Lund grew up in Morrow, where her mother sold rope.",
    **{f"town{n}": f"A wife was born in town number {n}. Its builder was born there too." for n in range(12)},
}
Lines = list[dict[str, Any]]


@pytest.fixture
def engine(tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """Three documents that lead from one to the next, among others with the question's words."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    with open_engine(
        tmp_path / "store", config=settings(scripted_server, **{"extract.use": "rules"})
    ) as opened:
        opened.ingest([folder])
        yield opened


def scripted(server: ScriptedServer, *rounds: Callable[[dict[str, str]], Lines]) -> list[str]:
    """A model that answers each selection in turn, the last again and again; its prompts."""
    asked: list[str] = []

    def reply(request: Request) -> str:
        if "knowledge graph will be searched" in request.prompt:
            return "Ostby bridge"
        asked.append(request.prompt)
        choose = rounds[min(len(asked), len(rounds)) - 1]
        cited = next((key for key, line in shown(request.prompt).items() if "Morrow" in line), None)
        answer = f"She grew up in Morrow [{cited}]." if cited else "I don't know."
        return in_parts(request.prompt, choose(offered(request.prompt)), answer)

    server.answer_with(reply)
    return asked


def of(words: str, *missing: str) -> Callable[[dict[str, str]], Lines]:
    """Chooses the sentence with these words, and says what is missing."""
    return lambda offers: [
        {"id": number_of(offers, words), "reasoning": "needed", "score": 1},
        *({"missing": phrase} for phrase in missing),
    ]


def misses(*missing: str) -> Callable[[dict[str, str]], Lines]:
    return lambda _: [{"id": "none"}, *({"missing": phrase} for phrase in missing)]


def looked_up(trace: Trace) -> list[str | None]:
    return [look_up.text for step in trace.steps for look_up in step.items.get("look_ups", ())]


SMALL = {"focus__chunk_tokens": "30"}
"""Room for the first document only."""


@pytest.mark.parametrize("pipeline", ["graph_rag", "hops_rag", "hybrid_rag"])
def test_each_hop_is_searched_for_by_the_name_that_the_last_one_gave(
    engine: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    prompts = scripted(
        scripted_server,
        of("Egon Falk built", "Egon Falk wife married"),
        of("Thea Lund", "Thea Lund born grew up"),
    )
    answer, trace = ask(engine, QUESTION, pipeline, **SMALL)
    first, second, last = prompts
    assert "Thea Lund" not in first
    assert re.search(r"^\[\d+\]\* Egon Falk built", second, re.MULTILINE)
    assert "Morrow" not in second
    for words in ("Egon Falk built", "married Thea Lund", "grew up in Morrow"):
        assert words in " ".join(shown(last).values())
    assert "Morrow" in answer["answer"]
    assert answer["citations"][0]["sources"][0]["title"] == "Lund"
    assert looked_up(trace) == answer["look_ups"] == ["Egon Falk wife married", "Thea Lund born grew up"]
    assert answer["usage"]["llm_calls"] == 3
    assert all(checks(engine, trace).values())


def test_the_trace_tells_what_was_looked_up_and_what_was_found(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted(scripted_server, of("Egon Falk built", "Egon Falk wife married"), misses())
    _, trace = ask(engine, QUESTION, **SMALL)
    focus = next(step for step in trace.steps if step.kind == "focus")
    (look_up,) = to_json(focus.items["look_ups"])
    assert look_up["text"] == "Egon Falk wife married"
    assert look_up["queries"] > 3
    found = [
        selection
        for selection in focus.selections
        if selection.iri and selection.iri.value in look_up["selections"]
    ]
    assert found
    for selection in found:
        assert selection.score
        assert (selection.reasoning or "").startswith("look-up “Egon Falk wife married”: rank ")
    assert [call.purpose for call in focus.calls if call.kind == "llm"] == ["look"]
    assert "Looked up: Egon Falk wife married · 1 chunk(s) by" in render_trace(trace, width=200)
    assert "Egon Falk wife married" in Page(render_page(engine.store, trace)).text
    forms: tuple[TraceFormat, ...] = ("prov-json", "turtle")
    for form in forms:
        assert "Egon Falk wife married" in export_trace(engine.store, engine.blobs, trace.iri, form)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(plain_quads(engine.store)) == []


def test_a_question_with_look_ups_is_asked_again_alike_and_deleted_whole(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    rounds = of("Egon Falk built", "Egon Falk wife married"), of("Thea Lund", "Thea Lund grew up")
    scripted(scripted_server, *rounds)
    _, trace = ask(engine, QUESTION, **SMALL)
    scripted(scripted_server, *rounds)
    again = replay(engine, trace.iri)
    assert looked_up(again.after) == looked_up(trace)
    assert again.same
    delete_trace(engine.store, engine.blobs, trace.iri)
    assert trace.iri.rpartition(":")[2] not in "\n".join(str(quad) for quad in engine.store.quads())


def test_a_model_that_always_misses_something_is_asked_twice(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    phrases = iter(["Egon Falk", "Thea Lund", "Morrow", "rope"])
    prompts = scripted(scripted_server, lambda _: [{"missing": next(phrases)}])
    answer, trace = ask(engine, QUESTION, **SMALL)
    assert looked_up(trace) == ["Egon Falk", "Thea Lund"]
    assert len(prompts) == 3
    assert "Morrow" in answer["answer"], "what the last look-up found goes to the answer unasked"
    assert trace.warnings == ()


@pytest.mark.parametrize(
    ("missing", "searched"),
    [
        (["Ostby bridge builder"], ["Ostby bridge builder"]),  # is there already
        (["zzqx wqqzz"], ["zzqx wqqzz"]),  # is in no document
        (["", "none", "7"], ["7"]),
    ],
)
def test_without_new_chunks_the_model_is_not_asked_again(
    engine: Engine, scripted_server: ScriptedServer, missing: list[Any], searched: list[str]
) -> None:
    prompts = scripted(
        scripted_server, lambda _: [{"id": "none"}, *({"missing": one} for one in (*missing, missing[0]))]
    )
    _, trace = ask(engine, QUESTION)
    assert looked_up(trace) == searched
    assert len(prompts) == 2
    assert all(checks(engine, trace).values())


def test_the_same_is_not_searched_for_twice(engine: Engine, scripted_server: ScriptedServer) -> None:
    prompts = scripted(scripted_server, misses("Thea Lund", "THEA  lund"))
    _, trace = ask(engine, QUESTION, **SMALL)
    assert looked_up(trace) == ["Thea Lund"]
    assert len(prompts) == 3


@pytest.mark.parametrize("number", ["0", "1", "2"])
def test_the_setting_says_how_often(engine: Engine, scripted_server: ScriptedServer, number: str) -> None:
    prompts = scripted(scripted_server, misses("Egon Falk"), misses("Thea Lund"))
    _, trace = ask(engine, QUESTION, focus__lookups=number, **SMALL)
    assert len(looked_up(trace)) == int(number)
    assert len(prompts) == int(number) + 1
    assert ("MISSING:" in prompts[0]) is (number != "0")
    assert "MISSING:" not in prompts[-1]


def test_what_was_chosen_before_stays_in_a_small_prompt(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    prompts = scripted(scripted_server, of("Egon Falk built", "Egon Falk married"), misses())
    _, trace = ask(engine, QUESTION, synthesis__evidence_tokens="30", **SMALL)
    said = " ".join(shown(prompts[-1]).values())
    assert "Egon Falk built" in said
    assert "thirty years" not in said
    assert all(checks(engine, trace).values())


def test_a_look_up_takes_no_more_than_its_tokens(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted(scripted_server, misses("born in town", "Its builder"))
    _, trace = ask(engine, QUESTION, focus__lookups="1", focus__lookup_tokens="50", **SMALL)
    (first, second) = next(step.items["look_ups"] for step in trace.steps if step.items.get("look_ups"))
    assert len(first.selections) == len(second.selections) == 1


def test_what_one_phrase_leaves_is_for_the_next(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted(scripted_server, misses("zzqx wqqzz", "born in town"))
    _, trace = ask(engine, QUESTION, focus__lookups="1", focus__lookup_tokens="50", **SMALL)
    (nothing, found) = next(step.items["look_ups"] for step in trace.steps if step.items.get("look_ups"))
    assert len(nothing.selections) == 0
    assert len(found.selections) == 2


def test_forgetting_a_document_erases_what_was_looked_up(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted(scripted_server, of("Egon Falk built", "Egon Falk wife married"), misses())
    _, trace = ask(engine, QUESTION, **SMALL)
    forget_documents(engine, find_documents(engine.store, ["Falk"]))
    assert "wife married" not in "\n".join(str(quad) for quad in engine.store.quads())
    again = engine.traces[trace.iri]
    assert looked_up(again) == [None]
    assert "(erased)" in render_trace(again)


@pytest.mark.parametrize("room", ["0", "500"])
def test_chunks_that_the_model_passed_over_have_little_room_in_the_answers_prompt(
    engine: Engine, scripted_server: ScriptedServer, room: str
) -> None:
    prompts = scripted(scripted_server, of("Egon Falk built", "zzqx wqqzz"))
    _, trace = ask(engine, QUESTION, synthesis__unchosen_tokens=room)
    said = " ".join(shown(prompts[-1]).values())
    assert "four arches" in said, "the chunk of what was chosen is shown whole"
    assert ("born in town" in said) is (room != "0")
    assert "born in town" in prompts[0]
    synthesis = next(step for step in trace.steps if step.kind == "synthesis")
    assert (synthesis.values["left_out"] > 0) is (room == "0")
    assert all(checks(engine, trace).values())


def test_a_choice_of_nothing_leaves_all_chunks(engine: Engine, scripted_server: ScriptedServer) -> None:
    prompts = scripted(scripted_server, misses("zzqx wqqzz"), misses())
    ask(engine, QUESTION, synthesis__unchosen_tokens="0")
    assert "born in town" in " ".join(shown(prompts[-1]).values())


def test_a_chunk_that_a_look_up_leads_to_again_keeps_its_room(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    """The model overlooked it, and says that it is missing."""
    prompts = scripted(scripted_server, of("Egon Falk built", "born in town number 3"), misses())
    ask(engine, QUESTION, synthesis__unchosen_tokens="0")
    assert "number 3" in prompts[0]
    said = " ".join(shown(prompts[-1]).values())
    assert "number 3" in said


def test_what_a_look_up_found_is_cited_without_a_warning(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted(scripted_server, of("Egon Falk built", "Thea Lund grew up"))
    answer, _ = ask(engine, QUESTION, focus__lookups="1", **SMALL)
    assert answer["citations"][0]["sources"][0]["title"] == "Lund"
    assert "unused_sources" not in [one["type"] for one in answer["warnings"]]


def test_a_look_up_shows_other_parts_of_a_chunk_that_was_shown(
    engine: Engine, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    """The decisive sentence stands in a chunk of which a window was shown."""
    filler = " ".join(f"Weather of day {n} was fair over the quay." for n in range(12))
    keeper = "Its toll keeper Jon Raff kept bees."
    text = f"The Morrow Gazette wrote of the bridge of Kelm. {filler} {keeper}"
    (tmp_path / "gazette.md").write_text(f"# Gazette\n\n{text}\n")
    engine.ingest([tmp_path / "gazette.md"])
    prompts = scripted(scripted_server, of("bridge of Kelm", "Jon Raff toll keeper bees"), misses())
    limits = {"focus__whole_chunks": "0", "focus__window_tokens": "60"}
    _, trace = ask(engine, "What did the Morrow Gazette write of the bridge of Kelm?", **limits)
    assert "Jon Raff" not in prompts[0].partition("<evidence>")[2]
    assert "Jon Raff" in prompts[1].partition("<evidence>")[2]
    parts = [one for one in trace.selections if one.whole and one.sources[0].title == "Gazette"]
    assert len(parts) == 2
    assert len({one.chunk for one in parts}) == 1
    lines = [*shown(prompts[1]).values()]
    assert len(lines) == len({*lines})
    assert all(checks(engine, trace).values())
