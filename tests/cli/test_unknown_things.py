"""What is not there is wrong usage, whichever command names it: exit code 2, an error, a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

FACT = ("Nobody", "knows", "nothing")
UNKNOWN = {
    "document": [
        ("source", "tree", "nothing.md"),
        ("forget", "nothing.md"),
        ("refresh", "facts", "--source", "nothing.md"),
        ("refresh", "mentions", "--source", "nothing.md"),
        ("refresh", "names", "--source", "nothing.md"),
        ("refresh", "relations", "--source", "nothing.md"),
        ("ingest", "nothing.md"),
    ],
    "trace": [
        ("trace", "show", "nothing"),
        ("trace", "verify", "nothing"),
        ("trace", "diff", "nothing", "last"),
        ("trace", "export", "nothing"),
        ("trace", "delete", "nothing"),
        ("trace", "show", "last"),
        ("trace", "replay", "nothing"),
        ("trace", "ask-without", "nothing", "--document", "nothing.md"),
        ("feedback", "nothing", "helpful"),
        ("ask", "Who?", "--session", "nothing"),
    ],
    "fact": [
        ("source", "fact", *FACT),
        ("facts", "remove", *FACT),
        ("facts", "correct", *FACT, "--object", "something"),
        ("facts", "undo", "urn:nothing"),
        ("entities", "undo", "urn:nothing"),
    ],
    "entity": [
        ("ask", "Who?", "--include-entity", "Nobody"),
        ("ask", "Who?", "--exclude-entity", "Nobody"),
        ("retrieve", "Who?", "--include-entity", "Nobody"),
        ("entities", "merge", "Nobody", "Nothing"),
        ("entities", "split", "Nobody"),
    ],
    "template": [("queries", "show", "nothing"), ("queries", "run", "nothing")],
    "pipeline": [
        ("ask", "Who?", "--pipeline", "nothing"),
        ("retrieve", "Who?", "--pipeline", "nothing"),
        ("ask", "Who?", "--set", "nothing.use=llm"),
        ("ask", "Who?", "--set", "exploration.nothing=1"),
    ],
    "setting": [
        ("config", "get", "nothing"),
        ("config", "set", "nothing", "1"),
        ("config", "unset", "llm.model"),
        ("config", "restore", "99"),
    ],
    "file": [
        ("import", "nothing.ttl"),
        ("eval", "retrieval", "nothing.json"),
        ("eval", "answers", "nothing.json"),
        ("sparql", "-f", "nothing.rq"),
        ("retrieve", "--questions", "nothing.jsonl"),
        ("ask", "Who?", "--config", "nothing.toml"),
    ],
    "collection": [("ask", "Who?", "--collection", "nothing")],
    "store": [
        (*command, "--store", "nowhere")
        for command in (
            ("ask", "Who?"),
            ("retrieve", "Who?"),
            ("source", "fact", *FACT),
            ("trace", "list"),
            ("sparql", "ASK {}"),
            ("entities", "list"),
            ("forget", "nothing.md"),
            ("export",),
            ("check",),
            ("cache", "stats"),
            ("config", "history"),
            ("queries", "run", "cookbook/contradictions"),
        )
    ],
}


@pytest.mark.parametrize("thing", UNKNOWN)
def test_what_is_not_there_is_wrong_usage(run: Run, store: Path, thing: str) -> None:
    for command in UNKNOWN[thing]:
        found = run(*command)
        assert found.code == 2, command
        assert found.err.startswith("error: "), command
        assert found.out == "", command
    assert not (store.parent / "nowhere").exists()
