"""SPARQL clients of other projects, unmodified, against our server; `make test-clients` installs them."""

from __future__ import annotations

import contextlib
import functools
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.clients.conftest import ENTITY, QUERIES, QUESTION, SCRIPTS, as_expected, place, run, said
from tests.docs.markdown import REPOSITORY, blocks
from tests.support.commands import program
from tests.support.endpoint import TOKENS, WRITE, Endpoint
from tests.support.jena import JARS, write_messages

pytestmark = pytest.mark.clients

STATION = f"{ENTITY}skell-tidal-station"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def python(script: str) -> list[str]:
    return [str(place() / "clients-env" / "bin" / "python"), str(SCRIPTS / script)]


def node(script: str) -> list[str]:
    """A script beside the installed packages, so that it imports them as any script does."""
    return ["node", shutil.copy(SCRIPTS / script, place() / "clients-node")]


# --- Python -------------------------------------------------------------------------------------------


def test_sparqlwrapper(served: Endpoint) -> None:
    found = dict(said(python("sparqlwrapper_client.py"), served))
    as_expected(found)
    assert found.pop("update") == 204
    assert found.pop("written") == ["en"]
    sent = {name: done for name, done in found.items() if name.startswith(("GET", "POST"))}
    assert len(sent) == 30
    assert all(sent.values()), sent


def exported(served: Endpoint, folder: Path, form: str, suffix: str, *options: str) -> str:
    """A file of `trace export`."""
    file = folder / f"trace.{suffix}"
    command = program(
        "--store", served.store, "trace", "export", "last", "--format", form, "-o", file, *options
    )
    run(command)
    return str(file)


def test_readers_of_packs(served: Endpoint, tmp_path: Path) -> None:
    file = tmp_path / "answer.zip"
    run(program("--store", served.store, "trace", "export", "last", "--pack", file))
    found = said(python("pack_client.py"), served, files=[str(file)])
    assert found["version"] == "1.1"
    assert found["name"] == QUESTION
    assert found["missing"] == []
    assert found["listed"] == found["files"] - 1, "all but the metadata"
    assert found["valid"] is True
    assert found["description"] in found["assertion"]
    assert found["statements"] > 500


def test_rdflib(served: Endpoint, tmp_path: Path) -> None:
    dump = tmp_path / "dump.jsonld"
    run(program("--store", served.store, "export", "--format", "jsonld", "-o", dump))
    traces = [
        exported(served, tmp_path, "jsonld", "jsonld"),
        exported(served, tmp_path, "turtle", "ttl", "--dialect", "classic"),
        exported(served, tmp_path, "trig", "trig", "--dialect", "classic"),
    ]
    found = said(python("rdflib_client.py"), served, files=[*traces, str(dump)])
    as_expected(found)
    for method in ("GET", "POST", "POST_FORM"):
        for form in ("xml", "json", "csv", "tsv"):
            assert found[f"{method} {form}"] == [STATION]
            assert found[f"{method} {form} terms"] == ["urn:statement"]
    assert found["triples"] == [STATION]
    assert "urn:graph:source" in found["graphs"]
    assert found["written"] == ["en"]
    assert found["removed"] == 0
    assert found["resource"] == 1
    assert found["store"] == found["json-ld"] > 1000
    assert found["ontology"]
    assert found["void"]
    for path, sizes in found["addresses"].items():
        assert len(set(sizes)) == 1, (path, sizes)
        assert sizes[0] > 5
    assert len({found[path] for path in traces}) == 1
    assert found[str(dump)] > found["store"]  # with the store's bookkeeping


def test_prov(served: Endpoint, tmp_path: Path) -> None:
    files = {
        form: exported(served, tmp_path, name, form)
        for form, name in (("xml", "provx"), ("json", "prov-json"))
    }
    found = said(python("prov_client.py"), served, files=files)
    assert found["xml"] == found["json"]
    assert min(found["xml"]) > 0


def test_pandas(served: Endpoint) -> None:
    found = said(python("pandas_client.py"), served)
    columns, rows = found["csv"]
    assert columns == ["s", "name"]
    assert found["token"] == [columns, rows]
    assert found["tsv"] == [["?s", "?name"], rows]
    assert found["json"] == rows > 3
    assert found["documents"] == 11
    assert found["first"]


def test_the_examples_of_the_page(served: Endpoint, tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "how-to" / "sparql-clients.md").read_text("utf-8")
    examples = [code for _, code in blocks(page, "python")]
    assert len(examples) == 3
    for code in examples:
        file = tmp_path / "example.py"
        file.write_text(code.replace("http://127.0.0.1:7878", served.url))
        assert f"{ENTITY}elspeth-marwick" in run([python("")[0], str(file)])


# --- JavaScript ---------------------------------------------------------------------------------------


def test_comunica(served: Endpoint) -> None:
    found = said(node("comunica_client.mjs"), served)
    as_expected(found)
    assert found["discovered"] == 1
    assert found["written"] == ["text"]
    assert found["joined"] == [STATION]


def test_the_command_of_comunica(served: Endpoint) -> None:
    command = str(place() / "clients-node" / "node_modules" / ".bin" / "comunica-sparql")
    assert STATION in run([command, f"{served.url}/sparql", QUERIES["select"]])


