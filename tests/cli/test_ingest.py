"""`ingest`: what it does, what it would do, and how it ends."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.commands import Run, documents_in
from tests.support.scripted_server import Reply, ScriptedServer


def _files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def _model(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MAX_RETRIES", "0")
    return ["--model", "openai/scripted"]


def test_json_keys(run: Run, folder: Path) -> None:
    found = run("ingest", documents_in(folder), "--format", "json")
    assert found.code == 0
    report = found.json
    assert report["documents"] | {"added": 2, "failed": 0} == report["documents"]
    assert report["chunks"]["added"] == 2
    assert {"pages", "facts", "entities", "quads", "failures", "llm", "seconds"} <= report.keys()
    assert {"calls", "cached", "in_tokens", "out_tokens", "cost_usd", "cached_in_tokens"} == report[
        "llm"
    ].keys()
    assert report["facts"] > 0


def test_summary_for_people_and_nothing_to_do_twice(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    first = run("ingest", documents)
    assert "documents  2 added" in first.out
    assert "by rules" in first.out
    assert "documents  2 unchanged" in run("ingest", documents).out


def test_in_memory_leaves_nothing(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    before = _files(folder)
    assert run("ingest", documents, "--store", ":memory:").code == 0
    assert _files(folder) == before


@pytest.mark.parametrize("argument", ["nowhere", "*.md", "empty"])
def test_nothing_to_read_is_wrong_usage_and_makes_no_store(run: Run, folder: Path, argument: str) -> None:
    (folder / "empty").mkdir()
    found = run("ingest", argument)
    assert found.code == 2
    assert argument in found.err
    assert not (folder / "graphrag-store").exists()


def test_what_fails_is_listed_while_the_rest_goes_on(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    (documents / "broken.pdf").write_bytes(b"not a PDF at all")
    found = run("ingest", documents, "nowhere", "--format", "json")
    assert found.code == 3
    assert found.json["documents"]["added"] == 2
    assert {Path(failure["path"]).name for failure in found.json["failures"]} == {"broken.pdf", "nowhere"}
    again = run("ingest", documents)
    assert again.code == 3
    assert "broken.pdf" in again.err


def test_a_document_beyond_measure_fails_alone(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    (documents / "deep.html").write_bytes(b"<div>" * 60_000 + b"Ann lives in Rome.")
    (documents / "open.csv").write_bytes(b'a,b\n1,"' + b"2,some text\n" * 100_000 + b'"\n')
    found = run("ingest", documents, "--format", "json")
    assert found.code == 3
    assert found.json["documents"]["added"] == 2
    reasons = {Path(failure["path"]).name: failure["reason"] for failure in found.json["failures"]}
    assert reasons.keys() == {"deep.html", "open.csv"}
    assert "nested too deeply" in reasons["deep.html"]
    assert "begins in line 2" in reasons["open.csv"]
    assert "deep" not in run("source", "documents", "--format", "json").out


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    (documents / "company.txt").chmod(0)
    found = run("ingest", documents, "--format", "json")
    assert found.code == 3
    assert found.json["failures"][0]["reason"] == "permission denied"


def test_gone_documents_are_told_and_with_sync_forgotten(run: Run, folder: Path) -> None:
    run("ingest", documents_in(folder))
    (folder / "documents" / "company.txt").unlink()
    assert (
        "1 deleted from disk, which --sync forgets: documents/company.txt" in run("ingest", "documents").err
    )
    found = run("ingest", "--sync", "documents", "--format", "json")
    assert found.json["documents"]["forgotten"] == 1
    assert run("ingest", "documents", "--format", "json").json["missing"] == []


def test_the_hint_names_what_can_be_read(run: Run, folder: Path) -> None:
    (folder / "data.bin").write_bytes(b"\x00\x01")
    found = run("ingest", "data.bin", "--format", "json")
    said = found.err + found.out
    assert ".pdf" in said, said
    assert "(.gz)" in said


# --- dry run -------------------------------------------------------------------------------------


def test_dry_run_without_a_store_writes_nothing(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    before = _files(folder)
    found = run("ingest", "--dry-run", documents, "--format", "json")
    assert found.code == 0
    assert found.json["documents"]["added"] == 2
    assert found.json["extracted"] == 2
    assert _files(folder) == before


def test_dry_run_on_a_store_writes_nothing_and_sees_what_changed(run: Run, folder: Path) -> None:
    run("ingest", documents_in(folder))
    (folder / "documents" / "company.txt").write_text("Mona Kell founded the Lantern Society in 1901.")
    (folder / "documents" / "new.txt").write_text("Mona Kell lived in Arnhythe.")
    before = _files(folder)
    found = run("ingest", "--dry-run", "documents", "--format", "json").json
    assert _files(folder) == before
    assert found["documents"] | {"added": 1, "updated": 1, "unchanged": 1} == found["documents"]
    assert found["chunks"] == {"added": 2, "reused": 1, "removed": 1}
    report = run("ingest", "documents", "--format", "json").json
    assert report["documents"] == found["documents"]
    assert report["chunks"] == found["chunks"]


def test_dry_run_estimates_calls_tokens_and_cost(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    llm = run("ingest", "--dry-run", "--model", "openai/gpt-4.1", documents, "--format", "json").json["llm"]
    assert llm["calls"] == 1
    assert llm["in_tokens"] > 100
    assert llm["cost_usd"] > 0
    unknown = run("ingest", "--dry-run", "--model", "openai/nobody-knows-it", documents)
    assert "price unknown" in unknown.out


def test_dry_run_of_gleaning_counts_each_round(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = documents_in(folder)
    monkeypatch.setenv("GRAPHRAG_RDF_EXTRACT__GLEANING_ROUNDS", "2")
    found = run("ingest", "--dry-run", "--model", "openai/gpt-4.1", documents, "--format", "json").json
    assert found["llm"]["calls"] == 1 + 2 * 2  # of both chunks together, and each gleaning of each


def test_dry_run_names_the_calls_that_it_cannot_count(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = documents_in(folder)
    monkeypatch.setenv("GRAPHRAG_RDF_COMMUNITIES__AUTO", "true")
    asked = ("ingest", "--dry-run", "--model", "openai/gpt-4.1", documents)
    assert run(*asked, "--format", "json").json["uncounted"] == ["communities"]
    monkeypatch.setenv("GRAPHRAG_RDF_SUMMARIES__BUILD", "true")
    assert "calls for merged descriptions and reports of communities" in run(*asked).out
    assert run("ingest", "--dry-run", documents, "--format", "json").json["uncounted"] == []
    monkeypatch.setenv("GRAPHRAG_RDF_COMMUNITIES__REPORTS", "extractive")
    assert run(*asked, "--format", "json").json["uncounted"] == ["summaries"]


def test_dry_run_lists_failures(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    (documents / "broken.pdf").write_bytes(b"not a PDF at all")
    found = run("ingest", "--dry-run", documents)
    assert found.code == 3
    assert re.search(r"1 failed: .* \(.*broken\.pdf\)", found.err)


def test_one_line_for_each_reason(run: Run, folder: Path) -> None:
    documents = documents_in(folder)
    for number in range(16):
        (documents / f"{number:02}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes([0, 255, 254, number] * 20))
    for number in range(5):
        (documents / f"{number}.pdf").write_bytes(b"%PDF-1.4 broken")
    for arguments in (["--dry-run"], []):
        found = run("ingest", *arguments, "documents")
        assert found.code == 3
        failed, skipped, *others = found.err.splitlines()
        assert failed.startswith("error: 5 failed: damaged: its structure is broken or cut off (")
        assert "0.pdf, documents/1.pdf, documents/2.pdf, …)" in failed
        assert skipped.startswith("warning: 16 skipped: not text, and not in a format that can be read (")
        assert skipped.endswith("02.png, …)")
        assert not [line for line in others if ".png" in line or ".pdf" in line]
        assert ".png" not in found.out
    quiet = run("-q", "ingest", "documents")
    assert quiet.err == failed + "\n", "failures are errors"
    report = run("ingest", "documents", "--format", "json").json
    assert (len(report["failures"]), len(report["skipped"])) == (5, 16)


def test_one_line_for_the_same_warning_of_many_files(run: Run, folder: Path) -> None:
    (folder / "finnish").mkdir()
    sentence = "Tämä on suomenkielinen teksti, jossa kerrotaan majakasta ja sen vartijasta talvella. "
    for number in range(6):
        (folder / "finnish" / f"{number}.txt").write_text(sentence * 3 + f"Luku {number}.\n")
    found = run("ingest", "finnish")
    assert found.code == 0, found.err
    (line,) = [line for line in found.err.splitlines() if "txt" in line]
    assert line.startswith("warning: 6 times: names only, no statements (finnish/0.txt: no grammar for ")
    assert line.endswith(", …)")
    report = run("ingest", "--refresh", "finnish", "--format", "json").json
    assert [each["type"] for each in report["warnings"]] == ["language_without_tagger"] * 6


def test_without_a_document_the_reasons_are_told_once(run: Run, folder: Path) -> None:
    (folder / "pictures").mkdir()
    for number in range(16):
        (folder / "pictures" / f"{number:02}.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    found = run("ingest", "pictures")
    assert found.code == 2
    assert found.err.count("not in a format that can be read") == 1


# --- with a model --------------------------------------------------------------------------------


def test_with_a_model(
    run: Run, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run("ingest", documents_in(folder), *_model(scripted_server, monkeypatch), "--format", "json")
    assert found.code == 0, found.err
    assert found.json["llm"]["calls"] == 1
    assert found.json["llm"]["in_tokens"] > 0
    assert found.json["facts"] > 0


def test_refused_key_ends_at_once_and_is_never_shown(
    run: Run, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted_server.answer_with(lambda _: Reply("wrong key sk-planted", status=401))
    found = run("ingest", documents_in(folder), *_model(scripted_server, monkeypatch))
    assert found.code == 1
    assert "key" in found.err
    assert "sk-planted" not in found.err + found.out
    assert "Traceback" not in found.err


def test_answers_that_make_no_sense_cost_their_chunk_only(
    run: Run, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = documents_in(folder)
    scripted_server.script(*["this is no JSON at all \x1b[2J"] * 2)  # of both chunks, and of the first alone
    found = run("ingest", documents, *_model(scripted_server, monkeypatch), "--jobs", "1")
    assert found.code == 3
    assert "\x1b" not in found.out + found.err
    again = run("ingest", documents, *_model(scripted_server, monkeypatch), "--format", "json")
    assert again.code == 0
    assert again.json["failures"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--jobs", "0"], "jobs"),
        (["--format", "yaml"], "format"),
        ([], "PATH"),
    ],
)
def test_wrong_usage(run: Run, folder: Path, arguments: list[str], told: str) -> None:
    found = run("ingest", *arguments, *([] if not arguments else ["x"]))
    assert found.code == 2
    assert told.lower() in found.err.lower()


def test_stores_beside_the_documents_are_left_out(run: Run, folder: Path) -> None:
    (folder / "a.txt").write_text("Ada Venn built Orrin Bridge.\n")
    assert run("--store", "first", "ingest", "a.txt").code == 0
    done = run("-v", "--store", "second", "ingest", ".")
    assert "1 added" in done.out, done.out
    itself = run("--store", "second", "ingest", "first")
    assert (itself.code, "first is a store of graphrag-rdf" in itself.err) == (2, True)


def test_without_extraction_there_is_search_and_the_facts_come_later(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = documents_in(folder)
    monkeypatch.setenv("GRAPHRAG_RDF_EXTRACT__USE", "none")
    report = run("ingest", "--format", "json", documents)
    assert report.json["chunks"]["added"] > 0
    assert run("sparql", "--union", "ASK { ?sentence rag:mentions ?entity }").out == "no\n"
    assert run("doctor", "--format", "json").json["feature_flags"]["entity_extraction_enabled"] is False
    assert run("ask", "-q", "Who designed Drumlaw Head Lighthouse?").out.count("[1]")
    assert "by metadata" in run("ingest", documents).out
    monkeypatch.delenv("GRAPHRAG_RDF_EXTRACT__USE")
    assert run("ingest", "--format", "json", documents).json["facts"] > report.json["facts"]
    assert run("check").code == 0
