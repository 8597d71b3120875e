"""Files that move, vanish, share names or contents, and documents of odd shapes."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from graphrag_rdf.rdf.namespaces import DCTERMS, RAG
from tests.ingest.conftest import (
    MakeEngine,
    assert_same,
    by_model,
    chunks,
    content,
    everything,
    facts,
    index_matches_store,
)
from tests.support.scripted_server import ScriptedServer

MET = "Ada Lovelace met Charles Babbage in London."


def documents(engine: object) -> set[str]:
    return {row["identity"] for row in engine.store.select("ingest/documents")}  # type: ignore[attr-defined]


def test_moved_file(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    """Followed by --sync without a call; the old document is replaced by the new one."""
    (docs / "a.txt").write_text(MET)
    (docs / "b.txt").write_text("Grace Hopper knew Ada Lovelace.")
    engine = engine_of("store", **by_model(scripted_server))
    engine.ingest([docs])
    asked = len(scripted_server.requests)
    (docs / "sub").mkdir()
    (docs / "a.txt").rename(docs / "sub" / "renamed.txt")
    report = engine.ingest([docs], sync=True)
    counts = report.documents
    assert (counts.moved, counts.added, counts.unchanged, counts.forgotten) == (1, 0, 1, 0)
    assert (len(scripted_server.requests), report.llm.calls) == (asked, 0)
    assert documents(engine) == {"docs/sub/renamed.txt", "docs/b.txt"}
    (replaces,) = (q for q in everything(engine) if q.predicate == DCTERMS.replaces)
    assert replaces.object.value.endswith("doc/docs/a.txt")  # type: ignore[union-attr]
    assert len(chunks(engine)) == 2
    before = everything(engine)
    assert engine.ingest([docs], sync=True).documents.unchanged == 2
    assert_same(everything(engine), before)
    assert index_matches_store(engine)


def test_moved_by_rules_equals_a_fresh_build(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "a.txt").write_text(MET)
    engine = engine_of()
    engine.ingest([docs])
    (docs / "a.txt").rename(docs / "z.txt")
    engine.ingest([docs], sync=True)
    (docs / "z.txt").rename(docs / "a.txt")  # and back
    assert engine.ingest([docs], sync=True).documents.moved == 1
    fresh = engine_of()
    fresh.ingest([docs])
    left = {q for q in content(engine, history=False) if q.predicate != DCTERMS.replaces}
    assert_same(left, content(fresh))


def test_vanished_file(docs: Path, engine_of: MakeEngine) -> None:
    """Reported without --sync, forgotten with it; other folders are none of its business."""
    (docs / "a.txt").write_text(MET)
    (docs / "b.txt").write_text("Grace Hopper knew Ada Lovelace.")
    other = docs.parent / "other"
    other.mkdir()
    (other / "c.txt").write_text("Mary Somerville taught Ada Lovelace.")
    engine = engine_of("store")
    engine.ingest([docs, other])
    (docs / "a.txt").unlink()
    (other / "c.txt").unlink()
    report = engine.ingest([docs])
    assert report.missing == ["docs/a.txt"]
    assert len(chunks(engine)) == 3
    report = engine.ingest([docs], sync=True)
    assert (report.missing, report.documents.forgotten, report.chunks.removed) == ([], 1, 1)
    assert documents(engine) == {"docs/b.txt", "other/c.txt"}
    assert not any("babbage" in part for fact in facts(engine) for part in fact)


def test_folder_that_cannot_be_read_is_not_gone(
    docs: Path, engine_of: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link where a folder was, and files behind it, are no reason to forget anything."""
    (docs / "sub").mkdir()
    (docs / "sub" / "a.txt").write_text(MET)
    engine = engine_of()
    engine.ingest([docs])
    shutil.move(docs / "sub", docs.parent / "elsewhere")
    (docs / "sub").symlink_to(docs.parent / "elsewhere")
    report = engine.ingest([docs], sync=True)
    assert report.documents.forgotten == 0
    assert len(chunks(engine)) == 1


