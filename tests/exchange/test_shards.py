"""A store in shards."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import export_shards, read_manifest
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG, Graphs
from graphrag_rdf.sparql.render import decode
from tests.support.sample_stores import store_of

A, B = NamedNode("urn:a"), NamedNode("urn:b")
MANY = [Quad(NamedNode(f"urn:{number}"), B, Literal(str(number))) for number in range(9_000)]
TERM = Quad(A, TG.contains, Triple(A, B, Literal("x")), Graphs.SOURCE)


def content(folder: Path) -> list[Quad]:
    """The quads of all shards, without the store's own description."""
    files = (gzip.decompress(file.read_bytes()) for file in sorted(folder.glob("*.nq.gz")))
    quads = [quad for data in files for quad in parse(data, format=RdfFormat.N_QUADS)]
    return [quad for quad in quads if quad.graph_name != Graphs.SYSTEM]


def test_shards_hold_the_store_once_in_nearly_equal_parts(tmp_path: Path) -> None:
    manifest = export_shards(store_of([*MANY, TERM]), tmp_path, 3)
    assert sorted(map(str, content(tmp_path))) == sorted(map(str, [*MANY, TERM]))
    sizes = [shard.quads for shard in manifest.shards]
    assert len(sizes) == 3
    assert max(sizes) - min(sizes) <= 1_000
    assert sum(sizes) == manifest.quads
    assert (manifest.graphs["default"], manifest.graphs["urn:graph:source"]) == (9_000, 1)
    assert read_manifest(tmp_path) == manifest


def test_blank_nodes_stay_in_one_file(tmp_path: Path) -> None:
    nodes = [Quad(A, B, BlankNode(f"b{n}"), Graphs.ONTOLOGY) for n in range(20)]
    nodes += [Quad(q.object, B, Literal("_:b"), Graphs.ONTOLOGY) for q in nodes]  # type: ignore[arg-type]
    export_shards(store_of([*MANY, *nodes]), tmp_path, 3)
    for shard in sorted(tmp_path.glob("*.nq.gz"))[1:]:
        assert not any(isinstance(q.object, BlankNode) for q in content_of(shard))
    assert len(content_of(tmp_path / "shard-0000.nq.gz")) > 40


def content_of(file: Path) -> list[Quad]:
    return list(parse(gzip.decompress(file.read_bytes()), format=RdfFormat.N_QUADS))


def test_other_dialects_have_named_facts_and_say_which_they_are(tmp_path: Path) -> None:
    for dialect in ("classic", "rdf-star"):
        manifest = export_shards(store_of([*MANY[:5], TERM]), tmp_path, 1, dialect)
        assert manifest.graphs["urn:graph:facts"] == 5
        assert "default" not in manifest.graphs
    assert b"<< <urn:a> <urn:b>" in gzip.decompress((tmp_path / "shard-0000.nq.gz").read_bytes())
    export_shards(store_of([TERM]), tmp_path, 1, "classic")
    quads = content_of(tmp_path / "shard-0000.nq.gz")
    assert TERM in set(decode(quads))
    assert {q.object for q in quads if q.predicate == RAG.dialect} == {Literal("classic")}


def test_fewer_shards_replace_more(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    export_shards(store_of(MANY), tmp_path, 4)
    export_shards(store_of(MANY), tmp_path, 2)
    assert {file.name for file in tmp_path.iterdir()} == {
        "manifest.json", "notes.txt", "shard-0000.nq.gz", "shard-0001.nq.gz",
    }  # fmt: skip


def test_what_a_killed_export_left_does_not_stay(tmp_path: Path) -> None:
    export_shards(store_of(MANY), tmp_path, 4)
    (tmp_path / "manifest.json").unlink()  # as the killed one did at its beginning
    (tmp_path / "shard-0007.nq.gz.part").touch()
    (tmp_path / "shard-10000.nq.gz").touch()
    export_shards(store_of([TERM]), tmp_path, 1)
    assert {file.name for file in tmp_path.iterdir()} == {
        "manifest.json", "shard-0000.nq.gz", "shard-10000.nq.gz",
    }  # fmt: skip


def test_nested_triple_terms_have_no_place_in_classic(tmp_path: Path) -> None:
    nested = Quad(A, RDF.reifies, Triple(A, B, Triple(A, B, A)), Graphs.SOURCE)
    with pytest.raises(UsageError, match="classic"):
        export_shards(store_of([nested]), tmp_path, 1, "classic")
    assert not list(tmp_path.iterdir())
