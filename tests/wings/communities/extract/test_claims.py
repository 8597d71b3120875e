"""Claims of a chunk: what is asked, and what is taken of the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.errors import LlmError
from graphrag_rdf.llm.gateway import LlmGateway
from graphrag_rdf.llm.model import Completion, LlmSettings
from graphrag_rdf.resources import folder
from graphrag_rdf.wings.communities.extract.claims import Claim, ClaimAnswer, ClaimReader
from tests.support.scripted_server import Reply, ScriptedServer

TEXT = "In 1911 the Board of Skell fined Orr & Sons. Ida Lund is said to have known of it."
FINE = {
    "subject": "Orr & Sons",
    "object": "Board of Skell",
    "type": "Food_Safety",
    "status": "true",
    "start": "1911",
    "end": "1911",
    "description": "The Board of Skell fined Orr & Sons in 1911.",
    "quotes": ["In 1911 the Board of Skell fined Orr & Sons."],
}
KNEW = {
    "subject": "Ida Lund",
    "object": None,
    "type": "complicity",
    "status": "SUSPECTED",
    "description": "Ida Lund is said to have known of the fine.",
    "quotes": ["Ida Lund is said to have known of it."],
}


def reader(**options: Any) -> ClaimReader:
    wanted = {"model": "openai/scripted", "description": "accusations", **options}
    return ClaimReader(folder("pipelines") / "ingest", **wanted)


def gateway(server: ScriptedServer) -> LlmGateway:
    from pydantic import SecretStr

    key = SecretStr("sk-test")
    return LlmGateway(
        LlmSettings(model="openai/scripted", api_base=server.base_url, api_key=key, max_retries=0)
    )


def ask(server: ScriptedServer, *answers: str | Reply, rounds: int = 0) -> ClaimAnswer:
    server.script(*(answer if isinstance(answer, Reply) else Reply(answer) for answer in answers))
    wanted = reader(gleaning_rounds=rounds)
    return wanted.read(TEXT, gateway(server), title="The port", names=["Ida Lund"])


def said(*claims: dict[str, Any]) -> str:
    return json.dumps({"claims": claims})


def only(answer: ClaimAnswer) -> Claim:
    (claim,) = answer.claims.values()
    return claim


def test_a_claim_with_all_its_parts(scripted_server: ScriptedServer) -> None:
    found = ask(scripted_server, said(FINE, KNEW))
    fine, knew = found.claims.values()
    assert (fine.subject, fine.object, fine.type, fine.status) == (
        "Orr & Sons",
        "Board of Skell",
        "food safety",
        "TRUE",
    )
    assert fine.start
    assert (fine.start.lexical, fine.start.datatype.rpartition("#")[2]) == ("1911", "gYear")
    assert (knew.object, knew.status, knew.start, knew.end) == (None, "SUSPECTED", None, None)
    assert found.rejected == []
    prompt = scripted_server.requests[-1].prompt
    for shown in ("accusations", TEXT, "The port", "<names>Ida Lund</names>"):
        assert shown in prompt


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"subject": "NONE"}, "subject_placeholder"),
        ({"subject": ""}, "subject_empty"),
        ({"subject": "'I want nothing from you; I ask nothing of you,' " * 4}, "subject_too_long"),
        ({"status": "NONE"}, "status_not_listed"),
        ({"status": None}, "status_not_listed"),
        ({"quotes": []}, "no_evidence"),
        ({"type": None}, "invalid_claim"),
        ({"description": ""}, "invalid_claim"),
        ({"subject": ["Orr", "Sons"]}, "invalid_claim"),
    ],
)
def test_malformed_claims_are_left_out_and_recorded(
    scripted_server: ScriptedServer, change: dict[str, Any], reason: str
) -> None:
    found = ask(scripted_server, said({**FINE, **change}, KNEW))
    assert only(found).subject == "Ida Lund", "a wrong item costs the item"
    assert [rejected.reason for rejected in found.rejected] == [reason]


@pytest.mark.parametrize("none", ["NONE", "none", "N/A", "", None, "\u200b"])
def test_no_object_is_no_entity(scripted_server: ScriptedServer, none: str | None) -> None:
    found = ask(scripted_server, said({**FINE, "object": none}))
    assert only(found).object is None
    assert found.rejected == []


@pytest.mark.parametrize(
    ("start", "end", "dates", "reasons"),
    [
        ("1911-05-04T00:00:00", "4 May 1911", ["1911-05-04", "1911-05-04"], []),
        ("May 1911", "NONE", ["1911-05", None], []),
        ("unknown", "present", [None, None], []),
        ("1911-13-40", "1912", [None, "1912"], ["invalid_date"]),
        ("last spring", "soon", [None, None], ["invalid_date", "invalid_date"]),
        ("1912", "1911-05", [None, None], ["period_reversed"]),
        ("1911-05", "1911", ["1911-05", "1911"], []),
    ],
)
def test_dates_are_read_or_dropped(
    scripted_server: ScriptedServer, start: str, end: str, dates: list[str | None], reasons: list[str]
) -> None:
    found = ask(scripted_server, said({**FINE, "start": start, "end": end}))
    claim = only(found)
    assert [date.lexical if date else None for date in (claim.start, claim.end)] == dates
    assert [rejected.reason for rejected in found.rejected] == reasons


def test_quotes_of_one_claim_are_all_kept(scripted_server: ScriptedServer) -> None:
    more = {**FINE, "quotes": ["Orr & Sons", FINE["quotes"][0]], "status": "FALSE"}
    claim = only(ask(scripted_server, said(FINE, more)))
    assert claim.quotes == ("In 1911 the Board of Skell fined Orr & Sons.", "Orr & Sons")
    assert claim.status == "TRUE"


def test_gleaning_adds_and_loses_nothing(scripted_server: ScriptedServer) -> None:
    """Each answer is parsed by itself; one that cannot be read costs no other."""
    found = ask(scripted_server, said(FINE), said(KNEW), "There is no more.", rounds=3)
    assert [claim.subject for claim in found.claims.values()] == ["Orr & Sons", "Ida Lund"]
    assert [rejected.reason for rejected in found.rejected] == ["gleaning_failed"]
    assert len(found.completions) == 3
    last = scripted_server.requests[-1].messages
    assert [message["role"] for message in last] == ["user", "assistant"] * 2 + ["user"]


def test_gleaning_ends_when_a_round_adds_nothing(scripted_server: ScriptedServer) -> None:
    found = ask(scripted_server, said(FINE), said(FINE), said(KNEW), rounds=3)
    assert len(found.completions) == 2
    found = ask(scripted_server, '{"claims": []}', said(KNEW), said(), rounds=3)
    assert only(found).subject == "Ida Lund", "an empty first answer is asked about too"


def test_an_answer_without_claims_and_one_that_is_none(scripted_server: ScriptedServer) -> None:
    assert ask(scripted_server, '{"claims": []}').claims == {}
    assert ask(scripted_server, "[]").claims == {}
    with pytest.raises(LlmError) as error:
        ask(scripted_server, "I found two claims.")
    assert error.value.kind == "unparsable"


def test_an_answer_that_is_cut_off_keeps_its_whole_items(scripted_server: ScriptedServer) -> None:
    whole = said(FINE, KNEW)
    found = ask(scripted_server, Reply(whole[:-90], finish_reason="length"))
    assert only(found).subject == "Orr & Sons"
    assert {rejected.reason for rejected in found.rejected} == {"cut_off", "answer_truncated"}


def test_the_key_says_what_a_result_depends_on() -> None:
    keys = {
        reader().key,
        reader(description="fines").key,
        reader(gleaning_rounds=1).key,
        reader(model="openai/other").key,
    }
    assert len(keys) == 4


def completion(text: str) -> Completion:
    return Completion(text, "openai/scripted", None, None, None, False, "stop", 0.0, 1, "0" * 64)


FIELDS = st.dictionaries(
    st.sampled_from(sorted({*FINE, "subject_id", "quote", "extra"})),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.lists(st.text()),
)


@given(st.lists(FIELDS | st.text() | st.none(), max_size=5))
def test_whatever_is_answered_is_a_claim_or_recorded(items: list[Any]) -> None:
    answer = ClaimAnswer()
    answer.read(completion(json.dumps({"claims": items})))
    distinct = {json.dumps(item, sort_keys=True) for item in items}
    assert bool(answer.claims or answer.rejected) == bool(distinct)
    for claim in answer.claims.values():
        assert claim.subject
        assert claim.quotes
        assert claim.status in ("TRUE", "FALSE", "SUSPECTED")
