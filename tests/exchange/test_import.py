"""Dumps are restored as they were; the facts of others are taken in with a provenance."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    Triple,
    parse,
    serialize,
)

from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import export_graph, import_file
from graphrag_rdf.exchange.dump import BY_SUFFIX
from graphrag_rdf.ingest.entity_decisions import merge, read_groups
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import OWL, PROV, RAG, RDF, RDFS, SKOS, STORE_NODE, TG, XSD, Graphs
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.base import Changes, plain_quads
from graphrag_rdf.store.settings import read_in_force, write_version
from graphrag_rdf.trace.facts import read_labels
from tests.exchange.test_dump import DATASETS, stored
from tests.support import stores
from tests.support.sample_stores import DOCUMENTS, QUESTION, SAMPLES
from tests.support.stores import open_engine

EX = "http://example.org/"
FACTS = """
@prefix : <http://example.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

<> a owl:Ontology ; owl:imports <http://vocabulary.invalid/other> .
:knows a owl:ObjectProperty ; rdfs:label "knows" ; rdfs:seeAlso <http://example.org/page> .
:Person a owl:Class ; rdfs:label "Person"@en , "Persona"@es .
:ada a :Person ; rdfs:label "Ada Lovelace"@en , "Ada" ; skos:altLabel "Countess of Lovelace" ;
  :knows :charles_babbage , [ foaf:name "Somebody" ; :age "02.50"^^xsd:decimal ] .
