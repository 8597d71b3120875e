"""What the tests of the ingest share: folders of documents, engines on them, and stores to compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.config import Settings, load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, TG, Graphs
from graphrag_rdf.store.base import Changes, plain_quads
from tests.support.scripted_server import Request, ScriptedServer, extract_answer
from tests.support.stores import open_engine

MODEL = "openai/scripted"
KEY = "sk-test"

TIMES = {PROV.generatedAtTime, PROV.startedAtTime, PROV.endedAtTime, PROV.invalidatedAtTime}
PARTS = {PROV.wasDerivedFrom, PROV.used, RAG.sentenceOf, DCTERMS.isPartOf}
HISTORY = {*TIMES, TG.inToken, TG.outToken, PROV.wasRevisionOf}

MakeEngine = Callable[..., Engine]


def settings(**overrides: Any) -> Settings:
    """Settings with some keys set; `__` stands for a dot."""
    small = {"documents.chunk_size": 120}
    given = {key.replace("__", "."): value for key, value in overrides.items()}
    return load_settings(None, {**small, **given}).settings


def by_model(server: ScriptedServer, **overrides: Any) -> dict[str, Any]:
    """Settings for extraction by the scripted model, impatient, and one chunk a call."""
    return {
        "llm__model": MODEL,
        "llm__api_base": server.base_url,
        "llm__api_key": KEY,
        "llm__max_retries": 2,
        "llm__timeout": 10.0,
        "extract__call_chunks": 1,
        **overrides,
    }


def chunk_in(request: Request) -> str:
    """The chunk that a request asks about."""
    found = re.search(r"<text>\n?(.*?)\n?</text>", request.messages[-1]["content"], re.DOTALL)
    return found[1] if found else ""


def answer_of(request: Request) -> str:
    """What the scripted server answers by default."""
    return extract_answer(chunk_in(request))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """An empty folder for documents."""
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def engine_of(tmp_path: Path) -> Iterator[MakeEngine]:
    """Makes engines with small chunks; `name` is the store's folder, None keeps it in memory."""
    opened: list[Engine] = []

    def make(name: str | None = None, **overrides: Any) -> Engine:
        where = ":memory:" if name is None else tmp_path / name
        engine = open_engine(where, config=settings(**overrides))
        opened.append(engine)
        return engine

    yield make
    for engine in opened:
        engine.close()


def everything(engine: Engine) -> set[Quad]:
    """All quads."""
    return set(plain_quads(engine.store))


def content(engine: Engine, *, history: bool = True) -> set[Quad]:
    """All quads but times, tokens, runs, commit numbers and failures.

    Args:
        history: with earlier versions, tombstones and what forgetting or moving left of documents; without
            them, a store that was edited equals one that was built at once.
    """
    quads = everything(engine)
    runs = {q.subject for q in quads if q.object == RAG.IngestRun or q.object == RAG.Migration}
    gone = set() if history else _history(quads)
    return {
        quad
        for quad in quads
        if quad.predicate not in HISTORY
        and quad.subject not in runs
        and quad.subject not in gone
        and quad.graph_name != Graphs.RETRIEVAL
        and quad.predicate not in (RAG.commit, RAG.contentCommit)
    }


def _history(quads: set[Quad]) -> set[object]:
    """What is retired, and what hangs on it."""
    marks = (PROV.invalidatedAtTime, RAG.Tombstone)
    gone: set[object] = {q.subject for q in quads if q.predicate in marks or q.object in marks}
    while True:
        more = {q.subject for q in quads if q.predicate in PARTS and q.object in gone} - gone
        if not more:
            return gone
        gone |= more


def difference(left: set[Quad], right: set[Quad]) -> str:
    """What is in one and not in the other, for people."""
    lines = [f"- {quad}" for quad in sorted(left - right, key=str)]
    lines += [f"+ {quad}" for quad in sorted(right - left, key=str)]
    return "\n".join(lines[:60])


def assert_same(left: set[Quad], right: set[Quad]) -> None:
    """Two stores hold the same."""
    assert left == right, difference(left, right)


def chunks(engine: Engine) -> dict[str, str]:
    """The chunks that stand: IRI → text."""
    rows = engine.store.query(
        "SELECT ?c ?t { GRAPH <urn:graph:source> { ?c a <https://trustgraph.ai/ns/Chunk> ;"
        " <https://trustgraph.ai/ns/content> ?t } }"
    ).rows
    return {row["c"].value: row["t"].value for row in rows or ()}  # type: ignore[union-attr]


def facts(engine: Engine) -> set[tuple[str, str, str]]:
    """The relations between entities, by slugs."""
    found = set()
    for quad in plain_quads(engine.store):
        if "/r/" in quad.predicate.value and isinstance(quad.graph_name, DefaultGraph):
            found.add((_tail(quad.subject), _tail(quad.predicate), _tail(quad.object)))
    return found


def _tail(term: object) -> str:
    if isinstance(term, Literal):
        return term.value
    assert isinstance(term, NamedNode)
    return term.value.rsplit("/", 1)[-1]


def index_matches_store(engine: Engine) -> bool:
    """Whether the text index is what a rebuilt one would be."""
    from graphrag_rdf.ingest.indexing import IndexFeed

    report = engine.text_index.sync(IndexFeed(engine.store).everything())
    return (report.added, report.removed) == (0, 0) and (
        engine.text_index.commit_number == engine.store.content_commit()
    )


class KilledError(BaseException):
    """As a kill: nothing that comes after it is written."""


def killed_after(number: int, commit: Callable[[Changes], int]) -> Callable[[Changes], int]:
    """So many commits are made, and none after them."""
    left = iter(range(number))

    def dying(changes: Changes) -> int:
        if next(left, None) is None:
            raise KilledError
        return commit(changes)

    return dying
