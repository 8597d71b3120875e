"""Pages, errors and warnings in the language that a client accepts."""

from __future__ import annotations

import contextvars
import json

import httpx
import pytest

from graphrag_rdf.i18n import set_language, tr
from tests.support.endpoint import Endpoint

QUESTION = {"question": "Who founded the Tarnay Electric Light Company?"}
NO_MODEL = "No language model is configured: this answer quotes the documents."


def chinese(message: str) -> str:
    """The translation of a message."""

    def translate() -> str:
        set_language("zh-CN")
        return tr(message)

    return contextvars.copy_context().run(translate)


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("zh", "zh-CN"), ("zh-TW, en;q=0.5", "zh-CN"), ("en, zh;q=0.5", "en"), ("fr", "en"), ("*", "en")],
)
def test_a_page_has_the_language_that_the_client_likes_best(
    answering: Endpoint, accepted: str, language: str
) -> None:
    with answering.client() as client:
        page = client.get("/documents", headers={"Accept": "text/html", "Accept-Language": accepted})
    assert page.headers["Content-Language"] == language
    assert "Accept-Language" in page.headers["Vary"]
    assert f'<html lang="{language}"' in page.text


@pytest.mark.parametrize(
    "request_",
    [
        httpx.Request("POST", "http://x/ask", content=b"{", headers={"Content-Type": "application/json"}),
        httpx.Request(
            "PUT",
            "http://x/store?graph=urn:x:graph",
            content=b"",
            headers={"Content-Type": "text/turtle", "If-Match": '"1"'},
        ),
    ],
    ids=["in a route", "in the thread of writes"],
)
def test_errors_are_translated(client: httpx.Client, request_: httpx.Request) -> None:
    def detail(language: str) -> str:
        headers = {**request_.headers, "Accept-Language": language}
        headers.pop("host")
        target = request_.url.raw_path.decode()
        found = client.request(request_.method, target, content=request_.content, headers=headers)
        assert found.headers["Content-Language"] == language
        return str(found.json()["detail"])

    english = detail("en")
    assert detail("zh-CN") == chinese(english) != english


@pytest.mark.parametrize("accepts", ["application/json", "text/event-stream"])
def test_warnings_of_an_answer_are_translated(answering: Endpoint, accepts: str) -> None:
    assert chinese(NO_MODEL) != NO_MODEL
    for language, expected in (("zh", chinese(NO_MODEL)), ("en", NO_MODEL)):
        with answering.client() as client:
            headers = {"Accept": accepts, "Accept-Language": language}
            answer = client.post("/ask", json=QUESTION, headers=headers)
        assert _warnings(answer)["no_llm"] == expected


def _warnings(answer: httpx.Response) -> dict[str, str]:
    if answer.headers["Content-Type"].startswith("application/json"):
        found = answer.json()
    else:
        data = [line for line in answer.text.splitlines() if line.startswith("data: ")]
        found = json.loads(data[-1].removeprefix("data: "))["answer"]
    return {warning["type"]: warning["detail"] for warning in found["warnings"]}