:charles_babbage skos:prefLabel "Charles Babbage"@en ; :born "1791-12-26"^^xsd:date ; :said "a } \\" b\\nc" .
:ada :knows :mary%20somerville ~ :account {| :since 1834 |} .
"""


def numbers_aside(engine: Engine) -> set[Quad]:
    return {
        q
        for q in plain_quads(engine.store)
        if not (q.subject == STORE_NODE and q.predicate in (RAG.commit, RAG.contentCommit))
    }


def exported(engine: Engine, path: Path, dialect: Dialect = "rdf12") -> Path:
    with path.open("wb") as file:
        export_graph(engine.store, file, "nquads" if path.suffix == ".nq" else "trig", dialect=dialect)
    return path


def answer(engine: Engine) -> tuple[str, list[str]]:
    *_, last = engine.ask(QUESTION)
    assert last.answer is not None
    return last.answer["answer"], [citation["sentence"] for citation in last.answer["citations"]]


# --- restoring -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "dialect"), [("a.trig", "rdf12"), ("a.nq", "rdf12"), ("a.nq", "classic")])
def test_a_dump_is_restored_into_an_empty_store(
    sample: Engine, empty: Engine, tmp_path: Path, name: str, dialect: Dialect
) -> None:
    path = exported(sample, tmp_path / name, dialect)
    report = import_file(empty, path)
    assert report.kind == "restored"
    assert numbers_aside(empty) == numbers_aside(sample)
    assert run_checks(empty.store, sample.blobs, empty.text_index) == []
    assert answer(empty) == answer(sample)


def test_without_the_blob_store_a_restored_store_has_warnings_only(
    sample: Engine, empty: Engine, tmp_path: Path
) -> None:
    import_file(empty, exported(sample, tmp_path / "a.nq"))
    found = run_checks(empty.store, empty.blobs, empty.text_index)
    assert {(v.check, v.severity) for v in found} == {("object-missing", "warning")}


def test_a_restored_store_can_be_closed_and_opened_again(sample: Engine, tmp_path: Path) -> None:
    path = exported(sample, tmp_path / "a.nq")
    place = tmp_path / "store"
    with open_engine(place, config=Settings()) as engine:
        import_file(engine, path)
        before = numbers_aside(engine)
        number = engine.store.commit_number()
    with open_engine(place, config=Settings()) as engine:
        assert numbers_aside(engine) == before
        if stores.kind() != "serve":  # which numbers what the fixture puts back
            assert engine.store.commit_number() == number
        assert engine.text_index.commit_number <= engine.store.content_commit()


def test_ingesting_the_same_documents_after_a_restore_changes_nothing(
    sample: Engine, empty: Engine, tmp_path: Path
) -> None:
    import_file(empty, exported(sample, tmp_path / "a.nq"))
    report = empty.ingest(SAMPLES)
    assert (report.documents.unchanged, report.chunks.added) == (len(SAMPLES), 0)


def test_a_dump_is_not_restored_over_other_data(sample: Engine, empty: Engine, tmp_path: Path) -> None:
    path = exported(sample, tmp_path / "a.nq")
    empty.ingest([DOCUMENTS / "chaodong-note-1986.txt"])
    before = set(plain_quads(empty.store))
    with pytest.raises(UsageError, match="not empty") as caught:
        import_file(empty, path)
    assert "--merge" in (caught.value.hint or "")
    assert set(plain_quads(empty.store)) == before


def test_two_stores_become_one(sample: Engine, empty: Engine, tmp_path: Path) -> None:
    path = exported(sample, tmp_path / "a.nq")
    empty.ingest([DOCUMENTS / "elspeth-marwick.md"])
    for iri in sample.blobs.objects():
        empty.blobs.put(sample.blobs.get(iri) or b"")
    import_file(empty, path, merge=True)
    assert run_checks(empty.store, empty.blobs, empty.text_index) == []
    assert len(empty.store.select("ingest/documents")) == len(SAMPLES) + 1
    assert answer(empty)[0] == answer(sample)[0]
    quads = set(plain_quads(empty.store))
    import_file(empty, path, merge=True)
    assert len(set(plain_quads(empty.store)) ^ quads) <= 4  # the two commit numbers


def test_other_versions_of_the_same_document_are_not_merged(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    dumps = []
    for text in ("Ada met Bob in Paris.", "Ada met Carol in Rome."):
        note.write_text(text, "utf-8")
        with open_engine(":memory:", config=Settings()) as engine:
            engine.ingest([note])
            if not dumps:
                dumps.append(exported(engine, tmp_path / "a.nq"))
                continue
            before = set(plain_quads(engine.store))
            with pytest.raises(UsageError, match="different versions of the same documents"):
                import_file(engine, dumps[0], merge=True)
            assert set(plain_quads(engine.store)) == before


def test_a_dump_for_star_engines_is_not_misread(sample: Engine, empty: Engine, tmp_path: Path) -> None:
    before = set(plain_quads(empty.store))
    for name in ("a.trig", "a.nq"):
        with pytest.raises(UsageError, match=name):
            import_file(empty, exported(sample, tmp_path / name, "rdf-star"))
    assert set(plain_quads(empty.store)) == before


def test_a_dump_of_a_newer_program_is_refused(empty: Engine, tmp_path: Path) -> None:
    path = tmp_path / "a.nq"
    number = Literal(99)
    quads = [
        Quad(STORE_NODE, RAG.storeVersion, number, Graphs.SYSTEM),
        Quad(NamedNode("urn:c"), RDF.type, TG.Chunk, Graphs.SOURCE),
    ]
    path.write_text(
        "".join(f"{q.subject} {q.predicate} {q.object} {q.graph_name} .\n" for q in quads), "utf-8"
    )
    with pytest.raises(UsageError, match="version 99"):
        import_file(empty, path)


def forged(path: Path, *, as_dump: bool) -> Path:
    """A file that says what only the program itself says of a store."""
    setting, decision = iris.setting("llm.model"), NamedNode("urn:graphrag-rdf:removal:1")
    quads = [
        Quad(STORE_NODE, RAG.commit, Literal(999), Graphs.SYSTEM),
        Quad(STORE_NODE, RAG.contentCommit, Literal(999), Graphs.SYSTEM),
        Quad(STORE_NODE, RAG.setting, setting, Graphs.SYSTEM),
        Quad(setting, RAG.settingKey, Literal("llm.model"), Graphs.SYSTEM),
        Quad(setting, RAG.settingValue, Literal("openai/other"), Graphs.SYSTEM),
        Quad(decision, RDF.type, RAG.FactRetraction, Graphs.SYSTEM),
        Quad(iris.session("1"), RDF.type, RAG.Session, Graphs.RETRIEVAL),
    ]
    if as_dump:
        quads.append(Quad(NamedNode("urn:chunk:1"), RDF.type, TG.Chunk, Graphs.SOURCE))
    serialize(quads, str(path), format=RdfFormat.N_QUADS)
    return path


def test_a_file_of_facts_says_nothing_of_the_store(empty: Engine, tmp_path: Path) -> None:
    before = {q for q in numbers_aside(empty) if q.graph_name in (Graphs.SYSTEM, Graphs.RETRIEVAL)}
    number = empty.store.commit_number()
    report = import_file(empty, forged(tmp_path / "a.nq", as_dump=False))
    assert (report.kind, report.settings, report.decisions, report.traces) == ("imported", 0, 0, 0)
    assert {q for q in numbers_aside(empty) if q.graph_name in (Graphs.SYSTEM, Graphs.RETRIEVAL)} == before
    assert empty.store.commit_number() < number + 10
    assert read_in_force(empty.store) == {}


def test_a_merged_dump_changes_no_setting_and_is_counted(empty: Engine, tmp_path: Path) -> None:
    empty.ingest([DOCUMENTS / "chaodong-note-1986.txt"])
    write_version(empty.store, {"llm.model": "none"}, "by hand")
    report = import_file(empty, forged(tmp_path / "a.nq", as_dump=True), merge=True)
    assert (report.kind, report.settings, report.decisions, report.traces) == ("restored", 0, 1, 1)
    assert read_in_force(empty.store) == {"llm.model": "none"}
    assert empty.store.commit_number() < 999


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(quads=DATASETS)
def test_any_dataset_of_ours_is_restored(tmp_path_factory: pytest.TempPathFactory, quads: list[Quad]) -> None:
    marker = Quad(NamedNode("urn:chunk:1"), RDF.type, TG.Chunk, Graphs.SOURCE)
    quads = [*quads, marker]
    folder = tmp_path_factory.mktemp("dump")
    with (
        open_engine(":memory:", config=Settings()) as first,
        open_engine(":memory:", config=Settings()) as second,
    ):
        first.store.commit(Changes(add=quads))
        import_file(second, exported(first, folder / "a.trig"))
        added = numbers_aside(second) - numbers_aside(first)
        assert numbers_aside(first) <= numbers_aside(second)
        assert {quad.predicate for quad in added} <= {RAG.canonicalRelation}, (
            "links of relations are made again"
        )
        assert stored(quads) <= set(plain_quads(second.store))


# --- facts of others -----------------------------------------------------------------------------


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "facts.ttl"
    path.write_text(FACTS, "utf-8")
    return path


def names_of(engine: Engine, thing: str) -> dict[str, str]:
    rows = engine.store.select("labels/known", things=[NamedNode(EX + thing)])
    return {row["name"].value: row["property"].value.rsplit("#")[-1] for row in rows}  # type: ignore[union-attr]


def entities(engine: Engine) -> set[str]:
    return {row["entity"].value for row in engine.store.select("exchange/entities")}  # type: ignore[union-attr]


def test_facts_are_asserted_and_contained(empty: Engine, foreign: Path) -> None:
    report = import_file(empty, foreign)
    assert report.kind == "imported"
    fact = Triple(NamedNode(EX + "ada"), NamedNode(EX + "knows"), NamedNode(EX + "charles_babbage"))
    quads = set(plain_quads(empty.store))
    assert Quad(*fact) in quads
    (container,) = [q.subject for q in quads if q.predicate == TG.contains and q.object == fact]
    (origin,) = [q.object for q in quads if q.subject == container and q.predicate == PROV.wasDerivedFrom]
    (activity,) = [q.object for q in quads if q.subject == container and q.predicate == PROV.wasGeneratedBy]
    assert origin == iris.stored_object(iris.digest(foreign.read_bytes()))
    assert empty.blobs.get(origin) == foreign.read_bytes()
    assert Quad(activity, RDF.type, RAG.Import, Graphs.SOURCE) in quads
    assert run_checks(empty.store, empty.blobs, empty.text_index) == []


def test_entities_are_what_is_spoken_of(empty: Engine, foreign: Path) -> None:
    report = import_file(empty, foreign)
    found = {iri.removeprefix(EX) for iri in entities(empty) if iri.startswith(EX)}
    assert found == {"ada", "charles_babbage", "mary%20somerville"}
    assert report.entities == len(entities(empty)) == 4  # and one without a name of its own
    assert not any(iri.startswith(str(OWL)) or "invalid" in iri for iri in entities(empty))


def test_names_stay_as_they_are_and_the_nameless_get_a_display_name(empty: Engine, foreign: Path) -> None:
    import_file(empty, foreign)
    assert names_of(empty, "ada") == {
        "Ada": "label",
        "Ada Lovelace": "label",
        "Countess of Lovelace": "altLabel",
    }
    assert names_of(empty, "charles_babbage") == {"Charles Babbage": "displayName"}
    assert names_of(empty, "mary%20somerville") == {"mary somerville": "displayName"}
    assert names_of(empty, "Person") == {"Person": "label", "Persona": "label"}
    tagged = Literal("Charles Babbage", language="en")
    assert Quad(NamedNode(EX + "charles_babbage"), SKOS.prefLabel, tagged) in set(plain_quads(empty.store))


def test_imported_entities_are_found_and_followed(empty: Engine, foreign: Path) -> None:
    import_file(empty, foreign)
    edges = empty.retrieve("Whom does Ada Lovelace know?")["edges"]
    assert ("Ada Lovelace", "knows", "Charles Babbage") in [
        (e["s_label"], e["p_label"], e["o_label"]) for e in edges
    ]


def test_the_same_file_again_changes_nothing(empty: Engine, foreign: Path) -> None:
    import_file(empty, foreign)
    before = set(plain_quads(empty.store))
    assert import_file(empty, foreign).kind == "unchanged"
    assert set(plain_quads(empty.store)) == before


def test_an_import_is_deterministic(foreign: Path) -> None:
    found = []
    for _ in range(2):
        with open_engine(":memory:", config=Settings()) as engine:
            import_file(engine, foreign)
            timeless = (PROV.startedAtTime, PROV.endedAtTime)
            found.append({q for q in numbers_aside(engine) if q.predicate not in timeless})
    assert found[0] == found[1]


def test_an_import_beside_documents_leaves_a_healthy_store(foreign: Path) -> None:
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([DOCUMENTS / "elspeth-marwick.md"])
        entity = next(iter(entities(engine)))
        more = foreign.with_name("more.nt")
        more.write_text(f'<{entity}> <{RDFS}label> "Another name" .\n<{entity}> <urn:p> "x" .\n', "utf-8")
        import_file(engine, foreign)
        import_file(engine, more)
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []
        report = engine.ingest([DOCUMENTS / "chaodong-note-1986.txt"])
        assert report.documents.added == 1
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_what_documents_say_too_is_kept_when_they_are_forgotten(tmp_path: Path) -> None:
    """A fact lives while a container does, and an import is one."""
    note = tmp_path / "note.txt"
    note.write_text("Ada Lovelace met Charles Babbage in London.", "utf-8")
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([note])
        facts = [q for q in plain_quads(engine.store) if "/r/" in q.predicate.value]
        assert facts
        kept = tmp_path / "kept.nt"
        kept.write_text("".join(f"{q.subject} {q.predicate} {q.object} .\n" for q in facts), "utf-8")
        import_file(engine, kept)
        forget_documents(engine, find_documents(engine.store, [str(note)]))
        assert set(facts) <= set(plain_quads(engine.store))
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Every attempt to reach the network is an error, and is noted."""
    attempts: list[object] = []

    def refuse(*arguments: object, **_: object) -> None:
        attempts.append(arguments)
        raise AssertionError(arguments)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield attempts
    assert attempts == []


