"""Names carry the language of their document; look-ups find them in any language, and with none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import Settings
from graphrag_rdf.exchange import import_file
from graphrag_rdf.ingest.forget import forget_named
from graphrag_rdf.rdf.namespaces import DCTERMS, RDFS, SKOS
from graphrag_rdf.rdf.terms import name_in
from graphrag_rdf.steps.search import entities_called
from graphrag_rdf.trace.facts import facts_called, things_called

ENGLISH = """The Petrel was built by Corvane Yard in 1903. Walter Pennock owned the Petrel for many years.
The ship sank in Skell Sound in the evening, and nobody on board could be saved that night.
"""
GERMAN = """Walter Pennock gründete im Jahr 1897 die Gesellschaft. Er wohnte in Lindenhafen an der Küste.
Die Arbeiter haben Walter Pennock nie in der Fabrik gesehen, denn er kam nur selten in die Stadt.
"""
PENNOCK = NamedNode("http://trustgraph.ai/e/walter-pennock")


def engine_with(tmp_path: Path, **texts: str) -> Engine:
    folder = tmp_path / "documents"
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    engine = Engine.open(config=Settings(store=str(tmp_path / "store")))
    engine.ingest([folder])
    return engine


def names(engine: Engine, thing: NamedNode) -> set[tuple[NamedNode, Literal]]:
    found = set()
    for row in engine.store.select("labels/known", things=[thing]):
        assert isinstance(row["property"], NamedNode)
        assert isinstance(row["name"], Literal)
        found.add((row["property"], row["name"]))
    return found


def sound(engine: Engine) -> bool:
    return run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_a_name_in_two_languages_is_a_label_and_an_alias(tmp_path: Path) -> None:
    with engine_with(tmp_path, english=ENGLISH * 2, german=GERMAN) as engine:
        assert names(engine, PENNOCK) == {
            (RDFS.label, Literal("Walter Pennock", language="de")),
            (SKOS.altLabel, Literal("Walter Pennock", language="en")),
        }
        assert names(engine, NamedNode("http://trustgraph.ai/e/petrel")) == {
            (RDFS.label, Literal("Petrel", language="en"))
        }
        assert names(engine, NamedNode("http://trustgraph.ai/r/owned")) == {
            (RDFS.label, Literal("owned", language="en"))
        }
        assert sound(engine)


CHINESE = """白鹤号于1936年在潮东湾沉没。沈若澄是白鹤号的船长。
船东是 Corvane Yard 公司，检验员是 Dr James Reay。
沈若澄后来写信给 Dr James Reay，请他到潮东来。
"""


def test_a_language_is_that_of_the_name_not_of_the_document(tmp_path: Path) -> None:
    english = ENGLISH + "The survey of 沈若澄 was lost. The letters of 沈若澄 were found.\n"
    with engine_with(tmp_path, chinese=CHINESE, english=english) as engine:
        rows = engine.store.select("entities/all-names")
        tags = {
            (name.value, name.language) for row in rows for name in [row["name"]] if isinstance(name, Literal)
        }
        reay = {tag for name, tag in tags if "Reay" in name}
        assert reay == {None}
        assert ("白鹤号", "zh") in tags
        assert not [name for name, tag in tags if tag == "zh" and name.isascii()]
        assert not [name for name, tag in tags if tag == "en" and not name.isascii()]
        assert sound(engine)


@pytest.mark.parametrize(
    ("name", "language", "tag"),
    [
        ("Dr James Reay", "zh", None),
        ("沈若澄", "zh-Hant", "zh"),
        ("中国CDC", "zh", "zh"),
        ("沈若澄", "en", None),
        ("Москва", "ru", "ru"),
        ("Moskva", "ru", None),
        ("Zürich", "de-CH", "de"),
        ("さくら", "ja", "ja"),
        ("1958", "en", None),
        ("Petrel", None, None),
    ],
)
def test_the_script_of_a_name_tells_whether_it_is_in_the_language(
    name: str, language: str | None, tag: str | None
) -> None:
    assert name_in(name, language) == Literal(name, language=tag)


def test_the_label_does_not_depend_on_the_order(tmp_path: Path) -> None:
    """One chunk each: the tie is decided by the language's code point."""
    labels = []
    for order in (("a", ENGLISH, "b", GERMAN), ("a", GERMAN, "b", ENGLISH)):
        place = tmp_path / order[1][:8].strip()
        place.mkdir()
        with engine_with(place, **{order[0]: order[1], order[2]: order[3]}) as engine:
            labels.append({name for prop, name in names(engine, PENNOCK) if prop == RDFS.label})
    assert labels == [{Literal("Walter Pennock", language="de")}] * 2


def test_a_language_goes_with_its_last_document(tmp_path: Path) -> None:
    with engine_with(tmp_path, english=ENGLISH, german=GERMAN) as engine:
        forget_named(engine, ["documents/german.txt"])
        assert names(engine, PENNOCK) == {(RDFS.label, Literal("Walter Pennock", language="en"))}
        assert sound(engine)


@pytest.mark.parametrize("indexed", [True, False])
def test_names_are_found_whatever_their_language(tmp_path: Path, indexed: bool) -> None:
    with engine_with(tmp_path, english=ENGLISH, german=GERMAN) as engine:
        index = engine.text_index if indexed else None
        for name, iri in (
            ("Petrel", "petrel"),
            ("Walter Pennock", "walter-pennock"),
        ):
            assert entities_called([name], engine.store.select, index) == {
                name: [f"http://trustgraph.ai/e/{iri}"]
            }
            assert things_called(engine.store, name) == [NamedNode(f"http://trustgraph.ai/e/{iri}")]
        assert facts_called(engine.store, "Walter Pennock", "owned", "Petrel")


def test_labels_of_an_import_take_no_part_in_the_election(tmp_path: Path) -> None:
    file = tmp_path / "names.ttl"
    file.write_text(
        f'<{PENNOCK.value}> <{RDFS.label.value}> "Pennock, W."@en , "Walther Pennock"@de ; '
        f'<{DCTERMS.description.value}> "an owner"@en .',
        encoding="utf-8",
    )
    with engine_with(tmp_path, english=ENGLISH) as engine:
        import_file(engine, file)
        assert {name for prop, name in names(engine, PENNOCK) if prop == RDFS.label} == {
            Literal("Pennock, W.", language="en"),
            Literal("Walther Pennock", language="de"),
            Literal("Walter Pennock", language="en"),
        }
        assert sound(engine)
