"""Chats that were exported as JSON: "I" and "you" are the people who speak."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ingest.conftest import MakeEngine, facts

MESSAGES = [
    {"type": "message", "user": "U1", "text": "You work at Orrin Bank.", "ts": "1710238500.1"},
    {"type": "message", "user": "U2", "text": "I was born in Oslo.", "ts": "1710238560.1"},
    {
        "type": "message",
        "subtype": "channel_name",
        "user": "U2",
        "text": "I live in Kelm.",
        "ts": "1710238620.1",
    },
]
USERS = [{"id": "U1", "real_name": "Lena Moor"}, {"id": "U2", "real_name": "Ada Venn"}]


@pytest.mark.parametrize("folder", ["", "general"])
def test_names_in_the_users_file_of_slack_are_those_of_speakers(
    folder: str, tmp_path: Path, engine_of: MakeEngine
) -> None:
    export = tmp_path / "export"
    (export / folder).mkdir(parents=True)
    (export / "users.json").write_text(json.dumps(USERS))
    day = export / folder / "day.json"
    day.write_text(json.dumps(MESSAGES))
    engine = engine_of()
    engine.ingest([day])
    found = facts(engine)
    assert found == {("ada-venn", "works-at", "orrin-bank"), ("ada-venn", "was-born-in", "oslo")}
