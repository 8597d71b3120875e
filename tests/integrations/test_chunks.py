"""What retrievers return, without the frameworks; tests/clients has those."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.client import ServerError
from graphrag_rdf.errors import UsageError
from graphrag_rdf.integrations.chunks import ChunkRetrieval
from tests.support.endpoint import READ, Endpoint

QUESTION = "Who founded the Tarnay Electric Light Company?"


def test_a_server_and_a_store_give_the_same(server: Endpoint, documents_store: Path, tmp_path: Path) -> None:
    shutil.copytree(documents_store, tmp_path / "store")
    remote = ChunkRetrieval(server=server.url, token=READ, k=2).chunks(QUESTION)
    with Engine.open(tmp_path / "store") as engine:
        local = ChunkRetrieval(engine, k=2).chunks(QUESTION)
    assert local == remote
    assert local[0].metadata["title"] == "Company"
    assert "Walter Pennock" in local[0].text
    assert "trace" not in local[0].metadata


def test_a_retrieval_may_be_traced(server: Endpoint) -> None:
    (first, *_) = ChunkRetrieval(server=server.url, token=READ, trace=True).chunks(QUESTION)
    with server.client(READ) as client:
        query = f"ASK {{ GRAPH <urn:graph:retrieval> {{ <{first.metadata['trace']}> ?p ?o }} }}"
        assert client.get("/sparql", params={"query": query}).json()["boolean"] is True


def test_chunks_have_their_page_and_place(sample_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_folder, tmp_path / "store")
    with Engine.open(tmp_path / "store") as engine:
        chunks = ChunkRetrieval(engine, k=20).chunks("What caused the accident at gate 4?")
        documents = {chunk.metadata["document"] for chunk in chunks}
        rows = engine.store.select("retrieval/document-texts", documents=[*map(NamedNode, documents)])
        texts = {row["document"]: engine.blobs.text(row["text"]) or "" for row in rows}
    pages = set()
    for chunk in chunks:
        text, offset = texts[chunk.metadata["document"]], chunk.metadata["char_offset"]
        assert text[offset : offset + chunk.metadata["char_length"]] == chunk.text
        if "\f" in text:
            assert chunk.metadata["page_number"] == text.count("\f", 0, offset) + 1
        pages.add(chunk.metadata["page_number"])
    assert pages > {None, 4}


def test_what_cannot_be(server: Endpoint) -> None:
    with Engine.open(":memory:") as engine:
        for arguments in ({}, {"engine": engine, "server": server.url}):
            with pytest.raises(UsageError, match="either an engine or the address of a server"):
                ChunkRetrieval(**arguments)
    with pytest.raises(ServerError, match="token"):
        ChunkRetrieval(server=server.url, token="unknown-token-for-tests").chunks(QUESTION)
