"""`facts compare`: two extractions, stores, exports, or a gold file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.scripted_server import ScriptedServer

ONE = "The Merlin sank on 14 November 1911. Walter Pennock built the Merlin in Tarnay.\n"
TWO = (
    "The Merlin sank on 14 November 1911. The Merlin was built by Walter Pennock. "
    "Ida Lund owned the Merlin.\n"
)


@pytest.fixture
def stores(run: Run, folder: Path) -> tuple[str, str]:
    """Two stores of the same document, before and after an edit, with other IRIs."""
    for name, text in (("a", ONE), ("b", TWO)):
        (folder / "docs").mkdir(exist_ok=True)
        (folder / "docs" / "merlin.md").write_text(text)
        (folder / f"{name}.toml").write_text(f'[extract]\nnamespace = "http://example.org/{name}/"\n')
        run("ingest", "docs", "--model", "none", "--store", name, "--config", f"{name}.toml")
    return "a", "b"


def words(facts: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    return [(each["subject"], each["predicate"], each["object"]) for each in facts]


def test_two_stores(run: Run, stores: tuple[str, str]) -> None:
    found = run("facts", "compare", *stores, "--format", "json").json
    assert (found["a"]["name"], found["b"]["name"]) == stores
    assert ("Ida Lund", "owned", "Merlin") in words(found["facts_only_b"])
    assert ("Merlin", "sank on", "1911-11-14") not in words(found["facts_only_a"] + found["facts_only_b"])
    built = {fact for fact in words(found["facts_only_a"]) if "built" in fact[1] and fact[2] == "Merlin"}
    assert not built, "an active and its passive are one fact"
    [owned] = [each for each in found["facts_only_b"] if each["predicate"] == "owned"]
    [source] = owned["sources"]
    assert source["quote"] == "Ida Lund owned the Merlin."
    assert source["title"]
    assert source["char_offset"] == TWO.index("Ida Lund")
    assert found["common"] + found["only_a"] == found["a"]["facts"]
    assert found["common"] + found["only_b"] == found["b"]["facts"]
    assert found["recall"] == pytest.approx(found["common"] / found["b"]["facts"], abs=1e-4)
    back = run("facts", "compare", *stores[::-1], "--format", "json").json
    assert (back["precision"], back["recall"]) == (found["recall"], found["precision"])
    shown = run("facts", "compare", *stores).out
    assert "Only in B" in shown
    assert "“Ida Lund owned the Merlin.” (Merlin)" in shown
    assert "“" not in run("facts", "compare", *stores, "--limit", "0").out


def test_a_store_and_its_export(run: Run, stores: tuple[str, str], folder: Path) -> None:
    run("export", "--store", "b", "--format", "nquads", "-o", "b.nq")
    found = run("facts", "compare", "b", "b.nq", "--format", "json").json
    assert (found["precision"], found["recall"], found["f1"]) == (1.0, 1.0, 1.0)
    assert (found["facts_only_a"], found["facts_only_b"]) == ([], [])


def test_rules_and_a_model_in_one_store(
    run: Run, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "merlin.md").write_text(ONE)
    run("ingest", "merlin.md", "--model", "none")
    relation = {
        "subject": "Merlin",
        "predicate": "was lost near",
        "object": "Skell",
        "evidence": "The Merlin sank",
    }
    scripted_server.answer_with(lambda _: json.dumps({"entities": [], "relations": [relation]}))
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-none")
    assert run("ingest", "merlin.md", "--model", "openai/scripted").code == 0
    for model in ("llm", "openai/scripted"):
        found = run("facts", "compare", "rules", model, "--format", "json").json
        assert words(found["facts_only_b"]) == [("Merlin", "was lost near", "Skell")]
        assert found["common"] == 0
        assert found["only_a"] > 0


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "gold.csv",
            "subject,predicate,object\nMerlin,sank on,14 November 1911\n"
            "Nobody|Ida Lund,owned,Merlin\nX,y,z\n",
        ),
        ("gold.tsv", "Merlin\tsank on\t1911-11-14\nIda Lund\towned\tthe Merlin\nX\ty\tz\n"),
        (
            "gold.jsonl",
            '["Merlin", "sank on", "1911-11-14"]\n\n'
            '{"subject": "Ida Lund", "predicate": "owned", "object": "Merlin"}\n'
            '["X", "y", "z"]\n',
        ),
    ],
)
def test_gold_files(run: Run, stores: tuple[str, str], folder: Path, name: str, lines: str) -> None:
    (folder / name).write_text(lines)
    found = run("facts", "compare", "b", "--gold", name, "--format", "json").json
    assert (found["common"], found["only_b"], found["recall"]) == (2, 1, 0.6667)
    assert words(found["facts_only_b"]) == [("X", "y", "z")]
    assert found["facts_only_b"][0]["sources"] == []
    low = run("facts", "compare", "b", "--gold", name, "--min-f1", "0.99")
    assert low.code == 1
    assert "less than 0.99" in low.err
    assert run("facts", "compare", "b", "--gold", name, "--min-f1", "0.1").code == 0


def test_wrong_use(run: Run, stores: tuple[str, str], folder: Path) -> None:
    (folder / "bad.jsonl").write_text('["a", "b"]\n')
    (folder / "empty").mkdir()
    for arguments, said in (
        (("a",), "give B"),
        (("a", "b", "--gold", "bad.jsonl"), "give B"),
        (("a", "--gold", "bad.jsonl"), "line 1"),
        (("a", "--gold", "missing.csv"), "missing.csv"),
        (("gpt", "b", "--store", "a"), "rules/"),
        (("urn:x:y", "b", "--store", "a"), "no extraction"),
    ):
        failed = run("facts", "compare", *arguments)
        assert failed.code == 2, arguments
        assert said in failed.err
    assert run("facts", "compare", "empty", "b").code != 0