def test_sparql_http_client(served: Endpoint) -> None:
    found = said(node("sparql_http_client.mjs"), served)
    as_expected(found)
    for operation in ("postDirect", "postUrlencoded", "get"):
        assert found[operation] == [1, True, 1, 1, 4]
    assert found["written"] == ["en"]
    assert (found["put"], found["post"]) == (2, 3)


def test_fetch_sparql_endpoint(served: Endpoint) -> None:
    as_expected(said(node("fetch_sparql_endpoint.mjs"), served))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site of somebody's with YASGUI."""
    folder = tmp_path_factory.mktemp("site")
    built = place() / "clients-node" / "node_modules" / "@zazuko" / "yasgui" / "build"
    for file in (built / "yasgui.min.js", built / "yasgui.min.css", SCRIPTS / "yasgui.html"):
        shutil.copy(file, folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_yasgui(method: str, pages: str, sample_folder: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    store = tmp_path / "store"
    shutil.copytree(sample_folder, store)
    with (
        Endpoint.start(store, "--cors", pages, **TOKENS) as endpoint,
        sync_playwright() as playwright,
        contextlib.closing(
            playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        ) as browser,
    ):
        page = browser.new_page()
        given = {"endpoint": f"{endpoint.url}/sparql", "method": method, "token": WRITE}
        page.goto(f"{pages}/yasgui.html?{urlencode(given)}")

        def sent(query: str) -> None:
            script = (
                "query => { const tab = yasgui.getTab(); tab.setQuery(query); tab.query().catch(() => 0) }"
            )
            page.evaluate(script, query)

        def shown(query: str, *expected: str) -> None:
            sent(query)
            for text in expected:
                page.wait_for_function(
                    "text => document.querySelector('.yasr').innerText.includes(text)", arg=text
                )

        shown(QUERIES["select"], STATION, "1 result")
        shown(QUERIES["ask"], "True")
        shown(QUERIES["construct"], STATION, "predicate")
        shown(QUERIES["terms"], "urn:statement:", "1 result")
        shown(QUERIES["graph"], "4 results", "urn:statement:")
        shown("SELECT * { ?s foaf:name ?o }", "PREFIX foaf:")
        with page.expect_response(f"{endpoint.url}/**") as response:
            sent("INSERT DATA { GRAPH <urn:yasgui> { <urn:s> <urn:p> 1 } }")
        assert response.value.status == 204
        shown("SELECT ?s { GRAPH <urn:yasgui> { ?s ?p ?o } }", "urn:s", "1 result")


# --- Java ---------------------------------------------------------------------------------------------

_OTHER_LOGS = ("slf4j-jdk14", "slf4j-simple", "slf4j-jcl", "slf4j-log4j12", "slf4j-migrator", "maven3-slf4j")


@pytest.fixture(scope="module")
def jena(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The beginning of Jena's command lines: Debian has its classes, and no scripts for them."""
    if not (JARS / "jena-cmds.jar").exists() or shutil.which("java") is None:
        pytest.skip("Jena is not installed: apt install libapache-jena-java default-jre-headless")
    folder = tmp_path_factory.mktemp("jena")
    write_messages(folder)
    names = sorted(JARS.glob("*.jar"))
    kept = [name for name in names if not name.name.startswith(_OTHER_LOGS) and "over-slf4j" not in name.name]
    return ["java", "-cp", ":".join(map(str, (folder, *kept)))]


def test_jena_queries(jena: list[str], served: Endpoint) -> None:
    def asked(query: str, endpoint: str = "/sparql", form: str = "text") -> str:
        return run([*jena, "arq.rsparql", f"--service={served.url}{endpoint}", f"--results={form}", query])

    assert STATION in asked(QUERIES["select"])
    assert "true" in asked(QUERIES["ask"], form="json")
    assert STATION in asked(QUERIES["construct"], form="nt")
    assert "urn:statement:" in asked(QUERIES["terms"])
    assert "urn:statement:" in asked(QUERIES["graph"], form="nt")
    # it reads the older form of triple terms in graphs, and today's in rows
    assert "<< <" in asked(QUERIES["terms"], "/sparql?dialect=rdf12")
    assert "<< <" in asked(QUERIES["graph"], "/sparql?dialect=rdf-star", form="ttl")


def test_jena_reads_dumps(jena: list[str], served: Endpoint, tmp_path: Path) -> None:
    for dialect in ("classic", "rdf-star"):
        file = tmp_path / f"{dialect}.trig"
        with served.client() as client:
            file.write_bytes(client.get("/store", params={"dialect": dialect, "format": "trig"}).content)
        said = subprocess.run(
            [*jena, "riotcmd.riot", "--count", str(file)], capture_output=True, text=True, check=False
        )
        assert "Quads" in said.stdout + said.stderr


def test_jena_updates(jena: list[str], sample_folder: Path, tmp_path: Path) -> None:
    """Debian's Jena has no bearer tokens."""
    shutil.copytree(sample_folder, tmp_path / "store")
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint:
        update = "INSERT DATA { GRAPH <urn:jena> { <urn:s> <urn:p> 'text'@en } }"
        run([*jena, "arq.rupdate", f"--service={endpoint.url}/update", update])
        query = "SELECT ?o { GRAPH <urn:jena> { ?s ?p ?o } }"
        assert '"text"@en' in run([*jena, "arq.rsparql", f"--service={endpoint.url}/sparql", query])
