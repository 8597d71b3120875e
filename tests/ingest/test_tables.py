"""Tables through the ingest: the same facts however they are cut, edited or read again."""

from __future__ import annotations

import json
from pathlib import Path

from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, Graphs
from tests.ingest.conftest import (
    MakeEngine,
    assert_same,
    by_model,
    chunk_in,
    chunks,
    content,
    facts,
    index_matches_store,
)
from tests.ingest.conftest import settings as small
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

HEAD = "name,born,occupation,born_in"
FIRST, LAST = ("Ada", "Bo", "Cy", "Di", "Ed"), ("Moor", "Orr", "Yew", "Ash")
NAMES = [f"{first} {last}" for first in FIRST for last in LAST]
ROWS = [
    f"{name},18{n:02}-12-10,{('painter', 'baker')[n % 2]},{('Oslo', 'Kelm', 'Rome')[n % 3]}"
    for n, name in enumerate(NAMES)
]


def broken(engine: Engine) -> list[object]:
    """What `check` complains of."""
    return list(run_checks(engine.store, engine.blobs))


def _write(path: Path, rows: list[str], head: str = HEAD) -> None:
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def test_facts_do_not_depend_on_the_size_of_chunks(docs: Path, engine_of: MakeEngine) -> None:
    _write(docs / "people.csv", ROWS)
    found = []
    for size in (100, 170, 400, 2000):
        engine = engine_of(documents__chunk_size=size)
        report = engine.ingest([docs])
        assert report.warnings == []
        assert report.facts == 3 * len(ROWS)
        assert not broken(engine)
        found.append(facts(engine))
    assert all(each == found[0] for each in found)
    assert ("ada-moor", "born-in", "oslo") in found[0]


def test_an_edited_row_is_read_again_and_the_others_are_not(docs: Path, engine_of: MakeEngine) -> None:
    _write(docs / "people.csv", ROWS)
    engine = engine_of("store")
    engine.ingest([docs])
    before = chunks(engine)
    edited = [*ROWS]
    edited[10] = f"{NAMES[10]},1810-12-10,sailor,Kelm"
    _write(docs / "people.csv", edited)
    report = engine.ingest([docs])
    changed = {text for iri, text in chunks(engine).items() if iri not in before}
    assert 0 < len(changed) < len(before) / 2
    assert report.facts <= 3 * sum(text.count("\n") + 1 for text in changed)
    with open_engine(":memory:", config=small()) as scratch:
        scratch.ingest([docs])
        assert_same(content(engine, history=False), content(scratch, history=False))
    assert index_matches_store(engine)
    assert not broken(engine)


def test_where_an_edit_lets_columns_be_read_otherwise_all_rows_are(docs: Path, engine_of: MakeEngine) -> None:
    """Names that are no longer the rows' own: the next best column names them."""
    rows = [f"{row},Entry of {n}" for n, row in enumerate(ROWS)]
    _write(docs / "people.csv", rows, f"{HEAD},what")
    engine = engine_of("store")
    engine.ingest([docs])
    assert ("ada-moor", "what", "entry-of-0") in facts(engine)
    _write(docs / "people.csv", [*rows, *(row.replace("Entry", "More") for row in rows)], f"{HEAD},what")
    engine.ingest([docs])
    assert ("entry-of-0", "name", "ada-moor") in facts(engine)
    assert not any(predicate == "what" for _, predicate, _ in facts(engine))
    with open_engine(":memory:", config=small()) as scratch:
        scratch.ingest([docs])
        assert_same(content(engine, history=False), content(scratch, history=False))
    assert not broken(engine)


def test_facts_are_refreshed_from_what_is_kept(docs: Path, engine_of: MakeEngine) -> None:
    _write(docs / "people.csv", ROWS)
    engine = engine_of("store")
    engine.ingest([docs])
    before = content(engine, history=False)
    (docs / "people.csv").unlink()
    again = engine.refresh_texts([], mentions_only=False)
    assert (again.documents.read_again, again.facts) == (1, 0), "no fact is new"
    assert_same(content(engine, history=False), before)
    engine.refresh_texts([], mentions_only=True)
    assert_same(content(engine, history=False), before)


def test_each_row_is_a_sentence_of_its_table_and_the_names_of_columns_are_none(
    docs: Path, engine_of: MakeEngine
) -> None:
    (docs / "a.csv").write_text('name,note\nAda Moor,"one.\nTwo, three."\nBo Yew,x y\n', encoding="utf-8")
    engine = engine_of(documents__chunk_size=2000)
    engine.ingest([docs])
    source = [quad for quad in engine.store.quads() if quad.graph_name == Graphs.SOURCE]
    rows = [quad for quad in source if quad.predicate == RAG.rowOf]
    sentences = [quad for quad in source if quad.predicate == RAG.sentenceOf]
    assert len(rows) == len(sentences) == 2
    (table,) = (quad for quad in source if quad.predicate == RDF.type and quad.object == RAG.Table)
    assert {quad.object for quad in rows} == {table.subject}


