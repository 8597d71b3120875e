"""Chats that programs export as JSON: who speaks, when, and what is no sentence of anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.documents import ParsedDocument, chunk_text, read_bytes, read_document
from graphrag_rdf.documents.readers.content import CONTRIBUTOR
from graphrag_rdf.documents.tables import sentences_in

TELEGRAM: dict[str, Any] = {
    "name": "Kelm",
    "type": "personal_chat",
    "id": 1,
    "messages": [
        {
            "id": 1,
            "type": "service",
            "date": "2024-03-12T10:14:00",
            "actor": "Bo",
            "action": "joined",
            "text": "",
        },
        {
            "id": 2,
            "type": "message",
            "date": "2024-03-12T10:15:02",
            "from": "Ada Venn",
            "from_id": "user1",
            "text": ["I work at ", {"type": "bold", "text": "Orrin Bank"}, "."],
        },
        {"id": 3, "type": "message", "date": "2024-03-12T10:16:00", "from": "Bo", "text": "You do?"},
        {
            "id": 4,
            "type": "message",
            "date": "2024-03-12T10:17:00",
            "from": "Bo",
            "photo": "p/1.jpg",
            "text": "",
        },
    ],
}
SLACK: list[dict[str, Any]] = [
    {
        "type": "message",
        "subtype": "channel_join",
        "user": "U2",
        "text": "<@U2> has joined",
        "ts": "1710238440.1",
    },
    {
        "type": "message",
        "user": "U1",
        "text": "I work at Orrin Bank.",
        "ts": "1710238502.000100",
        "user_profile": {"real_name": "Ada Venn", "name": "ada"},
    },
    {"type": "message", "user": "U2", "text": "You do?", "ts": "1710238560.000100"},
    {"type": "message", "user": "U2", "text": "", "files": [{"name": "1.jpg"}], "ts": "1710238620.000100"},
]
DISCORD: dict[str, Any] = {
    "guild": {"id": "1", "name": "Weirs"},
    "channel": {"id": "2", "name": "Kelm"},
    "messages": [
        {
            "id": "3",
            "type": kind,
            "timestamp": f"2024-03-12T{time}:00.1+00:00",
            "content": words,
            "author": author,
        }
        for kind, time, words, author in [
            ("GuildMemberJoin", "10:14", "Joined the server.", {"name": "bo", "nickname": "Bo"}),
            ("Default", "10:15", "I work at Orrin Bank.", {"name": "ada", "nickname": "Ada Venn"}),
            ("Reply", "10:16", "You do?", {"name": "Bo"}),
            ("Default", "10:17", "", {"name": "Bo"}),
        ]
    ],
}
EXPORTS = {"telegram": TELEGRAM, "slack": SLACK, "discord": DISCORD}


def said(document: ParsedDocument) -> list[str]:
    chunks = chunk_text(document.text, tables=document.tables)
    return [c.text[s.offset : s.offset + s.length] for c in chunks for s in sentences_in(document, c)]


@pytest.mark.parametrize("program", EXPORTS)
def test_messages_are_turns(program: str, tmp_path: Path) -> None:
    (tmp_path / "day.json").write_text(json.dumps(EXPORTS[program]))
    (tmp_path / "users.json").write_text(json.dumps([{"id": "U2", "name": "bo", "real_name": "Bo"}]))
    document = read_document(tmp_path / "day.json")
    assert [(t.speaker, t.listener, document.text[t.words : t.end]) for t in document.turns] == [
        ("Ada Venn", "Bo", "I work at Orrin Bank."),
        ("Bo", "Ada Venn", "You do?"),
    ]
    assert all(document.text[slice(*turn.name)] == turn.speaker for turn in document.turns)
    assert said(document) == [
        "[2024-03-12 10:15] Ada Venn: I work at Orrin Bank.",
        "[2024-03-12 10:16] Bo: You do?",
    ]
    assert (CONTRIBUTOR, "Ada Venn") in document.metadata
    assert document.text.count("\n") == 3
    assert document.language == "en"
    assert document.titled is (program != "slack")


def test_an_account_has_its_chats_as_pages() -> None:
    account = {"about": "x", "chats": {"about": "y", "list": [TELEGRAM, {**TELEGRAM, "name": "Bank"}]}}
    document = read_bytes(json.dumps(account).encode(), "a.json")
    assert [page.label for page in document.pages] == ["Kelm", "Bank"]
    assert len(document.turns) == 4
    assert all(document.text[slice(*turn.name)] == turn.speaker for turn in document.turns)


def test_marks_of_slack_are_read_as_people_see_them() -> None:
    text = (
        "<@U1> wrote &lt;b&gt; in <#C1|kelm>, <https://example.org|here>, <https://example.org/a> <!channel>"
    )
    document = read_bytes(json.dumps([SLACK[1], {**SLACK[2], "text": text}]).encode(), "a.json")
    assert document.text.endswith("U2: @Ada Venn wrote <b> in #kelm, here, https://example.org/a @channel")


@pytest.mark.parametrize(
    "users", [b"no", b"[1]", b"{}", b'[{"id": 1}]', b'[{"id": "U2"}]', b"[" * 100_000], ids=range(6)
)
def test_without_usable_names_the_identifiers_stay(users: bytes, tmp_path: Path) -> None:
    (tmp_path / "users.json").write_bytes(users)
    (tmp_path / "channel").mkdir()
    (tmp_path / "channel/day.json").write_text(json.dumps(SLACK))
    assert [turn.speaker for turn in read_document(tmp_path / "channel/day.json").turns] == ["Ada Venn", "U2"]


def test_what_was_sent_and_links_get_no_names_from_this_computer(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps([{"id": "U2", "real_name": "Bo"}]))
    day = tmp_path / "a/day.json"
    day.parent.mkdir()
    (day.parent / "users.json").symlink_to(tmp_path / "other.json")
    day.write_text(json.dumps(SLACK))
    assert read_document(day).turns[-1].speaker == "U2"
    (tmp_path / "users.json").write_text(json.dumps([{"id": "U2", "real_name": "Bo"}]))
    assert read_document(day).turns[-1].speaker == "Bo"
    assert read_bytes(day.read_bytes(), str(day)).turns[-1].speaker == "U2"


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "message", "name": "Ada"}, {"type": "message", "name": "Bo"}],
        [{"type": "event", "ts": "1", "name": "Ada"}],
        {"messages": [{"id": 1, "date": "2024-01-01", "subject": "a"}]},
        {"messages": []},
        {"chats": {"list": []}, "name": "x"},
        {"messages": [{"timestamp": "2024", "author": "Ada", "content": "I"}]},
    ],
)
def test_other_records_stay_records(value: Any) -> None:
    document = read_bytes(json.dumps(value).encode(), "result.json")
    assert document.text == json.dumps(value)
    assert not document.turns
