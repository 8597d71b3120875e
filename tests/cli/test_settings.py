"""`init` and `config`: where settings come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.endpoint import Endpoint


def test_init_writes_settings_that_can_be_read(run: Run, folder: Path) -> None:
    assert run("init").code == 0
    text = (folder / "graphrag.toml").read_text()
    assert [key for table in tomllib.loads(text).values() for key in table] == ["namespace"]
    assert "# chunk_size = 2000" in text
    uncommented = re.sub(r"^# ([a-z_]+ = )", r"\1", text, flags=re.MULTILINE)
    (folder / "graphrag.toml").write_text(uncommented)
    found = run("config", "list", "--format", "json")
    assert found.code == 0, found.err


def test_init_sets_the_namespace(run: Run, folder: Path) -> None:
    assert run("init", "--namespace", "https://data.example.org/").code == 0
    assert run("config", "get", "extract.namespace").out == "https://data.example.org/\n"
    (folder / "a.txt").write_text("Mona Kell founded the Lantern Society.")
    run("ingest", "a.txt")
    kell = "ASK { <https://data.example.org/e/mona-kell> ?p ?o }"
    assert run("sparql", kell, "--format", "json").json["boolean"] is True
    assert "http://trustgraph.ai/" not in run("doctor").out
    assert "http://trustgraph.ai/" not in run("export", "-o", "dump.nq").err


@pytest.mark.parametrize(
    "namespace", ["example", "https://data.example.org", 'https://a.b/"\n[llm]/', "http:///"]
)
def test_init_refuses_what_is_no_base(run: Run, folder: Path, namespace: str) -> None:
    found = run("init", "--namespace", namespace)
    assert (found.code, "is no base IRI" in found.err) == (2, True)
    assert not (folder / "graphrag.toml").exists()


def test_init_writes_a_namespace_of_ones_own(run: Run, folder: Path) -> None:
    found = []
    for place in ("one", "other"):
        assert run("init", place).code == 0
        found.append(
            run("config", "get", "extract.namespace", "--config", f"{place}/graphrag.toml").out.strip()
        )
    assert len(set(found)) == 2
    assert "trustgraph.ai" not in " ".join(found)
    (folder / "a.txt").write_text("Mona Kell founded the Lantern Society.")
    run("ingest", "a.txt", "--config", "one/graphrag.toml")
    kell = f"ASK {{ <{found[0]}e/mona-kell> ?p ?o }}"
    assert run("sparql", kell, "--format", "json").json["boolean"] is True
    assert run("check").code == 0


def test_exports_say_once_that_the_namespace_is_a_strangers(run: Run, folder: Path) -> None:
    (folder / "a.txt").write_text("Mona Kell founded the Lantern Society.")
    run("ingest", "a.txt")
    for command in (("export", "-o", "dump.nq"), ("ontology", "export", "owl")):
        told = " ".join(run(*command).err.split())
        assert told.count("http://trustgraph.ai/, the default") == 1
        assert "graphrag-rdf config set extract.namespace" in told
    assert run("config", "set", "extract.namespace", "https://data.example.org/").code == 0
    assert run("refresh", "facts").code == 0
    again = run("export", "-o", "dump.nq")
    assert "http://trustgraph.ai/" not in again.err
    dump = (folder / "dump.nq").read_text()
    assert "https://data.example.org/e/mona-kell" in dump
    assert "http://trustgraph.ai/e/" not in dump


def test_a_server_for_others_says_so_too(run: Run, folder: Path) -> None:
    (folder / "a.txt").write_text("Mona Kell founded the Lantern Society.")
    run("ingest", "a.txt")
    with Endpoint.start(folder / "graphrag-store", GRAPHRAG_RDF_SERVER__HOST="0.0.0.0") as endpoint:
        assert "".join(endpoint.log).count("http://trustgraph.ai/, the default") == 1
    with Endpoint.start(folder / "graphrag-store") as endpoint:
        assert "http://trustgraph.ai/" not in "".join(endpoint.log)


def test_doctor_says_that_the_namespace_is_the_default(run: Run, folder: Path) -> None:
    assert "IRIs begin with http://trustgraph.ai/, the default" in " ".join(run("doctor").out.split())


def test_init_overwrites_only_when_told(run: Run, folder: Path) -> None:
    (folder / "graphrag.toml").write_text('store = "mine"\n')
    assert run("init").code == 2
    assert "mine" in (folder / "graphrag.toml").read_text()
    assert run("init", "--force").code == 0
    assert "mine" not in (folder / "graphrag.toml").read_text()


def test_init_with_pipelines_is_used(run: Run, folder: Path) -> None:
    assert run("init", "--pipelines", "project").code == 0
    assert (folder / "project" / "pipelines" / "graph_rag" / "pipeline.yaml").is_file()
    found = run("config", "get", "pipelines", "--config", "project/graphrag.toml")
    assert found.out == "pipelines\n"
    assert run("init", "--pipelines", "project").code == 2


def test_config_get(run: Run, folder: Path) -> None:
    assert run("config", "get", "documents.chunk_size").out == "2000\n"
    assert run("config", "get", "llm.model").out == "none\n"
    found = run("config", "get", "documents.chunk_size", "--format", "json").json
    assert found == {"key": "documents.chunk_size", "value": 2000, "origin": "default"}
    unknown = run("config", "get", "llm.modl")
    assert unknown.code == 2
    assert "llm.model" in unknown.err


def test_a_retired_setting_gives_one_warning_and_the_command_runs(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "graphrag.toml").write_text('[server]\noutposts = "none"\n')
    monkeypatch.setenv("GRAPHRAG_RDF_SERVER__OUTPOSTS", "2")
    found = run("config", "trust")
    assert found.code == 0
    assert "server.outposts =" not in found.out
    listed = run("config", "list")
    assert listed.code == 0
    warned = [line for line in (found.err + listed.err).splitlines() if line.startswith("warning:")]
    assert len(warned) == 2
    for place in ("graphrag.toml", "GRAPHRAG_RDF_SERVER__OUTPOSTS"):
        (line,) = [line for line in warned if f"{place}: the setting server.outposts has no effect" in line]
        assert line.endswith("connections no longer move between processes. Delete it")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("ALLOW_HOSTS", '["box"]', "not a host name: give it without scheme, port and quotation marks"),
        ("ALLOW_HOSTS", "box,box:8080", "'box:8080': not a host name"),
        ("CORS", "https://app.example.org/", "without a path"),
    ],
)
def test_a_name_that_no_request_has_is_an_error(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    """It would never be asked for, and the server would refuse who should be let in."""
    monkeypatch.setenv(f"GRAPHRAG_RDF_SERVER__{variable}", value)
    refused = run("config", "list")
    assert refused.code == 2
    assert told in refused.err
    assert f"GRAPHRAG_RDF_SERVER__{variable}" in refused.err


def test_lists_in_the_environment_have_commas(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_SERVER__ALLOW_HOSTS", "box, ::1,www.example")
    monkeypatch.setenv("GRAPHRAG_RDF_SERVER__CORS", "*,http://localhost:3000")
    found = run("config", "get", "server.allow_hosts", "--format", "json").json
    assert found["value"] == ["box", "::1", "www.example"]
    assert run("config", "get", "server.cors", "--format", "json").json["value"] == [
        "*",
        "http://localhost:3000",
    ]


def test_command_line_over_environment_over_file(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "graphrag.toml").write_text('store = "from-file"\n')
    assert run("config", "get", "store").out == "from-file\n"
    monkeypatch.setenv("GRAPHRAG_RDF_STORE", "from-environment")
    assert run("config", "get", "store").out == "from-environment\n"
    assert run("config", "get", "store", "--store", "from-line").out == "from-line\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nothing = 1", "nothing"),
        ("[llm]\nmodle = 'x'", "llm.modle"),
        ("[documents]\nchunk_size = 'many'", "documents.chunk_size"),
        ("[documents", "TOML"),
    ],
)
def test_wrong_settings_name_file_and_key(run: Run, folder: Path, text: str, told: str) -> None:
    (folder / "graphrag.toml").write_text(text)
    found = run("config", "list")
    assert found.code == 2
    assert "graphrag.toml" in found.err
    assert told in found.err


def test_lists_come_from_the_environment_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With commas between their items."""
    monkeypatch.setenv("GRAPHRAG_RDF_EXTRACT__ENTITY_TYPES", "Person, Place")
    monkeypatch.setenv("GRAPHRAG_RDF_SERVER__CORS", "https://a.example,https://b.example")
    found = {item["key"]: item["value"] for item in run("config", "list", "--format", "json").json}
    assert found["extract.entity_types"] == ["Person", "Place"]
    assert found["server.cors"] == ["https://a.example", "https://b.example"]
