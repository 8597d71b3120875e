"""Prompts leave boilerplate out, and show a sentence once that stands in several chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from tests.ingest.test_boilerplate import BOOK
from tests.pipeline.test_evidence import ask, nothing, scripted
from tests.pipeline.test_with_a_model import settings
from tests.support.scripted_server import ScriptedServer, shown
from tests.support.stores import open_engine

STORY = "Who carried the oil up the stairs?"
Open = Callable[..., Engine]


@pytest.fixture
def open_one(tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Open]:
    """Opens an engine on some documents, with a scripted model that answers."""
    opened: list[Engine] = []

    def make(texts: dict[str, str], **given: object) -> Engine:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        own = {key.replace("__", "."): value for key, value in given.items()}
        config = settings(scripted_server, **{"extract.use": "rules", **own})
        opened.append(open_engine(tmp_path / "store", config=config))
        opened[0].ingest([tmp_path / name for name in texts])
        return opened[0]

    yield make
    for engine in opened:
        engine.close()


def lines(server: ScriptedServer, engine: Engine, question: str, pipeline: str = "graph_rag") -> list[str]:
    """The evidence in the answer's prompt."""
    asked = scripted(server, nothing, "Ada. [1]")
    ask(engine, question, pipeline)
    return [*shown(asked["answer"]).values()]


@pytest.mark.parametrize("pipeline", ["graph_rag", "doc_rag", "local"])
def test_boilerplate_is_evidence_only_of_what_it_alone_says(
    open_one: Open, scripted_server: ScriptedServer, pipeline: str
) -> None:
    engine = open_one({"lamp.txt": BOOK})
    found = lines(scripted_server, engine, STORY, pipeline)
    assert any("carried the oil" in line for line in found)
    assert not any("warranty" in line or "ebook" in line.lower() for line in found)
    found = lines(scripted_server, engine, "Who gives no warranty?", pipeline)
    assert any("The Library gives no warranty." in line for line in found)
    found = lines(scripted_server, engine, "Who is the illustrator of The Lamp?", pipeline)
    assert any("Mary Penn" in line for line in found)


def test_a_sentence_of_overlapping_chunks_is_shown_once(
    open_one: Open, scripted_server: ScriptedServer
) -> None:
    story = BOOK[BOOK.index("Old Ruben") : BOOK.index("*** END")]
    engine = open_one({"lamp.txt": story}, documents__chunk_size=160, documents__chunk_overlap=100)
    found = lines(scripted_server, engine, STORY, "doc_rag")
    assert len(found) > 2
    assert len({*found}) == len(found)
    assert not any(line in other for line in found for other in found if line != other)


def test_near_duplicates_show_what_both_say_once_and_what_differs_twice(
    open_one: Open, scripted_server: ScriptedServer
) -> None:
    story = BOOK[BOOK.index("Old Ruben") : BOOK.index("*** END")]
    engine = open_one({"one.txt": story, "two.txt": story.replace("forty", "thirty")})
    found = lines(scripted_server, engine, STORY, "doc_rag")
    assert len([line for line in found if "carried the oil" in line]) == 1
    assert len([line for line in found if "no ship was lost" in line]) == 2


@pytest.mark.parametrize(
    ("other", "folded"), [("old and dear daughter", True), ("daughter Edda", False), ("2 daughters", False)]
)
def test_a_near_duplicate_takes_no_room_unless_it_has_another_number_or_name(
    open_one: Open, scripted_server: ScriptedServer, other: str, folded: bool
) -> None:
    story = BOOK[BOOK.index("Old Ruben") : BOOK.index("*** END")]
    engine = open_one({"one.txt": story, "two.txt": story.replace("daughter", other)})
    asked = scripted(scripted_server, nothing, "Ada. [1]")
    _, trace = ask(engine, STORY, "graph_rag")
    assert len([one for one in trace.selections if one.whole]) == (1 if folded else 2)
    assert (
        any(other.removeprefix("daughter ") in line for line in shown(asked["answer"]).values()) is not folded
    )