@pytest.mark.embedded  # with a store that is asked over a network there is nothing to see
@pytest.mark.usefixtures("offline")
def test_nothing_is_fetched(empty: Engine, tmp_path: Path) -> None:
    ontology = tmp_path / "o.ttl"
    ontology.write_text(f"<urn:o> a <{OWL}Ontology> ; <{OWL}imports> <http://example.org/other> .", "utf-8")
    import_file(empty, ontology)
    context = tmp_path / "c.jsonld"
    context.write_text('{"@context": "http://example.org/c.jsonld", "@id": "urn:a", "name": "x"}', "utf-8")
    with pytest.raises(UsageError, match=r"c\.jsonld"):
        import_file(empty, context)
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET", "utf-8")
    entity = tmp_path / "x.rdf"
    entity.write_text(
        f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://example.org/"><rdf:Description rdf:about="urn:a">'
        "<e:p>&x;</e:p></rdf:Description></rdf:RDF>",
        "utf-8",
    )
    with pytest.raises(UsageError, match=r"x\.rdf"):
        import_file(empty, entity)
    assert not any("SECRET" in str(quad) for quad in plain_quads(empty.store))


LAUGHS = '<!ENTITY e0 "boom">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))


@pytest.mark.parametrize(
    ("entities", "text", "told"),
    [
        (LAUGHS, "&e11;", "nested entities"),
        ("<!ENTITY % p '<!ENTITY e \"x\">'> %p;", "&e;", "nested entities"),
        (f'<!ENTITY long "{"x" * 100_000}">', "&long;" * 1000, "expand to more than"),
        ('<!ENTITY owl "http://www.w3.org/2002/07/owl#">', "&owl;Class &amp; &#65;", None),
    ],
)
def test_entity_bombs_are_refused(
    empty: Engine, tmp_path: Path, entities: str, text: str, told: str | None
) -> None:
    bomb = tmp_path / "bomb.rdf"
    bomb.write_text(
        f'<!DOCTYPE r [{entities}]><rdf:RDF xmlns:rdf="{RDF}" xmlns:e="urn:"><rdf:Description '
        f'rdf:about="urn:s"><e:p>{text}</e:p></rdf:Description></rdf:RDF>',
        "utf-8",
    )
    if told is None:
        assert import_file(empty, bomb).facts
    else:
        with pytest.raises(UsageError, match=rf"bomb\.rdf: .*{told}"):
            import_file(empty, bomb)


