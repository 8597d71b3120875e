"""A store's life: read in, edited, corrected, undone, forgotten; and what it says of each state."""

from __future__ import annotations

import html
import json
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import rdflib

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from tests.cli.conftest import folder, run
from tests.support.commands import Run, documents_in, places
from tests.support.endpoint import TOKENS, WRITE, Endpoint

__all__ = ["folder", "run"]

FOUNDED = "Walter Pennock founded Tarnay Electric Light Company"
MARRIED = "Walter Pennock married Nora Finlay."
QUESTION = "When was the Tarnay Electric Light Company founded?"


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a document that was read, and read again after an edit, and of its store."""
    folder = tmp_path_factory.mktemp("history")
    document = documents_in(folder) / "company.txt"
    settings = Settings(store=str(folder / "graphrag-store"))
    for old, new in (("", ""), ("in 1897.", f"in 1898. {MARRIED}")):
        document.write_text(document.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        with Engine.open(config=settings) as engine:
            engine.ingest([document])
    return folder


@pytest.fixture
def company(edited: Path, folder: Path) -> Path:
    """The document; its store is in the current folder."""
    shutil.copytree(edited, folder, dirs_exist_ok=True)
    return folder / "documents" / "company.txt"


@pytest.fixture
def store(company: Path) -> Path:
    return company.parent.parent / "graphrag-store"


def states_of(run: Run, *options: str) -> list[dict[str, Any]]:
    """The states, the oldest first."""
    items: list[dict[str, Any]] = run("log", "--format", "json", *options).json
    return items[::-1]


def commits(run: Run) -> list[int]:
    return [state["commit"] for state in states_of(run)]


def answer(run: Run, *options: object) -> str:
    text: str = run("ask", QUESTION, "--format", "json", *options).json["answer"]
    return text


def test_each_change_is_a_state_and_questions_are_none(run: Run, company: Path) -> None:
    answer(run)
    states = states_of(run)
    assert [state["command"] for state in states] == ["python", "python"]
    assert [state["documents"] for state in states] == [1, 1]
    assert states[0]["facts"] < states[1]["facts"]
    assert all(state["kept"] for state in states)


def test_the_store_answers_as_it_was(run: Run, company: Path) -> None:
    first, _ = commits(run)
    assert "1897" in answer(run, "--at", first)
    assert "1898" in answer(run)
    now, then = (
        {fact["o_label"] for fact in run("facts", "list", "--format", "json", *at).json}
        for at in ([], ["--at", first])
    )
    assert now - then == {"Nora Finlay"}


def test_times_name_states(run: Run, company: Path) -> None:
    _, second = commits(run)
    time = states_of(run)[1]["time"]
    for at in (time, time[:4], time[:7], time[:16] + time[-6:]):
        assert f"commit {second}" in run("facts", "list", "--at", at).err
    early = run("facts", "list", "--at", "2001-02-03")
    assert early.code == 2
    assert "no state is as old as 2001-02-03" in early.err
    for at in ("yesterday", "9999", "99999"):
        assert run("facts", "list", "--at", at).code == 2


def test_the_past_cannot_be_written(run: Run, company: Path) -> None:
    first, second = commits(run)
    assert run("ingest", company, "--at", first).code == 2
    assert (
        run(
            "facts", "remove", "Walter Pennock", "founded", "Tarnay Electric Light Company", "--at", first
        ).code
        != 0
    )
    assert commits(run) == [first, second]


def test_what_changed_about_an_entity(run: Run, company: Path) -> None:
    run("facts", "remove", "Walter Pennock", "lived in", "Port Merrin")
    changes = states_of(run, "--entity", "Walter Pennock")
    assert [change["command"] for change in changes] == ["python", "python", "facts remove"]
    assert changes[1]["changes"] == [
        f"- {FOUNDED} (1897)",
        f"+ {FOUNDED} (1898)",
        "+ Walter Pennock married Nora Finlay",
    ]
    assert changes[2]["changes"] == ["- Walter Pennock lived in Port Merrin"]


def test_the_difference_as_sentences_and_as_a_patch(run: Run, company: Path) -> None:
    first, second = commits(run)
    sentences = run("diff", first, second, "--format", "json").json
    assert sentences["removed"] == [f"{FOUNDED} (1897)"]
    assert sentences["added"] == [f"{FOUNDED} (1898)", "Walter Pennock married Nora Finlay"]
    patch = run("diff", first, "--format", "patch").out.splitlines()
    assert (patch[0], patch[-1]) == ("TX .", "TC .")
    signs = [line[0] for line in patch[1:-1]]
    assert (signs.count("D"), signs.count("A")) == (
        sentences["quads"]["removed"],
        sentences["quads"]["added"],
    )


def test_what_nobody_ever_heard_of_is_an_error(run: Run, company: Path) -> None:
    for option in ("--entity", "--document", "--relation"):
        assert run("log", option, "Atlantis").code == 2
    assert run("log", "--at", commits(run)[0]).code == 2


def test_an_old_answer_is_checked_against_the_state_of_its_time(run: Run, company: Path) -> None:
    first, _ = commits(run)
    run("ask", "Where did Walter Pennock live?")
    holds = run("trace", "verify", "last", "--format", "json").json
    assert holds["ok"]
    assert "past" not in holds
    run("facts", "remove", "Walter Pennock", "lived in", "Port Merrin", "--with-sentences")
    verified = run("trace", "verify", "last", "--format", "json").json
    assert any(check["changed"] for check in verified["checks"])
    assert verified["past"]["commit"] > first
    assert verified["past"]["ok"]
    assert "all holds" in run("trace", "verify", "last").out
    assert not (company.parent.parent / "graphrag-store" / "snapshots").exists()
    pack = run("trace", "export", "last", "--pack", "answer.zip")
    assert "the pack has the state of commit" in pack.err
    assert run("pack", "verify", "answer.zip").code == 0
    run("forget", "documents/company.txt")
    assert "past" not in run("trace", "verify", "last", "--format", "json").json


FOUNDED_BY_WALTER = "Walter Pennock", "founded", "Tarnay Electric Light Company"
LIFE = [
    (["ingest", "documents"], "Walter Pennock lived in Port Merrin", True),
    (["edit", "Nora Finlay lived in Corran Lamb."], "Nora Finlay lived in Corran Lamb", True),
    (["edit", "Nora Finlay lived in Dunmarrow Bay."], "Nora Finlay lived in Corran Lamb", False),
    (["facts", "remove", "Walter Pennock", "lived in", "Port Merrin"], "lived in Port Merrin", False),
    (
        ["facts", "correct", "--subject", "Ida Brandt", *FOUNDED_BY_WALTER],
        "Ida Brandt founded Tarnay Electric Light Company",
        True,
    ),
    (["entities", "merge", "Beatrice Pennock", "Nora Finlay"], "lived in Dunmarrow Bay", True),
    (["undo"], "Nora Finlay lived in Dunmarrow Bay", True),
    (
        ["facts", "remove", "--undo", "Walter Pennock", "lived in", "Port Merrin"],
        "lived in Port Merrin",
        True,
    ),
    (["edit", "Nora Finlay lived in Arnhythe."], "Nora Finlay lived in Dunmarrow Bay", False),
]
"""Commands; what is a fact after each, and what is none."""


def facts_of(run: Run, *options: object) -> str:
    """All facts in words, and the entities that are one."""
    facts = run("facts", "list", "--format", "json", *options).json
    same = run("decisions", "list", "--format", "json", *options).json
    words = [f"{fact['s_label']} {fact['p_label']} {fact['o_label']}" for fact in facts]
    return "\n".join([*sorted(words), *sorted(str(decision) for decision in same)])


def test_each_state_of_a_life_is_as_it_was(run: Run, folder: Path) -> None:
    author = documents_in(folder) / "author.txt"
    lives: dict[int, str] = {}
    for command, fact, holds in LIFE:
        if command[0] == "edit":
            author.write_text(command[1], encoding="utf-8")
            command = ["ingest", "documents"]  # noqa: PLW2901
        assert run(*command).code == 0, command
        lives[commits(run)[-1]] = facts_of(run)
        assert (fact in facts_of(run)) == holds, command
    assert len(lives) == len(LIFE)
    assert len(set(lives.values())) > len(LIFE) - 2
    for commit, facts in lives.items():
        assert facts_of(run, "--at", commit) == facts, commit
    store = folder / "graphrag-store"
    assert places(store / "history", "Dunmarrow Bay") != []
    assert run("forget", "documents/author.txt").code == 0
    for words in ("Dunmarrow Bay", "Corran Lamb", "Nora Finlay"):
        assert places(store / "history", words) == []
    assert [state["kept"] for state in states_of(run)] == [*[False] * len(LIFE), True]
    assert states_of(run, "--document", "documents/company.txt") == []  # what forget left as it was


def test_undo_is_a_commit_that_restores_all(run: Run, company: Path) -> None:
    first, second = commits(run)
    assert run("undo", "--dry-run").code == 0
    assert commits(run) == [first, second]
    assert run("undo").code == 0
    assert run("diff", first, "--format", "json").json["quads"] == {"removed": 0, "added": 0}
    assert "1897" in answer(run)
    assert run("check").code == 0
    third = commits(run)[-1]
    assert run("undo", third).code == 0
    assert run("diff", second, "--format", "json").json["quads"] == {"removed": 0, "added": 0}
    assert "no change left" in run("undo").err + run("undo").err


def test_undo_of_a_decision_takes_the_decision_back(run: Run, company: Path) -> None:
    removed = ("Walter Pennock", "lived in", "Port Merrin")
    run("facts", "remove", *removed)
    merged = ("Beatrice Pennock", "Nora Finlay")
    run("entities", "merge", *merged)
    _, second, removal, merge = commits(run)
    assert run("undo", "--format", "json").json["commit"] == merge
    assert run("undo", "--format", "json").json["commit"] == removal
    assert run("facts", "decisions", "--format", "json").json == []
    assert run("decisions", "list", "--format", "json").json == []
    assert run("diff", second, "--format", "json").json["quads"] == {"removed": 0, "added": 0}
    assert run("check").code == 0
    assert run("facts", "remove", *removed).code == 0
    assert "merged already" not in run("entities", "merge", *merged).out
    assert run("undo", "--dry-run", "--format", "json").json["commit"] == commits(run)[-1]


def test_undo_of_what_later_changes_rest_on_is_refused(run: Run, company: Path) -> None:
    _, second = commits(run)
    run("facts", "remove", "Walter Pennock", "married", "Nora Finlay")
    refused = run("undo", second)
    assert refused.code == 2
    assert "a later change rests on commit" in refused.err


def test_forgotten_words_are_in_no_state(run: Run, store: Path, company: Path) -> None:
    assert places(store / "history", "Nora") != []
    assert run("forget", "documents/company.txt").code == 0
    assert places(store / "history", "Nora") == []
    states = states_of(run)
    assert [state["command"] for state in states] == ["python", "python", "forget"]
    assert [state["kept"] for state in states] == [False, False, True]


def test_a_changed_line_of_the_log_is_found(run: Run, store: Path, company: Path) -> None:
    log = store / "history" / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines()
    log.write_text(
        "\n".join([json.dumps({**json.loads(lines[0]), "by": "nobody"}), *lines[1:]]), encoding="utf-8"
    )
    changed = run("log")
    assert changed.code == 1
    assert "log.jsonl was changed" in changed.err
    assert "nobody" in changed.err


def test_limits(run: Run, store: Path, company: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_HISTORY__MAX_MB", "0")
    run("facts", "remove", "Walter Pennock", "lived in", "Port Merrin")
    assert [state["kept"] for state in states_of(run)] == [False, False, True]
    monkeypatch.setenv("GRAPHRAG_RDF_HISTORY__KEEP", "none")
    run("facts", "remove", "Walter Pennock", "founded", "Tarnay Electric Light Company")
    assert not any(state["kept"] for state in states_of(run))
    assert "keeps no earlier states" in run("facts", "list", "--at", "1").err


def test_a_server_keeps_the_state_between_two_writes(run: Run, store: Path) -> None:
    before = commits(run)
    with Endpoint.start(store, **TOKENS) as server, server.client(WRITE) as client:
        for number in (1, 2):
            update = f'INSERT DATA {{ <http://example.org/{number}> <http://example.org/is> "{number}" }}'
            assert client.post("/update", data={"update": update}).status_code < 300
        listed = [item["commit"] for item in client.get("/changes").json()["items"]]
        assert listed[:-1] == before
        patch = client.get("/changes", params={"since": listed[-1]}).raise_for_status()
        assert patch.headers["content-type"].startswith("application/rdf-patch")
        assert '<http://example.org/2> <http://example.org/is> "2"' in patch.text
        assert "<http://example.org/1>" not in patch.text
        assert client.get("/changes", params={"since": "2001"}).status_code == 404
        members = members_of(client.get("/changes", headers={"Accept": "application/n-triples"}).text)
        assert [number for number, _ in sorted(members)] == listed
        beginning = client.get(min(members)[1]).raise_for_status().text.splitlines()
        assert {line[0] for line in beginning[1:-1]} == {"A"}
        change = client.get(max(members)[1]).raise_for_status().text
        assert '<http://example.org/1> <http://example.org/is> "1"' in change
        assert "<http://example.org/2>" not in change
        entity = client.get("/entities", params={"match": "Walter"}, headers={"Accept": "application/json"})
        iri = entity.json()["items"][0]["iri"]
        as_page = {"Accept": "text/html"}
        entity_page = client.get(f"/entities/{iri}", headers=as_page).text
        (link,) = re.findall('href="(/history[^"]*)"', entity_page)
        changed = client.get(html.unescape(link), headers=as_page)
        assert changed.status_code == 200, changed.text
        assert "Nora Finlay" in changed.text
    first, second = commits(run)[len(before) :]
    written = run("diff", first, second, "--format", "patch").out
    assert '<http://example.org/2> <http://example.org/is> "2"' in written
    assert "<http://example.org/1>" not in written


def members_of(triples: str) -> list[tuple[int, str]]:
    """Commit and address of each member of a stream of events."""
    stream = rdflib.Graph().parse(data=triples, format="nt")
    rows = stream.query(
        """SELECT ?commit ?member {
          ?stream a <https://w3id.org/ldes#EventStream> ; <https://w3id.org/tree#member> ?member .
          ?member <https://w3id.org/graphrag-rdf/ns#commit> ?commit .
        }"""
    )
    return [(int(str(commit)), str(member)) for commit, member in rows]  # type: ignore[misc]


def test_what_a_killed_process_changed_is_a_state_of_its_own(run: Run, store: Path, company: Path) -> None:
    before = commits(run)
    with suppress(KeyboardInterrupt), Engine.open(config=Settings(store=str(store))) as engine:
        engine.facts.remove("Walter Pennock", "lived in", "Port Merrin")
        raise KeyboardInterrupt
    run("facts", "remove", "Beatrice Pennock", "succeeded", "Walter Pennock")
    assert [state["command"] for state in states_of(run)[len(before) :]] == ["?", "facts remove"]
    run("undo")
    assert [
        decision["fact"]["o_label"] for decision in run("facts", "decisions", "--format", "json").json
    ] == ["Port Merrin"]


def test_forget_deletes_what_a_killed_process_began(run: Run, store: Path, company: Path) -> None:
    newest = store / "history" / str(commits(run)[-1])
    shutil.copytree(newest / "oxigraph", store / "history" / "99" / "oxigraph.tmp")
    assert run("forget", "documents/company.txt").code == 0
    assert not (store / "history" / "99").exists()
    assert places(store / "history", "Nora") == []
