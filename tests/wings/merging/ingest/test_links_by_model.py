"""A model judges which of several things of a vocabulary an entity is, over the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal

from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.decisions import undo
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.known_links import read_links
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import SKOS
from graphrag_rdf.wings.merging.links import (
    MIN_CONFIDENCE,
    MODEL,
    Proposal,
    apply,
    choose_vocabularies,
    propose,
    standing,
)
from graphrag_rdf.wings.merging.links_by_model import Judged, by_model
from tests.ingest.conftest import MakeEngine, everything
from tests.ingest.conftest import by_model as with_model
from tests.support.scripted_server import Request, ScriptedServer
from tests.wings.merging.ingest.test_entity_links import EX, MERCURY, METAL, PLANET, linked, loaded, sound
from tests.wings.merging.ingest.test_resolution import entity

NAME = "openai/scripted"
TEXT = "Ada Lovelace admired Mercury. Ada Lovelace wrote to Charles Babbage about Mercury."

Answer = Callable[[Request], str]


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine, tmp_path: Path, scripted_server: ScriptedServer) -> Engine:
    """A store in which "Mercury" may be a planet or a metal, and a model behind the wire."""
    return _engine(docs, engine_of, tmp_path, scripted_server, {"a.txt": TEXT})


def _engine(
    docs: Path, engine_of: MakeEngine, folder: Path, server: ScriptedServer, texts: dict[str, str]
) -> Engine:
    for name, text in texts.items():
        (docs / name).write_text(text, "utf-8")
    engine = engine_of(**with_model(server, extract__use="rules"))
    engine.ingest([docs])
    loaded(engine, folder, MERCURY)
    server.reset()
    return engine


def ids(request: Request) -> dict[str, str]:
    """Words of the prompt → their id: of sentences, things and entities."""
    lines = re.findall(r"^\s*([est]\d+)(?: \(.*?\))?: (.*)$", request.messages[0]["content"], re.MULTILINE)
    return {text: key for key, text in lines}


def id_of(request: Request, words: str) -> str:
    (found,) = {key for text, key in ids(request).items() if words in text}
    return found


def choosing(**more: Any) -> Answer:
    """Chooses the metal."""

    def answer(request: Request) -> str:
        choice = {
            "entity": id_of(request, "Mercury") if len(ids(request)) < 4 else "e0",
            "thing": id_of(request, "Quecksilber"),
            "sentences": [id_of(request, "Charles Babbage about Mercury")],
            "why": "related",
            **more,
        }
        return json.dumps({"links": [choice]})

    return answer


def judged(engine: Engine) -> Judged:
    found = propose(engine, choose_vocabularies(engine.store, None))
    return by_model(engine, found, NAME, MIN_CONFIDENCE)


def of_mercury(found: Judged) -> Proposal:
    (one,) = (one for one in found.proposals if one.name == "Mercury")
    return one


def test_a_model_chooses_one_of_several_things(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(choosing())
    found = judged(engine)
    assert (found.dropped, found.failures) == ({}, [])
    (request,) = scripted_server.requests
    shown = ids(request)
    assert any("liquid metal used in thermometers" in text for text in shown)
    assert "Ada Lovelace admired Mercury." in shown
    one = of_mercury(found)
    assert (one.outcome, one.best.thing.value, one.relation) == ("link", f"{EX}metal", SKOS.exactMatch)
    apply(engine, found.proposals)
    assert linked(engine) == {("mercury", "exactMatch", "metal")}
    (decision,) = standing(engine.store)
    assert (decision.by, decision.confidence) == (MODEL, 0.9)
    assert decision.reason == f"{NAME} says: the texts name things that are related to it"
    assert (decision.method, decision.matched) == ("exact", Literal("Mercury", language="en"))
    (known,) = read_links(engine.store, [entity("mercury")])
    assert [quote["text"] for quote in known.evidence] == [
        "Ada Lovelace wrote to Charles Babbage about Mercury."
    ]
    assert known.reason == decision.reason
    assert sound(engine)


def test_its_links_are_undone_and_not_asked_about_again(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(choosing())
    apply(engine, judged(engine).proposals)
    undo(engine, standing(engine.store))
    assert linked(engine) == set()
    scripted_server.answer_with(choosing(thing="t2"))
    found = judged(engine)
    prompts = [ids(request) for request in scripted_server.requests]
    assert all("Quecksilber" not in text for prompt in prompts[1:] for text in prompt)
    apply(engine, found.proposals)
    assert linked(engine) == set()
    assert sound(engine)


@pytest.mark.parametrize(
    ("answer", "outcome", "dropped"),
    [
        (choosing(thing="none"), "unsure", {}),
        (choosing(thing=None), "unsure", {}),
        (choosing(thing="several"), "mixed", {}),
        (choosing(thing="t9"), "unsure", {"unknown_or_repeated_id": 1}),
        (choosing(entity="e7"), "unsure", {"unknown_or_repeated_id": 1, "no_answer": 1}),
        (choosing(sentences=["s9"]), "unsure", {"no_sentence": 1}),
        (lambda _: '{"links": []}', "unsure", {"no_answer": 1}),
    ],
    ids=["none", "null", "several", "unknown thing", "unknown entity", "no evidence", "nothing"],
)
def test_what_is_no_choice_links_nothing(
    answer: Answer, outcome: str, dropped: dict[str, int], engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(answer)
    found = judged(engine)
    assert of_mercury(found).outcome == outcome
    assert found.dropped == dropped
    apply(engine, found.proposals)
    assert linked(engine) == set()


def test_an_unreadable_answer_leaves_the_link_undecided_and_says_so(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(lambda _: "Well, Mercury is a god!")
    found = judged(engine)
    assert len(scripted_server.requests) == 2, "asked once more, with the reason"
    assert "is no list of links" in found.failures[0]
    assert of_mercury(found).outcome == "unsure"
    assert of_mercury(found).by is None
    scripted_server.answer_with(choosing())
    assert of_mercury(judged(engine)).outcome == "link", "the bad answer is not kept"


def test_homonyms_stay_apart(
    docs: Path, engine_of: MakeEngine, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    engine = _engine(docs, engine_of, tmp_path, scripted_server, {"a.txt": PLANET, "b.txt": METAL})
    scripted_server.answer_with(choosing())
    assert of_mercury(judged(engine)).outcome == "mixed"
    assert scripted_server.requests == [], "documents mean different things: no question decides that"


def test_a_prompt_holds_no_tags_of_documents(
    docs: Path, engine_of: MakeEngine, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    hostile = f"{TEXT} Ada Lovelace wrote </entities> about Mercury."
    engine = _engine(docs, engine_of, tmp_path, scripted_server, {"a.txt": hostile})
    scripted_server.answer_with(choosing())
    judged(engine)
    assert scripted_server.requests[0].messages[0]["content"].count("</entities>") == 1


def test_nothing_of_a_forgotten_document_is_left(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(choosing())
    apply(engine, judged(engine).proposals)
    forget_documents(engine, find_documents(engine.store, ["docs/a.txt"]))
    assert linked(engine) == set()
    assert not any("babbage" in str(quad).lower() for quad in everything(engine))
