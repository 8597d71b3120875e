"""Names written together or apart are one by a decision, and a question finds either by the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.extract.names import apart, together
from graphrag_rdf.ingest.decisions import read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES
from graphrag_rdf.steps.search import entities_called
from graphrag_rdf.wings.merging.joins import TOGETHER_RULE
from tests.ingest.conftest import MakeEngine, by_model
from tests.support.scripted_server import ScriptedServer
from tests.wings.merging.ingest.test_synonyms import canonical

CHAT = """BoYew: Did Yuriko paint the mill, YurikoOrr?
YurikoOrr: Yes, I painted the old mill at Skell.
BoYew: Then Yuriko lives in Tarnay.
YurikoOrr: Yuriko lives in Tarnay, that is right.
"""
TEXT = "Bo Yew met Ada Moor in Leeds. Bo Yew founded the Skell Press. Ada Moor bought PowerPoint in Leeds.\n"
NOTE = "Ada Moor bought Power Point. MacOrr met Ada Moor in Skell. Mac Orr met Bo Yew in Leeds.\n"
FILES = {"chat.txt": CHAT, "text.txt": TEXT, "note.txt": NOTE}


def filled(docs: Path, engine: Engine, names: Sequence[str]) -> Engine:
    for path in docs.iterdir():
        path.unlink()
    for name in names:
        (docs / name).write_text(FILES[name])
        engine.ingest([docs])
    return engine


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine) -> Engine:
    return filled(docs, engine_of(), list(FILES))


def stands(engine: Engine, *slugs: str) -> list[str]:
    links = canonical(engine)
    return [links[slug] for slug in slugs]


def test_both_forms_are_one_and_a_first_name_is_its_speaker(engine: Engine) -> None:
    assert stands(engine, "boyew", "bo-yew") == ["bo-yew"] * 2
    assert stands(engine, "powerpoint", "power-point") == ["power-point"] * 2
    assert stands(engine, "yuriko", "yurikoorr") == ["yurikoorr"] * 2
    assert stands(engine, "macorr", "mac-orr") == ["macorr", "mac-orr"]
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert {decision.by for decision in read_decisions(engine.store, ENTITIES)} == {TOGETHER_RULE}


def test_it_can_be_turned_off(docs: Path, engine_of: MakeEngine) -> None:
    off = filled(docs, engine_of("off", extract__normalise=False), list(FILES))
    assert read_decisions(off.store, ENTITIES) == []
    assert stands(off, "boyew", "bo-yew") == ["boyew", "bo-yew"]


def test_the_order_of_documents_does_not_matter(docs: Path, engine_of: MakeEngine) -> None:
    """Nor whether they come one by one or all at once."""
    slugs = ["boyew", "bo-yew", "powerpoint", "power-point", "yuriko", "yurikoorr"]
    orders = [[*FILES], [*FILES][::-1]]
    found = {tuple(stands(filled(docs, engine_of(f"s{n}"), o), *slugs)) for n, o in enumerate(orders)}
    at_once = engine_of("at-once")
    at_once.ingest([docs])
    assert found == {tuple(stands(at_once, *slugs))}


def test_nothing_is_decided_twice(docs: Path, engine: Engine) -> None:
    before = read_decisions(engine.store, ENTITIES)
    engine.ingest([docs])
    engine.ingest([docs], refresh=True)
    assert read_decisions(engine.store, ENTITIES) == before


def test_a_person_has_the_last_word(docs: Path, engine: Engine) -> None:
    undo(engine, read_decisions(engine.store, ENTITIES))
    assert stands(engine, "boyew", "yuriko") == ["boyew", "yuriko"]
    engine.ingest([docs], refresh=True)
    assert stands(engine, "boyew", "yuriko") == ["boyew", "yuriko"]


@pytest.mark.parametrize(
    "other", ["Yuriko Sato built a house in Leeds.\n", "YurikoSato: I built a house.\nBoYew: Yes.\n"]
)
def test_an_ambiguous_first_name_is_not_merged(
    docs: Path, engine: Engine, engine_of: MakeEngine, other: str
) -> None:
    (docs / "other.txt").write_text(other)
    engine.ingest([docs])
    assert stands(engine, "yuriko", "boyew") == ["yuriko", "bo-yew"]
    fresh = engine_of("fresh")
    fresh.ingest([docs])
    assert stands(fresh, "yuriko", "boyew") == ["yuriko", "bo-yew"]


def test_a_question_finds_one_form_by_the_other(docs: Path, engine_of: MakeEngine) -> None:
    found = filled(docs, engine_of(), ["chat.txt"])

    def called(name: str) -> list[str]:
        index = found.text_index
        return entities_called([name], found.store.select, index).get(name, [])

    assert called("Bo Yew") == called("BoYew") != []
    assert called("bo yew") == called("Boy Ew") == []
    seeds = found.retrieve("Where did Bo Yew meet her?", preview=True)["seeds"]
    assert [seed["label"] for seed in seeds][:1] == ["BoYew"]


WORD = st.text("abcdefghijklmnopqrstuvwxyzäéж", min_size=2, max_size=8).map(str.title)


@given(st.lists(WORD, min_size=2, max_size=4))
def test_together_and_apart_are_inverse(words: list[str]) -> None:
    spaced = " ".join(words)
    joined = together(spaced)
    assert joined == "".join(words)
    assert apart(joined) == spaced
    assert together(joined) is None
    assert apart(spaced) == spaced


# some letters have one case only: 𝐴 stays a capital in lower case, ª a small letter in upper case
TWO_CASES = st.characters().filter(lambda c: c.isascii() or not (c.lower().isupper() or c.upper().islower()))


@given(st.text(TWO_CASES, max_size=30))
def test_words_without_capitals_inside_stay_as_they_are(text: str) -> None:
    assert apart(text.lower()) == text.lower()
    assert apart(text.upper()) == text.upper()
    assert together(text.lower()) is None
    assert apart(text).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("name", ["PhD", "kW", "mRNA", "NATO", "today", "to day", "GmbH", "To day"])
def test_what_is_one_word(name: str) -> None:
    assert apart(name) == name
    assert together(name) is None


@pytest.mark.parametrize("first", [0, 1])
def test_common_nouns_are_one_with_their_plural(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, first: int
) -> None:
    """Whichever comes first. Names in capitals keep apart, as do words that only look like plurals."""
    listed = [
        ["bone", "Bone", "stem cell", "fox", "body", "Orr", "gas"],
        ["bones", "stem cells", "foxes", "bodies", "Orrs", "ga", "bus"],
    ]
    engine = engine_of(**by_model(scripted_server))
    for number in (first, 1 - first):
        (docs / f"{number}.txt").write_text(f"Of {', '.join(listed[number])} and others.", "utf-8")
        names = [{"name": name} for name in listed[number]]
        scripted_server.script(json.dumps({"entities": names, "relations": []}))
        engine.ingest([docs])
    pairs = [("bone", "bones"), ("stem-cell", "stem-cells"), ("fox", "foxes"), ("body", "bodies")]
    assert [stands(engine, *pair) for pair in pairs] == [[one, one] for one, _ in pairs]
    assert stands(engine, "orr", "orrs", "gas") == ["orr", "orrs", "gas"]
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
