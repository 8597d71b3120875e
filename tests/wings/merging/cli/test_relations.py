"""`relations list|merge|split|normalise|decisions|undo`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_list_merge_and_undo(run: Run, store: Path) -> None:
    before = run("relations", "list", "--format", "json").json
    assert [one["facts"] for one in before] == sorted((one["facts"] for one in before), reverse=True)
    assert before[0].keys() == {"iri", "name", "facts", "inverse", "members"}
    things = [one for one in before if "/r/" in one["iri"] and not one["iri"].endswith("-value")]
    first, second = things[0], things[1]
    made = run("relations", "merge", first["iri"], second["iri"], "--by", "R. T.", "--format", "json")
    assert made.code == 0
    (decision,) = made.json
    assert (decision["kind"], decision["canonical"]) == ("merge", first["iri"])
    (merged,) = (
        one for one in run("relations", "list", "--format", "json").json if one["iri"] == first["iri"]
    )
    assert merged["facts"] == first["facts"] + second["facts"]
    assert second["iri"] in {one["iri"] for one in merged["members"]}
    listed = run("relations", "list", "--match", second["name"].upper()).out
    assert first["name"] in listed
    assert second["name"] in listed
    assert decision["iri"] in {one["iri"] for one in run("relations", "decisions", "--format", "json").json}
    assert run("check").code == 0
    assert "undone" in run("relations", "undo", decision["iri"]).out
    assert run("relations", "list", "--format", "json").json == before
    assert "(undone)" in run("relations", "decisions", "--all").out


def test_split(run: Run, store: Path) -> None:
    relations = [
        one["iri"] for one in run("relations", "list", "--format", "json").json if "/r/" in one["iri"]
    ]
    first, second = [iri for iri in relations if not iri.endswith("-value")][:2]
    run("relations", "merge", first, second)
    (decision,) = run("relations", "split", second, "--format", "json").json
    assert decision["apart"] == second
    assert run("relations", "split", second).code == 2


def test_inverse(run: Run, store: Path) -> None:
    relations = [
        one["iri"] for one in run("relations", "list", "--format", "json").json if "/r/" in one["iri"]
    ]
    values = next(iri for iri in relations if iri.endswith("-value"))
    first, second, third = [iri for iri in relations if not iri.endswith("-value")][:3]
    found = run("relations", "inverse", first, second, "--reason", "for a test")
    assert f"{min(first, second)} is the inverse of {max(first, second)}" in found.out
    listed = {one["iri"]: one["inverse"] for one in run("relations", "list", "--format", "json").json}
    assert (listed[first]["iri"], listed[second]["iri"], listed[third]) == (second, first, None)
    assert run("relations", "inverse", second, first).out == "they are inverse already\n"
    for other, said in ((first, "same relation"), (third, "is the inverse of"), (values, "have no inverse")):
        refused = run("relations", "inverse", first, other)
        assert (refused.code, said in refused.err) == (2, True), refused.err
    (decision,) = (
        d for d in run("relations", "decisions", "--format", "json").json if d["kind"] == "inverse"
    )
    assert run("check").code == 0
    assert "undone" in run("relations", "undo", decision["iri"]).out
    assert all(one["inverse"] is None for one in run("relations", "list", "--format", "json").json)


def test_unknown_names(run: Run, store: Path) -> None:
    for arguments in (
        ("merge", "founded", "no such thing"),
        ("split", "no such thing"),
        ("undo", "no such thing"),
    ):
        found = run("relations", *arguments)
        assert found.code == 2
        assert "no such thing" in found.err


def test_things_and_values_cannot_be_merged(run: Run, store: Path) -> None:
    relations = [
        one["iri"] for one in run("relations", "list", "--format", "json").json if "/r/" in one["iri"]
    ]
    things = next(iri for iri in relations if not iri.endswith("-value"))
    values = next(iri for iri in relations if iri.endswith("-value"))
    found = run("relations", "merge", things, values)
    assert found.code == 2
    assert "relations to values" in found.err


def test_normalise_without_anything_to_do(run: Run, store: Path) -> None:
    found = run("relations", "normalise", "--format", "json")
    assert found.json == {"applied": False, "proposals": []}
    assert "nothing to undo" in run("relations", "normalise", "--undo").out
    refused = run("relations", "normalise", "--by", "model")
    assert refused.code == 2
    assert "--model" in refused.err