def test_same_path_under_two_roots(tmp_path: Path, engine_of: MakeEngine) -> None:
    """The second is refused while the first is there, and takes its place when the root has moved."""
    one, two = tmp_path / "1" / "docs", tmp_path / "2" / "docs"
    for root in (one, two):
        root.mkdir(parents=True)
        (root / "a.txt").write_text(MET)
    engine = engine_of("store")
    assert engine.ingest([one]).documents.added == 1
    report = engine.ingest([two])
    assert report.documents.failed == 1
    assert str(one) in report.failures[0].reason
    shutil.rmtree(one)
    report = engine.ingest([two])
    assert (report.documents.moved, report.failures, report.chunks.added) == (1, [], 0)
    assert {q.object.value for q in everything(engine) if q.predicate == RAG.location} == {  # type: ignore[union-attr]
        (two / "a.txt").as_uri()
    }
    assert engine.ingest([two]).quads == 0


ODD = {
    "one line.txt": "Ada Lovelace met Charles Babbage " * 400,
    "page\ffeeds.txt": f"{MET}\f\f{MET}\fGrace Hopper knew Ada Lovelace.",
    "中文.txt": "林玉华在《海峡报》工作。她住在塔内岛。" * 8,
    "emoji 🎉.md": "# 🎉 Party\n\n👩‍👩‍👧 Zoë Müller met Łukasz Żak in 東京. 🎉🎉 Zoë Müller left.",
    "rtl.txt": "عاشت ليلى في القاهرة. ثم سافرت ليلى إلى بيروت.\nAda Lovelace met Layla.",
    "names.txt": "The \"Acme \\ Works\" {LLC} met <Bob & Sons> of 100% Pure. O'Brien's Pub met C++ Users?",
    'quo"te%20[x]#.txt': MET,
    "symbols.txt": "--- *** ---\n\n12345 67890\n",
    "table.csv": "Name,Town\nAda Lovelace,London\nGrace Hopper,Arlington\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_documents(name: str, docs: Path, engine_of: MakeEngine) -> None:
    """They are taken in, a second run changes nothing, an edit gives what a fresh build gives."""
    path = docs / name
    path.write_text(ODD[name], encoding="utf-8")
    engine = engine_of("store")
    report = engine.ingest([docs])
    assert report.failures == []
    assert report.documents.added == 1
    text = ODD[name].replace("\r", "")
    for chunk in chunks(engine).values():
        assert chunk in text or name.endswith((".csv", ".md"))
    before = everything(engine)
    assert engine.ingest([docs]).documents.unchanged == 1
    assert_same(everything(engine), before)
    path.write_text(ODD[name] + "\nGrace Hopper met Zoë Müller.\n", encoding="utf-8")
    assert engine.ingest([docs]).failures == []
    fresh = engine_of()
    fresh.ingest([docs])
    assert_same(content(engine, history=False), content(fresh))
    assert index_matches_store(engine)


def test_odd_names_by_a_model(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    """Whatever a model calls things becomes an IRI or is rejected; nothing ends the run."""
    import json

    names = [
        '"Q"',
        "a<b>c",
        "100%",
        "{x}",
        "back\\slash",
        "tab\tname",
        "\u200b",
        "…",
        "東京",
        "ﬁne Ⅳ",
        "x" * 500,
        "NONE",
    ]
    relations = [
        {"subject": a, "predicate": p, "object": b, "object_is_entity": True, "evidence": MET}
        for a, b in itertools.pairwise(names)
        for p in ("met", "\u200b", '"says" <x>')
    ]
    entities = [{"name": name, "type": name, "definition": name, "aliases": names} for name in names]
    answer = json.dumps({"entities": entities, "relations": relations})
    scripted_server.answer_with(lambda request: answer)
    (docs / "a.txt").write_text(MET)
    engine = engine_of("store", **by_model(scripted_server))
    report = engine.ingest([docs])
    assert report.failures == []
    assert report.facts > 0
    assert sum(report.rejected.values()) > 0
    before = content(engine)
    engine.ingest([docs], refresh=True)
    assert_same(content(engine), before)
    assert index_matches_store(engine)


def test_homonyms_and_spellings(docs: Path, engine_of: MakeEngine) -> None:
    """Width, case and white space make no difference to the IRI; anything bolder does."""
    (docs / "a.txt").write_text(
        "In Leeds the ＡＣＭＥ Works met Ada. Ada left ACME  Works. The Acme Work closed."
    )
    engine = engine_of()
    engine.ingest([docs])
    entities = {
        str(q.subject.value).rsplit("/", 1)[-1]  # type: ignore[union-attr]
        for q in everything(engine)
        if q.predicate == RAG.canonicalEntity
    }
    assert {"acme-works", "acme-work"} <= entities
    assert len([e for e in entities if e.startswith("acme-works")]) == 1
