"""What an import says of relations is text of these facts: found, shown to the model, and cited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.trace.messages import source_in_words, sources_by_marker
from graphrag_rdf.wings.audit.verify import verify
from graphrag_rdf.wings.msgraphrag.import_ import import_tables
from tests.pipeline.conftest import settings
from tests.support.ms_tables import some_tables, write_parquet
from tests.support.scripted_server import Request, ScriptedServer, number_of, offered, shown
from tests.support.stores import open_engine

DESCRIPTION = "Tom Reed taught her to sail in 1904."


@pytest.fixture
def imported(tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """An import in which only a description of a relation says what its text units do not."""
    tables = some_tables()
    for row in tables["relationships"]:
        if row["description"] == "Ada Lark wrote to Tom Reed.":
            row["description"] = DESCRIPTION
    with open_engine(tmp_path / "store", config=settings(scripted_server)) as engine:
        import_tables(engine, write_parquet(tmp_path / "output", tables))
        yield engine


@pytest.mark.parametrize("pipeline", ["graph_rag", "hops_rag", "local"])
def test_a_description_is_shown_and_cited(
    imported: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    def answer(request: Request) -> str:
        if "Choose the sentences" in request.prompt:
            return json.dumps({"id": number_of(offered(request.prompt), DESCRIPTION), "score": 1})
        if "<evidence>" in request.prompt:
            return f"Tom Reed taught her. [{number_of(shown(request.prompt), DESCRIPTION)}]"
        return "none"

    scripted_server.answer_with(answer)
    *_, last = imported.ask("Who taught Ada Lark to sail in 1904?", pipeline)
    assert last.answer is not None, last.error
    assert last.answer["answer"].startswith("Tom Reed taught her."), last.answer["answer"]
    (citation,) = last.answer["citations"]
    assert citation["edge"]["description"] == DESCRIPTION
    (places,) = sources_by_marker(last.answer).values()
    assert any(DESCRIPTION in source_in_words(source, edge) for edge, source in places)
    assert [c for c in verify(imported, last.answer["question_iri"]) if not c.ok] == []
