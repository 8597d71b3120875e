"""Concepts of a model: what documents would say of what is asked, over the wire to a scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

QUESTION = "How much capital expenditure had Halden Locks?"
SPENT = "Purchases of property, plant and equipment were 42 million."
TEXTS = {
    "flows.md": f"# Halden Locks\n\n{SPENT}\n",
    "letter.md": "# A letter\n\nCapital is a word for money. Expenditure is a word for what is spent.\n",
    "schleuse.md": "# Die Schleuse\n\nDie Schleuse wurde von zwei Brüdern gebaut und ist noch in Betrieb.\n",
    **{f"n{n}.md": f"# Note {n}\n\nHalden Locks had a note on capital of number {n}.\n" for n in range(4)},
}


@pytest.fixture(params=[{}])
def engine(
    request: pytest.FixtureRequest, tmp_path: Path, scripted_server: ScriptedServer
) -> Iterator[Engine]:
    """A store read by rules, with a scripted model, and further settings."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    with open_engine(tmp_path / "store") as by_rules:
        by_rules.ingest([docs])
    overrides = {
        "llm.model": "openai/m",
        "llm.api_base": scripted_server.base_url,
        "llm.api_key": "sk-scripted",
        "cache.enabled": False,
        **request.param,
    }
    with open_engine(tmp_path / "store", config=load_settings(overrides=overrides).settings) as opened:
        yield opened


def retrieve(engine: Engine, server: ScriptedServer, listed: str) -> dict[str, Any]:
    server.answer_with(lambda _: listed)
    return engine.retrieve(QUESTION, k=20, stored=True, settings={"grounding.use": "llm"})


def place(found: dict[str, Any], text: str) -> int:
    return next(n for n, result in enumerate(found["results"]) if text in result["text"])


def test_chunks_are_found_by_what_the_documents_say(engine: Engine, scripted_server: ScriptedServer) -> None:
    plain = retrieve(engine, scripted_server, "capital expenditure")
    named = retrieve(engine, scripted_server, "purchases of property, plant and equipment\n")
    assert place(named, SPENT) == 0 < place(plain, SPENT)


def test_words_of_the_question_change_nothing(engine: Engine, scripted_server: ScriptedServer) -> None:
    """Whatever the model lists, names of the question are looked for."""
    ways = ["Halden Locks", "- Halden Locks\n* capital\nexpenditure", "\n\n"]
    found = [retrieve(engine, scripted_server, listed)["results"] for listed in ways]
    ranks = [[(one["chunk"], one["signals"]["words"]) for one in each] for each in found]
    assert ranks[0] == ranks[1] == ranks[2]


def test_the_model_is_told_the_languages_of_the_documents(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    retrieve(engine, scripted_server, "Halden Locks")
    (request,) = scripted_server.requests
    assert "en 6, de 1" in request.prompt


@pytest.mark.parametrize("engine", [{"extract.use": "rules"}], indirect=True)
def test_the_language_of_few_documents_among_many_is_left_out(
    engine: Engine, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    for number in range(20):
        (more / f"note{number}.md").write_text(f"# Note\n\nThe lock keeper wrote the note of day {number}.\n")
    engine.ingest([more])
    retrieve(engine, scripted_server, "Halden Locks")
    prompt = scripted_server.requests[-1].prompt
    assert "en 26" in prompt
    assert "de 1" not in prompt
    assert "those of the documents too" not in prompt


def test_names_of_the_question_come_first_and_none_is_cut(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    found = retrieve(engine, scripted_server, "\n".join(f"thing {n}" for n in range(30)))
    trace = engine.traces[found["trace"]]
    concepts = [concept.text for step in trace.steps for concept in step.items.get("concepts", ())]
    assert concepts.index("Halden Locks") < concepts.index("thing 0")
    assert len(concepts) == 12


@pytest.mark.parametrize("engine", [{"embedding.model": "openai/test-embedding"}], indirect=True)
def test_they_count_for_meaning_too(engine: Engine, scripted_server: ScriptedServer) -> None:
    engine.rebuild_indexes()
    scripted_server.reset()
    plain, named = (retrieve(engine, scripted_server, listed) for listed in ("\n", f"{SPENT}\nthing"))
    asked = [r.body["input"] for r in scripted_server.requests if r.path.endswith("/embeddings")]
    assert [QUESTION] in asked
    assert [QUESTION, f"{SPENT}\nthing"] in asked
    meaning = [
        next(one["signals"]["meaning"] for one in found["results"] if SPENT in one["text"])
        for found in (plain, named)
    ]
    assert meaning[1] > meaning[0]
