"""Names of topics that stand in other chunks are linked there, whatever came first."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from graphrag_rdf.ingest import names
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.store.base import plain_quads
from tests.ingest.conftest import MakeEngine
from tests.ingest.conftest import settings as small
from tests.support.stores import open_engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.index.text import TextIndex
    from graphrag_rdf.store.base import Store

SONG = "# Every Lamp in Norland Bay\n\nThe song was written by Rhoda Tennant in a winter of storms.\n"
# without the title, rules read "Every Lamp" and "Norland Bay", or nothing where the words begin a sentence
CHOIR = "# The pier choir\n\nIn June they sang every verse of Every Lamp in Norland Bay twice.\n"
TEXTS = {
    "song.md": SONG,
    "choir.md": CHOIR,
    "bay.md": "# Norland Bay\n\nThe water is deep. Ferries cross it every day.\n",
    "album.md": "# Lamp in Norland\n\nA record of nine songs.\n",
    "list.md": "# Songs\n\nOn page 7: Lamp in Norland Bay. On page 8: Every Lamp in Norland Bay.\n",
    "tales.md": "# Tales\n\nShe told the tale of Every Lamp in Norland for hours.\n",
}


def links(engine: Engine) -> set[tuple[str, str]]:
    return {
        (quad.subject.value, quad.object.value)
        for quad in plain_quads(engine.store)
        if quad.graph_name == Graphs.DERIVED and quad.predicate == RAG.mentions
    }


def marks(engine: Engine) -> list[str]:
    return [quad.object.value for quad in plain_quads(engine.store) if quad.predicate == RAG.unlinked]


def test_a_title_is_linked_in_an_older_chunk_and_found(engine_of: MakeEngine, docs: Path) -> None:
    engine = engine_of()
    (docs / "choir.md").write_text(CHOIR)
    engine.ingest([docs])
    assert links(engine) == set()
    (docs / "song.md").write_text(SONG)
    engine.ingest([docs])
    ((sentence, entity),) = links(engine)
    assert entity.endswith("/every-lamp-in-norland-bay")
    assert marks(engine) == []
    before = engine.store.commit_number()
    engine.ingest([docs])
    assert engine.store.commit_number() == before
    (docs / "song.md").unlink()
    engine.ingest([docs], sync=True)
    assert links(engine) == set()
    assert sentence.endswith("#s1")


def test_removing_a_chunk_relinks_only_others_with_a_name_that_changed(
    engine_of: MakeEngine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("choir.md", "song.md", "list.md"):
        (docs / name).write_text(TEXTS[name])
    engine, linked = engine_of(), []

    def noting(store: Store, index: TextIndex, chunks: Sequence[NamedNode]) -> object:
        linked.extend(chunks)
        return relinked(store, index, chunks)

    engine.ingest([docs])
    relinked = names._relinked
    monkeypatch.setattr(names, "_relinked", noting)
    (docs / "list.md").unlink()  # mentions the song, as the choir does
    engine.ingest([docs], sync=True)
    assert linked == []
    assert len(links(engine)) == 1
    (docs / "song.md").unlink()
    engine.ingest([docs], sync=True)
    assert linked
    assert links(engine) == set()


def test_retrieval_follows_links(engine_of: MakeEngine, docs: Path) -> None:
    for name in ("choir.md", "song.md"):
        (docs / name).write_text(TEXTS[name])
    engine = engine_of()
    engine.ingest([docs])
    ((sentence, entity),) = links(engine)
    song = NamedNode(entity)
    (counted,) = engine.store.select("retrieval/counts", entities=[song])
    assert counted["chunks"] == 2, "its own, and the one that is linked to it"
    rows = engine.store.select("retrieval/mentioned-entities", sentences=[NamedNode(sentence)], chunks=[])
    assert song in {row["entity"] for row in rows}


def test_longest_name_wins(engine_of: MakeEngine, docs: Path) -> None:
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    engine = engine_of()
    engine.ingest([docs])
    found = sorted((sentence[-3:], entity.rpartition("/")[2]) for sentence, entity in links(engine))
    assert found == [
        ("#s1", "every-lamp-in-norland-bay"),  # the choir
        ("#s1", "lamp-in-norland"),  # the list
        ("#s1", "lamp-in-norland"),  # the tales
        ("#s2", "every-lamp-in-norland-bay"),  # the list
    ]


FOLDERS = st.lists(
    st.dictionaries(st.sampled_from(sorted(TEXTS)), st.sampled_from(sorted(TEXTS.values())), max_size=5),
    min_size=2,
    max_size=4,
)


@given(FOLDERS)
@settings(max_examples=5, deadline=None)
def test_links_do_not_depend_on_what_was_there_before(folders: list[dict[str, str]]) -> None:
    """New documents, edits and removals leave the links that a new store has."""
    with TemporaryDirectory() as place:
        docs = Path(place)
        with open_engine(":memory:", config=small()) as engine:
            for folder in folders:
                for path in docs.iterdir():
                    path.unlink()
                for name, text in folder.items():
                    (docs / name).write_text(text)
                engine.ingest([docs], sync=True)
            with open_engine(":memory:", config=small()) as anew:
                anew.ingest([docs])
                assert links(engine) == links(anew)
            assert marks(engine) == []
