"""`/queries/{name}`: a template with its parameters in the URL gives its result."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import httpx
import pytest

from tests.support.endpoint import Endpoint

PERIOD = {"first": "1890", "last": "1900"}
CSV = {"Accept": "text/csv"}


@pytest.fixture
def client(answering: Endpoint) -> Iterator[httpx.Client]:
    """A client of a server over two documents."""
    with answering.client() as found:
        yield found


def rows(response: httpx.Response) -> list[dict[str, str]]:
    """The solutions of a result in CSV."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(response.text)))


def test_the_parameters_stand_in_the_url(client: httpx.Client) -> None:
    entities = "/queries/entities/list"
    few = rows(client.get(entities, params={"text": "walter", "limit": "5"}, headers=CSV))
    assert [row["name"] for row in few] == ["Walter Pennock"]
    assert rows(client.get(entities, params={"text": "", "limit": "2", "format": "csv"}))
    answer = client.get(entities, params={"text": "walter", "limit": "5"}).json()
    assert answer["results"]["bindings"][0]["name"]["value"] == "Walter Pennock"
    (founded,) = rows(client.get("/queries/cookbook/timeline", params=PERIOD, headers=CSV))
    assert (founded["date"], founded["subject"]) == ("1897", "Walter Pennock")


@pytest.mark.parametrize("form", ["csv", "tsv", "xml"])
def test_a_format_of_results_runs_a_template_without_parameters(client: httpx.Client, form: str) -> None:
    found = client.get("/queries/system/languages", params={"format": form})
    assert found.status_code == 200
    assert "en" in found.text


def test_without_parameters_it_is_described(client: httpx.Client) -> None:
    described = client.get("/queries/entities/list").json()
    assert described["name"] == "entities/list"
    assert client.get("/queries/entities/list", headers={"Accept": "text/html"}).text.startswith("<!doctype")


def test_a_browser_gets_the_result_in_the_editor(client: httpx.Client) -> None:
    page = client.get(
        "/queries/entities/list", params={"text": "a", "limit": "5"}, headers={"Accept": "text/html"}
    )
    assert page.status_code == 303
    assert page.headers["location"].startswith("/sparql-editor?query=")


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("cookbook/timeline", {"first": "soon", "last": "1900"}, "parameter first (int)"),
        ("cookbook/timeline", {"first": "1900"}, "missing parameter last"),
        ("facts/withhold", {"format": "csv"}, "is an update"),
        ("entities/profile", {"entities": "no IRI>}"}, "parameter entities"),
    ],
)
def test_faults_are_named(client: httpx.Client, name: str, parameters: dict[str, str], told: str) -> None:
    found = client.get(f"/queries/{name}", params=parameters, headers=CSV)
    assert found.status_code == 400
    assert told in found.json()["detail"]
    assert client.get("/queries/no/such", params=parameters).status_code == 404
