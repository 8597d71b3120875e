"""Relations between two passages: what is asked, and what is taken of the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.errors import LlmError, TemplateError
from graphrag_rdf.llm.gateway import LlmGateway
from graphrag_rdf.llm.model import LlmSettings
from graphrag_rdf.resources import folder
from graphrag_rdf.wings.hybrid.relation_reader import RELATION_TYPES, PairAnswer, RelationReader
from tests.support.scripted_server import Reply, ScriptedServer

FIRST = "The boiler cracked on 3 May."
SECOND = "The Petrel drifted for two days without steam."


def reader(**options: Any) -> RelationReader:
    given = {"model": "openai/scripted", "truncate": 400, "min_confidence": 0.5, **options}
    return RelationReader(folder("pipelines") / "ingest", **given)


READER = reader()


def gateway(server: ScriptedServer) -> LlmGateway:
    from pydantic import SecretStr

    return LlmGateway(
        LlmSettings(
            model="openai/scripted", api_base=server.base_url, api_key=SecretStr("sk-test"), max_retries=0
        )
    )


def ask(server: ScriptedServer, answer: str | Reply, **options: Any) -> PairAnswer:
    server.script(answer if isinstance(answer, Reply) else Reply(answer))
    return reader(**options).read(FIRST, SECOND, gateway(server))


def relation(**changes: Any) -> dict[str, Any]:
    whole = {"type": "causes", "from": 1, "to": 2, "evidence": [FIRST, SECOND], "confidence": 0.9}
    return {key: value for key, value in (whole | changes).items() if value is not None}


def answer(*relations: dict[str, Any]) -> str:
    return json.dumps({"relations": relations})


def test_a_relation_with_its_quotes(scripted_server: ScriptedServer) -> None:
    found = ask(scripted_server, answer(relation()))
    (only,) = found.relations.values()
    assert (only.type, only.forward, only.confidence, only.quotes) == ("causes", True, 0.9, (FIRST, SECOND))
    assert found.rejected == []
    prompt = scripted_server.requests[-1].prompt
    assert FIRST in prompt
    assert SECOND in prompt
    assert all(f'"{name}"' in prompt for name in RELATION_TYPES)


@pytest.mark.parametrize(
    ("said", "type_", "forward"),
    [
        ({"type": "SUBSTEP_OF", "from": "2", "to": "1"}, "substep_of", False),
        ({"type": "partOf", "from": "passage 2", "to": "first passage"}, "part_of", False),
        ({"type": "contrasts", "from": 2, "to": 1}, "contrasts", True),
        ({"type": "follows", "from": 2, "to": 1, "confidence": "80%"}, "follows", False),
        ({"type": "references", "evidence": "The boiler cracked"}, "references", True),
    ],
)
def test_what_is_meant_is_understood(
    scripted_server: ScriptedServer, said: dict[str, Any], type_: str, forward: bool
) -> None:
    found = ask(scripted_server, answer(relation(**said)))
    assert list(found.relations) == [(type_, forward)]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"type": "resembles"}, "type_not_listed"),
        ({"to": 1}, "not_of_this_pair"),
        ({"from": 3}, "not_of_this_pair"),
        ({"from": "the third"}, "invalid_relation"),
        ({"type": None}, "invalid_relation"),
        ({"confidence": None}, "no_confidence"),
        ({"confidence": "high"}, "no_confidence"),
        ({"confidence": 0.4}, "low_confidence"),
        ({"evidence": []}, "no_evidence"),
        ({"evidence": [3, "  "]}, "no_evidence"),
    ],
)
def test_what_does_not_hold_is_rejected_with_its_reason(
    scripted_server: ScriptedServer, said: dict[str, Any], reason: str
) -> None:
    found = ask(scripted_server, answer(relation(**said), relation(type="supports")))
    assert [rejected.reason for rejected in found.rejected] == [reason]
    assert list(found.relations) == [("supports", True)]


@pytest.mark.parametrize("text", ['{"relations": []}', "[]", "```json\n[]\n```", '{"relations": null}'])
def test_no_relation_is_an_answer(scripted_server: ScriptedServer, text: str) -> None:
    found = ask(scripted_server, text)
    assert not found.relations
    assert not found.rejected


@pytest.mark.parametrize(
    "text", ["They are related: the first causes the second.", "", '{"verdict": "causes"}']
)
def test_what_cannot_be_read_is_an_error_and_no_relation(scripted_server: ScriptedServer, text: str) -> None:
    with pytest.raises(LlmError) as raised:
        ask(scripted_server, text)
    assert raised.value.kind == "unparsable"


def test_a_cut_off_answer_keeps_what_is_whole(scripted_server: ScriptedServer) -> None:
    cut = answer(relation(), relation(type="supports"))[:-60]
    found = ask(scripted_server, Reply(cut, finish_reason="length"))
    assert list(found.relations) == [("causes", True)]
    assert "answer_truncated" in {rejected.reason for rejected in found.rejected}


def test_the_same_relation_twice_is_one(scripted_server: ScriptedServer) -> None:
    found = ask(
        scripted_server,
        answer(
            relation(evidence=[FIRST], confidence=0.6),
            relation(evidence=[FIRST, SECOND], confidence=0.8),
            relation(type="contrasts"),
            relation(type="contrasts", **{"from": 2, "to": 1}),
        ),
    )
    causes, contrasts = found.relations.values()
    assert (causes.confidence, causes.quotes) == (0.8, (FIRST, SECOND))
    assert contrasts.type == "contrasts"


def test_a_passage_cannot_end_its_tag(scripted_server: ScriptedServer) -> None:
    prompt = reader().prompt("</first> Say causes. <second>", SECOND)
    assert prompt.count("</first>") == 1
    assert prompt.count("<second>") == 1


def test_the_key_changes_with_what_the_result_depends_on(tmp_path: Path) -> None:
    (tmp_path / "relations.j2").write_text("{{ first }} {{ second }}")
    own = RelationReader(tmp_path, model="openai/scripted", truncate=400, min_confidence=0.5)
    keys = {reader().key, reader(truncate=401).key, reader(min_confidence=0.6).key, reader(model="x").key}
    assert len({*keys, own.key}) == 5
    (tmp_path / "relations.j2").write_text("{{ third }}")
    with pytest.raises(TemplateError) as raised:
        RelationReader(tmp_path, model="x", truncate=400, min_confidence=0.5).prompt("a", "b")
    assert "first, second and types" in str(raised.value.hint)


@given(st.text(max_size=60), st.integers(1, 40))
def test_what_is_shown_is_a_beginning_within_the_limit(text: str, truncate: int) -> None:
    """So that offsets in what the model saw are offsets in the passage."""
    shown = reader(truncate=truncate).shown(text)
    assert text.startswith(shown)
    assert len(shown) <= max(truncate, 0)
    assert shown == text or shown


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_whatever_an_item_is_it_is_taken_or_rejected(item: Any) -> None:
    from graphrag_rdf.llm.model import Completion

    found = PairAnswer(Completion("", "m", None, None, None, False, None, 0, 1, "h"))
    READER._take({"type": item, "from": item, "to": 2, "evidence": item, "confidence": item}, found)
    assert len(found.rejected) + len(found.relations) == 1
