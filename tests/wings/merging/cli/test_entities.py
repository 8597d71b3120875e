"""`entities merge, split, normalise`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_merge_list_and_undo(run: Run, store: Path) -> None:
    before = run("entities", "list", "--format", "json").json
    made = run("entities", "merge", "Walter Pennock", "Beatrice Pennock", "--by", "R. T.", "--format", "json")
    assert made.code == 0
    (decision,) = made.json
    assert decision["kind"] == "merge"
    assert decision["canonical"].endswith("/walter-pennock")
    (merged,) = run("entities", "list", "--match", "beatrice", "--format", "json").json
    assert (merged["name"], merged["members"]) == ("Walter Pennock", 2)
    (listed,) = run("entities", "decisions", "--format", "json").json
    assert listed["by"].startswith("urn:graphrag-rdf:person:")
    assert run("check").code == 0
    assert "undone" in run("entities", "undo", decision["iri"]).out
    assert run("entities", "list", "--format", "json").json == before
    assert run("entities", "decisions", "--format", "json").json == []
    assert "undone" in run("entities", "decisions", "--all").out
    assert run("check").code == 0


def test_split(run: Run, store: Path) -> None:
    run("entities", "merge", "Walter Pennock", "Beatrice Pennock")
    (decision,) = run("entities", "split", "beatrice pennock", "--format", "json").json
    assert decision["apart"].endswith("/beatrice-pennock")
    assert run("entities", "split", "Beatrice Pennock").code == 2


def test_unknown_names(run: Run, store: Path) -> None:
    for arguments in (("merge", "Walter Pennock", "Nobody"), ("split", "Nobody"), ("undo", "urn:nothing")):
        found = run("entities", *arguments)
        assert found.code == 2
        assert "Nobody" in found.err or "urn:nothing" in found.err


def test_normalise(run: Run, store: Path) -> None:
    (store.parent / "documents" / "more.txt").write_text(
        "The Tarnay Electric Light Company was sold in 1911."
    )
    (store.parent / "documents" / "else.txt").write_text("Zoë Quill met Zoe Quill in Port Merrin.")
    run("ingest", "documents")
    dry = run("entities", "normalise", "--dry-run", "--format", "json").json
    assert not dry["applied"]
    assert [p["rule"] for p in dry["proposals"]] == ["accents"]
    assert "accents" in run("entities", "normalise").out
    assert run("entities", "decisions", "--format", "json").json == []
    assert run("entities", "normalise", "--apply", "--format", "json").json["proposals"] == dry["proposals"]
    assert run("check").code == 0
    assert len(run("entities", "normalise", "--undo", "--format", "json").json) == 1
    assert "nothing to undo" in run("entities", "normalise", "--undo").out


def test_a_list_of_merges_says_how_to_make_them(run: Run, folder: Path) -> None:
    place = folder / "documents"
    place.mkdir()
    (place / "a.txt").write_text("Elspeth Marwick built the Alder. The Alder sank in Skell Sound.\n")
    (place / "b.txt").write_text("Elspeth Marwicks built the Alder. Port Merrin bought the Alder.\n")
    assert run("ingest", "documents").code == 0
    listed = run("entities", "normalise", "--min-score", "0.5")
    assert "normalise --apply" in listed.out
    assert "--apply" in listed.out
    assert "--undo" in run("entities", "normalise", "--apply", "--min-score", "0.5").out