def test_triple_terms_that_are_nested_too_deeply_are_refused(empty: Engine, tmp_path: Path) -> None:
    """They would end the process."""
    for depth, refused in ((400, False), (100_000, True)):
        nested = "<<( <urn:x> <urn:y> " * depth + "<urn:z>" + " )>>" * depth
        deep = tmp_path / "deep.nt"
        deep.write_text(f"<urn:a> <urn:b> {nested} .\n")
        with pytest.raises(UsageError, match=r"deep\.nt: .*nested") if refused else nullcontext():
            import_file(empty, deep)


MALFORMED: dict[str, str] = {
    "a.ttl": '<urn:a> <urn:b> "c" .\n<urn:a> <urn:b> "open .\n',
    "a.nt": '<urn:a> <urn:b> "c" .\n<urn:a> "b" "c" .\n',
    "a.nq": '<urn:a> <urn:b> "c" .\n<urn:a> <urn:b> <no scheme> .\n',
    "a.trig": '{ <urn:a> <urn:b> "c" .\n <urn:a> <urn:b> }',
    "a.rdf": f'<rdf:RDF xmlns:rdf="{RDF}">\n<rdf:Description>\n</rdf:RDF>',
    "a.jsonld": '{\n"@id": ',
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_named_with_its_line_and_leaves_nothing(
    empty: Engine, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_text(MALFORMED[name], "utf-8")
    before = set(plain_quads(empty.store))
    with pytest.raises(UsageError, match=rf"{name.replace('.', '[.]')}, line \d"):
        import_file(empty, path)
    assert set(plain_quads(empty.store)) == before
    assert list(empty.blobs.objects()) == []


def test_bytes_that_are_no_text_are_refused(empty: Engine, tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_bytes(b'<urn:a> <urn:b> "\xff\xfe" .')
    with pytest.raises(UsageError, match=r"a\.ttl"):
        import_file(empty, path)


@pytest.mark.parametrize("make", [lambda p: None, Path.mkdir], ids=["missing", "a folder"])
def test_what_is_no_file_is_refused(empty: Engine, tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "a.ttl"
    make(path)
    with pytest.raises(UsageError, match="is not a file"):
        import_file(empty, path)


def test_an_unknown_format_is_refused_with_those_that_are_known(empty: Engine, tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_text("", "utf-8")
    with pytest.raises(UsageError, match="unknown RDF format") as caught:
        import_file(empty, path)
    assert all(suffix in (caught.value.hint or "") for suffix in BY_SUFFIX)


def test_an_empty_file_brings_nothing(empty: Engine, tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_text("", "utf-8")
    report = import_file(empty, path)
    assert (report.quads, report.facts, report.entities) == (0, 0, 0)
    assert run_checks(empty.store, empty.blobs, empty.text_index) == []


# --- as the file has them ------------------------------------------------------------------------

_THINGS = st.sampled_from([NamedNode(EX + name) for name in ("a", "b", "c", "d%20e")])
_NODES = st.one_of(_THINGS, st.sampled_from([BlankNode("x"), BlankNode("y")]))
_NAMING = st.sampled_from([RDFS.label, SKOS.prefLabel, SKOS.altLabel, NamedNode(EX + "said")])
_TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
_LITERALS = st.one_of(
    st.builds(Literal, _TEXTS),
    st.builds(
        lambda text, tag: Literal(text, language=tag), _TEXTS, st.sampled_from(["en", "de", "zh-Hant"])
    ),
    st.builds(Literal, st.integers(-9, 9)),
    st.builds(lambda day: Literal(day, datatype=XSD.date), st.sampled_from(["1815-12-10", "2000-01-01"])),
)
_TRIPLES = st.one_of(
    st.builds(Triple, _NODES, _NAMING, _LITERALS),
    st.builds(Triple, _NODES, st.just(NamedNode(EX + "knows")), _NODES),
    st.builds(Triple, _NODES, st.just(RDF.type), st.just(NamedNode(EX + "Thing"))),
)


def canonical(triples: Iterable[Triple]) -> set[Quad]:
    found = Dataset([Quad(triple.subject, triple.predicate, triple.object) for triple in triples])
    found.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return set(found)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(triples=st.lists(_TRIPLES, min_size=1, max_size=12, unique_by=str))
def test_what_goes_in_comes_out(tmp_path_factory: pytest.TempPathFactory, triples: list[Triple]) -> None:
    """The graph of facts is the file's, with its languages, datatypes and blank nodes, and no more."""
    folder = tmp_path_factory.mktemp("graph")
    path, out = folder / "in.nt", folder / "out.nt"
    serialize(triples, str(path), format=RdfFormat.N_TRIPLES)
    with open_engine(":memory:", config=Settings()) as engine:
        import_file(engine, path)
        with out.open("wb") as file:
            export_graph(engine.store, file, "ntriples")
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    found = [quad.triple for quad in parse(path=str(out), format=RdfFormat.N_TRIPLES)]
    assert canonical(found) == canonical(triples)


def test_what_owl_same_as_joins_gets_nothing_that_no_file_states(tmp_path: Path) -> None:
    """A decision joins them; the graph of facts is the file."""
    path, other = tmp_path / "same.ttl", tmp_path / "other.ttl"
    path.write_text(
        f"@prefix : <{EX}> . @prefix owl: <{OWL}> . @prefix rdfs: <{RDFS}> .\n"
        ':ada rdfs:label "Ada Venn" ; :worksFor :kelm ; owl:sameAs :adaV .\n'
        ':adaV rdfs:label "A. Venn" ; :livesIn :tarn . :kelm rdfs:label "Kelm Yard" .',
        "utf-8",
    )
    other.write_text(f'<{EX}mona> <{RDFS}label> "Mona Kell" ; <{OWL}sameAs> <{EX}ada> .', "utf-8")
    stated = {quad.triple for each in (path, other) for quad in parse(path=str(each))}
    ada, short = NamedNode(f"{EX}ada"), NamedNode(f"{EX}adaV")
    with open_engine(":memory:", config=Settings()) as engine:
        import_file(engine, path)
        import_file(engine, other)
        facts = {quad.triple for quad in plain_quads(engine.store) if quad.graph_name == DefaultGraph()}
        assert facts == stated
        assert {entity.value for entity in read_groups(engine.store).of(short)} >= {ada.value, short.value}
        merge(engine, [Merge(ada, (ada, NamedNode(f"{EX}kelm")))])  # a person's decision gives its names
        facts = {quad.triple for quad in plain_quads(engine.store) if quad.graph_name == DefaultGraph()}
        assert {(str(t.predicate), t.object) for t in facts - stated} == {
            (str(SKOS.altLabel), Literal("Kelm Yard"))
        }
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_languages_outlive_documents_that_name_the_thing(tmp_path: Path) -> None:
    """Documents add their names to those of a file, and take only their own away again."""
    note, facts = tmp_path / "note.txt", tmp_path / "facts.ttl"
    note.write_text("Ada Lovelace met Charles Babbage in London. Ada Lovelace met Mary Somerville.", "utf-8")
    with open_engine(":memory:", config=Settings()) as engine:
        ada = iris.entity("ada-lovelace")
        facts.write_text(
            f'{ada} <{RDFS}label> "Ada Lovelace"@en , "Ada Byron" , "阿达"@zh .\n'
            f'{ada} <{SKOS}altLabel> "Ada Lovelace" .',
            "utf-8",
        )
        import_file(engine, facts)
        stated = {quad for quad in plain_quads(engine.store) if quad.subject == ada}
        named = {quad for quad in stated if quad.graph_name == DefaultGraph()}
        assert len(named) == 4
        engine.ingest([note])
        assert named <= set(plain_quads(engine.store))
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []
        forget_documents(engine, find_documents(engine.store, [str(note)]))
        assert {quad for quad in plain_quads(engine.store) if quad.subject == ada} == stated
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []


@pytest.mark.parametrize(
    ("language", "shown"), [("de", "Wien"), ("zh", "维也纳"), ("fr", "Vienna"), (None, "Vienna")]
)
def test_a_label_is_shown_in_the_language_of_who_asks(
    empty: Engine, tmp_path: Path, language: str | None, shown: str
) -> None:
    path = tmp_path / "a.ttl"
    path.write_text(
        f'<{EX}w> <{RDFS}label> "Wien"@de-AT , "Vienna"@en , "维也纳"@zh , "Beč"@hr ; <{EX}in> <{EX}a> .\n'
        f'<{EX}a> <{RDFS}label> "Austria" .',
        "utf-8",
    )
    import_file(empty, path)
    assert read_labels(empty.store, [NamedNode(EX + "w")], language) == {EX + "w": shown}
    for name in ("Wien", "Vienna", "维也纳"):
        assert empty.text_index.exact([name]) == {name: [EX + "w"]}


# --- into a graph of one's own -------------------------------------------------------------------


def test_a_file_goes_into_a_graph_as_it_is(empty: Engine, foreign: Path) -> None:
    graph = NamedNode("http://example.org/graph")
    report = import_file(empty, foreign, graph)
    assert report.kind == "loaded"
    assert len(list(empty.store.quads(graph))) == report.quads
    assert entities(empty) == set()
    assert run_checks(empty.store, empty.blobs, empty.text_index) == []


@pytest.mark.parametrize(
    "graph", [Graphs.SOURCE, Graphs.RETRIEVAL, Graphs.SYSTEM, Graphs.DERIVED, Graphs.FACTS]
)
def test_the_programs_own_graphs_are_not_written_to(empty: Engine, foreign: Path, graph: NamedNode) -> None:
    with pytest.raises(UsageError, match="of the program's own"):
        import_file(empty, foreign, graph)