def test_forgetting_leaves_nothing_of_a_table(docs: Path, engine_of: MakeEngine) -> None:
    _write(docs / "people.csv", ROWS)
    engine = engine_of("store")
    engine.ingest([docs])
    document = NamedNode("https://trustgraph.ai/doc/docs/people.csv")
    forget_documents(engine, [document])
    left = list(engine.store.quads())
    assert not [quad for quad in left if quad.object == RAG.Table or quad.predicate == RAG.columns]
    assert not facts(engine)
    assert not broken(engine)


def test_a_table_without_facts_gives_a_warning_with_the_file_name(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "years.csv").write_text("year,rain\n1990,5\n1990,6\n", encoding="utf-8")
    (docs / "bare.csv").write_text("Ada Moor,Oslo\nBo Yew,Kelm\nCy Orr,Kelm\n", encoding="utf-8")
    (docs / "letter.txt").write_text("Zzyzx qwrt plmk vbnx.\n", encoding="utf-8")
    engine = engine_of()
    report = engine.ingest([docs])
    told = {(w["type"], Path(w["detail"].partition(": ")[0]).name) for w in report.warnings}
    assert told == {
        ("table_without_facts", "years.csv"),
        ("table_without_facts", "bare.csv"),
        ("language_without_tagger", "letter.txt"),
    }
    assert report.facts == 0


def test_hostile_cells(docs: Path, engine_of: MakeEngine) -> None:
    cells = [
        '"Ada"" } ; DROP ALL ; # Moor"', "<script>alert(1)</script>", "Bo \u202eYew", "Cy\x07\x1b[31m Orr",
        "../../etc/passwd", "x" * 5000, "{{ 7*7 }}", '"\n\n\n"', "urn:graph:source",
    ]  # fmt: skip
    text = "name,note,link\n" + "".join(
        f"{cell},{cell},https://a.example/{n}\n" for n, cell in enumerate(cells)
    )
    (docs / "a.csv").write_text(text, encoding="utf-8")
    engine = engine_of()
    engine.ingest([docs])
    assert not broken(engine)
    assert any(subject.startswith("bo-") for subject, _, _ in facts(engine))


def test_a_very_wide_table(docs: Path, engine_of: MakeEngine) -> None:
    head = ",".join(["name", *(f"column_{n}" for n in range(300))])
    rows = [",".join([name, *(f"{n}{place}" for place in range(300))]) for n, name in enumerate(NAMES[:3])]
    _write(docs / "wide.csv", rows, head)
    narrow, wide = engine_of(documents__chunk_size=500), engine_of(documents__chunk_size=100_000)
    for engine in (narrow, wide):
        engine.ingest([docs])
        assert not broken(engine)
    assert facts(narrow) == facts(wide)
    assert len(facts(wide)) == 3 * 200  # RuleSettings.max_facts of a row


def test_names_in_json_are_read_without_its_escapes_with_a_model_too(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    notes = ["They went to Orrin.\nMona Kell stayed in Tarn\u00e4y.", "Ida Moor built it."]
    records = [{"name": f"Ada {n}", "note": note} for n, note in enumerate(notes)]
    (docs / "notes.json").write_text(json.dumps(records))
    scripted_server.answer_with(lambda _: '{"entities": [], "relations": []}')
    engine = engine_of(**by_model(scripted_server))
    engine.ingest([docs])
    assert not broken(engine)
    named = {quad.object.value for quad in engine.store.quads() if quad.predicate == RDFS.label}
    assert {"Mona Kell", "Tarn\u00e4y", "Orrin", "Ida Moor"} <= named
    assert not {"nMona Kell", "Tarn", "Ida Moor built it"} & named  # a string is no title in quotation marks


def test_the_prompt_has_the_columns_of_later_chunks(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    _write(docs / "people.csv", ROWS[:8])
    engine = engine_of(**by_model(scripted_server))
    engine.ingest([docs])
    prompts = [request.messages[-1]["content"] for request in scripted_server.requests]
    assert len(prompts) > 1
    for request, prompt in zip(scripted_server.requests, prompts, strict=True):
        told = "<columns>name | born | occupation | born_in</columns>" in prompt
        assert told != chunk_in(request).startswith(HEAD)
