"""`trace export --pack`, `pack verify`, `keys new`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run

QUESTION = "Who designed Drumlaw Head Lighthouse?"


def test_a_pack_travels(run: Run, store: Path, folder: Path) -> None:
    run("ask", QUESTION)
    key = run("keys", "new", "audit.pem").out.strip()
    assert key.startswith("did:key:z6Mk")
    assert run("trace", "export", "last", "--pack", "answer.zip", "--sign", "audit.pem").code == 0
    store.rename(folder / "elsewhere")  # nobody needs it
    found = run("pack", "verify", "answer.zip", "--key", key, "--format", "json")
    assert (found.code, found.json["ok"], found.json["signed_by"]) == (0, True, key)
    assert all({"check", "ok", "detail"} <= check.keys() for check in found.json["checks"])
    shown = run("pack", "verify", "answer.zip")
    assert shown.out.startswith(QUESTION)
    assert "ok  ranking:" in shown.out
    data = Path("answer.zip").read_bytes()
    Path("answer.zip").write_bytes(data[:2000] + b"?" + data[2001:])
    broken = run("pack", "verify", "answer.zip")
    assert broken.code == 1
    assert "FAILED  files:" in broken.out


def test_what_changed_since(run: Run, store: Path) -> None:
    run("ask", QUESTION)
    run("trace", "export", "last", "--pack", "answer.zip", "--without-prompts", "--with-documents")
    same = run("pack", "verify", "answer.zip", "--against", "graphrag-store")
    assert "are as they were" in same.out
    run("facts", "remove", "Andrew Orr", "designed", "Drumlaw Head Lighthouse", "--with-sentences")
    found = run("pack", "verify", "answer.zip", "--against", "graphrag-store", "--ask", "--format", "json")
    assert found.code == 0, "the pack still proves what was answered then"
    assert [change["check"] for change in found.json["against"]["changes"]] == ["fact"]
    assert found.json["against"]["same_answer"] is False
    assert "the answer is different" in run("pack", "verify", "answer.zip", "--against", store, "--ask").out


def test_what_cannot_be(run: Run, store: Path) -> None:
    run("ask", QUESTION)
    for wrong in (["--sign", "k.pem"], ["--pack", "a.zip", "--format", "html"]):
        assert run("trace", "export", "last", *wrong).code == 2, wrong
    assert run("trace", "export", "last", "--pack", "a.zip", "--sign", "missing.pem").code == 1
    assert run("trace", "export", "last", "--pack", "no/a.zip").code == 1
    assert run("pack", "verify", "missing.zip").code == 2
    run("trace", "export", "last", "--pack", "a.zip")
    assert run("pack", "verify", "a.zip", "--ask").code == 2
