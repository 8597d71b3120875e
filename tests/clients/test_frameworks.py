"""LangChain and LlamaIndex, unmodified; `make test-clients` installs them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import QUESTION, SCRIPTS, place, run
from tests.support.endpoint import READ, Endpoint

pytestmark = pytest.mark.clients

KEYS = {"score", "rank", "title", "page_number", "document", "uri", "char_offset", "char_length", "chunk"}


@pytest.fixture(scope="module")
def store(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that no server has open."""
    copy = tmp_path_factory.mktemp("local") / "store"
    shutil.copytree(sample_folder, copy)
    return copy


def said(script: str, served: Endpoint, store: Path) -> dict[str, Any]:
    """What a script prints."""
    given = {"url": served.url, "token": READ, "store": str(store), "question": QUESTION}
    given["follow_up"] = "Where was she born?"
    python = str(place() / "frameworks-env" / "bin" / "python")
    found: dict[str, Any] = json.loads(run([python, str(SCRIPTS / script)], GIVEN=json.dumps(given)))
    return found


def as_expected(found: dict[str, Any], served: Endpoint) -> None:
    """The same chunks from a server and a store, each with its place in a document."""
    assert found["engine"] == found["async"]
    traces = {each.pop("trace") for each in found["server"]}
    assert [each["id"] for each in found["server"]] == [each["id"] for each in found["engine"]]
    assert len(found["engine"]) == 3
    scores = [each["score"] for each in found["engine"]]
    assert scores == sorted(scores, reverse=True)
    assert all(each.keys() >= KEYS and each["id"] == each["chunk"] for each in found["engine"])
    with served.client(READ) as client:
        (trace,) = traces
        assert client.get(f"/traces/{trace.rpartition(':')[2]}").json()["question"] == QUESTION
        for each in found["server"]:
            text = client.get(
                "/resource", params={"iri": each["chunk"]}, headers={"Accept": "text/plain"}
            ).text
            assert text == each["text"]
            assert len(text) == each["char_length"]


def test_langchain(served: Endpoint, store: Path) -> None:
    found = said("langchain_client.py", served, store)
    assert "Elspeth Marwick" in found["answer"]
    assert f"]({served.url}/documents/" in found["answer"]
    assert found["finish_reason"] == "stop"
    assert "She was born at Drumlaw Head" in found["follow_up"]
    assert found["batch"] == 2
    assert found["chain"] == found["engine"][0]["title"]
    assert "secret" not in found["shown"]
    as_expected(found, served)


def test_llama_index(served: Endpoint, store: Path) -> None:
    found = said("llama_index_client.py", served, store)
    assert "title: " in found["prompt"]
    assert "urn:chunk:" not in found["prompt"], "language models see title and page only"
    assert found["sources"] == [each["id"] for each in found["engine"]]
    as_expected(found, served)
