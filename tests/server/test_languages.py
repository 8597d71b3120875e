"""The language of pages, problems and warnings: Accept-Language (RFC 9110 §12.5.4)."""

from __future__ import annotations

import gettext
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf import i18n
from graphrag_rdf.server.http.negotiation import parse_accept_language
from tests.support.endpoint import Endpoint
from tests.support.pages import BROWSER, Page

CHINESE = gettext.translation(i18n.DOMAIN, i18n.LOCALES, ["zh_CN"])
HOSTILE = "<script>alert(1)</script>"
PROBLEM = {"Accept": "application/problem+json"}
QUESTION = {"question": "Who founded the Tarnay Electric Light Company?"}
NO_MODEL = "No language model is configured: this answer quotes the documents."


def chinese(message: str) -> str:
    """The translation of a message, which has one."""
    found = CHINESE.gettext(message)
    assert found != message
    return found


@pytest.fixture
def reader(endpoint: Endpoint) -> Iterator[httpx.Client]:
    """A client that names no language."""
    with endpoint.client() as client:
        yield client


def page(client: httpx.Client, path: str, accepted: str | None) -> httpx.Response:
    """A page, asked for with an Accept-Language header."""
    languages = {} if accepted is None else {"Accept-Language": accepted}
    return client.get(path, headers={**BROWSER, **languages})


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("zh-CN", "zh-CN"),
        ("zh", "zh-CN"),
        ("zh-TW,zh;q=0.9", "zh-CN"),
        ("en;q=0.3, zh-CN;q=0.8", "zh-CN"),
        ("zh-CN;q=0.3, en;q=0.8", "en"),
        ("zh;q=0, en;q=0.1", "en"),
        ("tlh, zh;q=0.2", "zh-CN"),
        ("tlh", "en"),
        ("*", "en"),
        ("", "en"),
        (None, "en"),
    ],
)
def test_a_page_is_in_the_language_that_the_client_prefers(
    reader: httpx.Client, accepted: str | None, language: str
) -> None:
    found = page(reader, "/documents", accepted)
    assert found.status_code == 200
    assert found.headers["Content-Language"] == language
    assert "accept-language" in found.headers["Vary"].lower()
    shown = Page(found.text)
    shown.check()
    html = next(attributes for tag, attributes in shown.tags if tag == "html")
    assert (html["lang"], html["dir"]) == (language, "ltr")
    assert (chinese("Documents") if language == "zh-CN" else "Documents") in shown.text


def test_a_page_that_is_kept_is_kept_in_each_language(reader: httpx.Client) -> None:
    for language, expected in (("zh", chinese("Annotations")), ("en", "Annotations")) * 2:
        assert expected in page(reader, "/ontology", language).text


def test_without_a_header_the_language_is_that_of_the_process(tmp_path: Path) -> None:
    with (
        Endpoint.start(tmp_path / "store", LANGUAGE="", LANG="zh_CN.UTF-8", LC_ALL="zh_CN.UTF-8") as own,
        own.client() as client,
    ):
        assert page(client, "/documents", None).headers["Content-Language"] == "zh-CN"
        assert page(client, "/documents", "tlh").headers["Content-Language"] == "zh-CN"
        assert page(client, "/documents", "en").headers["Content-Language"] == "en"


def test_a_problem_is_in_the_language_that_the_client_prefers(reader: httpx.Client) -> None:
    english = reader.get("/static/none.css", headers=PROBLEM)
    found = reader.get("/static/none.css", headers={**PROBLEM, "Accept-Language": "zh"})
    assert found.headers["content-type"].startswith("application/problem+json")
    assert found.headers["Content-Language"] == "zh-CN"
    assert "accept-language" in found.headers["Vary"].lower()
    assert found.status_code == english.status_code == 404
    assert found.json().keys() == english.json().keys()
    assert english.json()["detail"] == "there is no such file"
    assert found.json()["detail"] == chinese("there is no such file")
    assert (english.json()["title"], found.json()["title"]) == ("Not Found", chinese("Not Found"))


def test_json_and_rdf_have_no_language(reader: httpx.Client) -> None:
    for accept in ("application/json", "text/turtle"):
        found = reader.get("/documents", headers={"Accept": accept, "Accept-Language": "zh"})
        assert found.status_code == 200
        assert "Content-Language" not in found.headers


@pytest.mark.parametrize("accepted", ["en", "zh-CN"])
def test_a_value_in_a_message_is_escaped(reader: httpx.Client, accepted: str) -> None:
    found = page(reader, f"/entities?match={HOSTILE}", accepted)
    assert found.status_code == 200
    assert HOSTILE not in found.text
    missing = page(reader, f"/documents/{HOSTILE}", accepted)
    assert missing.status_code == 400  # no part of an IRI
    assert missing.headers["Content-Language"] == accepted
    assert HOSTILE not in missing.text
    assert HOSTILE in Page(missing.text).text


@pytest.mark.parametrize("path", ["/", "/documents"])
def test_the_texts_of_scripts_are_translated(reader: httpx.Client, path: str) -> None:
    def texts(language: str) -> dict[str, str]:
        tags = Page(page(reader, path, language).text).tags
        read: dict[str, str] = {}
        for found in (attributes["data-messages"] for tag, attributes in tags if tag == "script"):
            read |= json.loads(found)
        return read

    english, found = texts("en"), texts("zh")
    assert english.keys() == found.keys()
    assert found == {key: CHINESE.gettext(message) for key, message in english.items()}


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
    assert detail("zh-CN") == chinese(english)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * { ?s a bar:Q }", "the SPARQL is malformed at line {number}, column {column}: {why}"),
        ("SELECT (<urn:none>(1) AS ?x) {}", "the SPARQL cannot be evaluated: {error}"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "Accept or format names no format for this result: {what}"),
    ],
)
def test_errors_of_queries_are_translated(reader: httpx.Client, query: str, message: str) -> None:
    for language, expected in (("zh-CN", chinese(message)), ("en", message)) * 2:
        headers = {"Accept": "text/csv", "Accept-Language": language}
        found = reader.get("/sparql", params={"query": query}, headers=headers)
        assert found.json()["detail"].startswith(expected.partition("{")[0])


@pytest.mark.parametrize("accepts", ["application/json", "text/event-stream"])
def test_warnings_of_an_answer_are_translated(answering: Endpoint, accepts: str) -> None:
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


@given(st.text(max_size=200))
def test_no_header_breaks_it(header: str) -> None:
    assert i18n.best(parse_accept_language(header)) in {None, *i18n.languages()}
