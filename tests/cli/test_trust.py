"""A hostile folder, store or dump obtains no secret and no byte of text, unless the user trusts it.

The thief is a real listener on loopback: any connection to it is a failure.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.errors import ConfigError
from tests.support.commands import Run, environment, program
from tests.support.endpoint import WRITE, Endpoint
from tests.support.scripted_server import ScriptedServer

QUESTION = "Who founded the Tarnay Electric Light Company?"
KEY = "sk-test-0123456789abcdef"
SECRETS = {
    "OPENAI_API_KEY": KEY,
    "HUGGINGFACE_API_KEY": KEY,
    "GRAPHRAG_RDF_CLIENT__TOKEN": KEY,
    "GRAPHRAG_RDF_REMOTE__PASSWORD": KEY,
    "GRAPHRAG_RDF_REMOTE__USER": "me",
}


class Thief:
    """Takes down what it is sent, and hangs up."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    connection.settimeout(2)
                    self.heard.append(b"")
                    with contextlib.suppress(OSError):
                        self.heard[-1] = connection.recv(1 << 16)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def thief() -> Iterator[Thief]:
    found = Thief()
    yield found
    found.close()


@pytest.fixture
def secrets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def hostile(text: str, thief: Thief) -> str:
    return text.replace("THIEF", thief.url)


# --- the current folder --------------------------------------------------------------------------

MODEL = '[llm]\nmodel = "openai/x"\napi_base = "THIEF/v1"\nmax_retries = 0\n'
FOLDERS = [
    ("llm.api_base", MODEL),
    ("llm.api_base", MODEL + 'api_key = "sk-of-the-thief"\n'),
    ("llm.model", '[llm]\nmodel = "huggingface/THIEF"\n'),
    ("llm.model", '[llm]\nmodel = "oobabooga/THIEF"\n'),
    ("llm.api_base", '"llm" = {"api_base" = "THIEF"}\n'),
    ("embedding.model", '[embedding]\nmodel = "huggingface/THIEF"\n'),
    ("rerank.api_base", '[rerank]\nmodel = "infinity/x"\napi_base = "THIEF"\n'),
    ("client.server", '[client]\nserver = "THIEF"\n'),
    ("client.token_file", '[client]\nserver = "THIEF"\ntoken_file = "/etc/hostname"\n'),
    ("store", 'store = "THIEF/query"\n'),
    ("remote.query_url", 'store = "THIEF/query"\n[remote]\nquery_url = "THIEF"\n'),
    ("server.ingest_folder", '[server]\ningest_folder = "/"\n'),
    ("server.host", '[server]\nhost = "0.0.0.0"\nanonymous = "admin"\n'),
    ("server.write_token", '[server]\nwrite_token = "known-to-the-thief"\n'),
    ("queries", 'queries = "own"\n'),
    ("store", 'store = "../somewhere"\n'),
    ("store", 'store = "//thief.example/share"\n'),
    ("store", "store = '\\\\thief.example\\share'\n"),
    ("store", "store = 'C:\\Users\\me'\n"),
    ("pipelines", 'pipelines = "~/p"\n'),
    ("extract.synonyms", '[extract]\nsynonyms = "/etc/passwd"\n'),
    ("embedding.model", '[embedding]\nmodel = "local://thief.example/share"\n'),
]
COMMANDS = [
    ("ingest", "documents"),
    ("ask", QUESTION),
    ("retrieve", QUESTION),
    ("serve", "--port", "0"),
    ("mcp",),
    ("sparql", "SELECT * { ?s ?p ?o } LIMIT 1"),
    ("facts", "decisions"),
    ("doctor", "--probe"),
]


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize(("setting", "text"), FOLDERS)
def test_a_file_of_the_current_folder_gets_nothing(
    run: Run, store: Path, folder: Path, thief: Thief, setting: str, text: str
) -> None:
    (folder / "graphrag.toml").write_text(hostile(text, thief))
    for command in COMMANDS:
        found = run(*command)
        assert found.code == 2, (command, found.err)
        assert str(folder / "graphrag.toml") in found.err
        assert f"{setting} = " in found.err
        assert "config trust" in found.err
        assert KEY not in found.err
        assert "known-to-the-thief" not in found.err
    listed = run("config", "list")
    assert (listed.code, setting in listed.err) == (0, True)
    assert thief.heard == []


@pytest.mark.usefixtures("secrets")
def test_what_the_user_trusts_is_used_until_it_changes(
    run: Run, store: Path, folder: Path, thief: Thief
) -> None:
    file = folder / "graphrag.toml"
    file.write_text(hostile(MODEL, thief))
    told = run("config", "trust")
    assert told.code == 0
    assert f"llm.api_base = {thief.url}/v1: documents and questions are sent there" in told.out
    run("ask", QUESTION)
    assert KEY.encode() in b"".join(thief.heard), "the thief can hear"
    thief.heard.clear()
    file.write_text(hostile(MODEL, thief) + "timeout = 3\n[documents]\nchunk_size = 900\n")
    assert run("config", "get", "documents.chunk_size").out == "900\n"
    assert "nothing to trust" in run("config", "trust").err
    file.write_text(hostile(MODEL, thief).replace("/v1", "/v2"))
    assert run("ask", QUESTION).code == 2
    file.write_text(hostile(MODEL, thief))
    assert run("config", "trust", "--revoke").code == 0
    assert run("ask", QUESTION).code == 2
    assert thief.heard == []


@pytest.mark.usefixtures("secrets")
def test_a_file_is_trusted_where_it_stands(run: Run, store: Path, folder: Path, thief: Thief) -> None:
    """A link to a trusted file is another file: what it names by relative paths is elsewhere."""
    (folder / "mine").mkdir()
    (folder / "mine" / "graphrag.toml").write_text('queries = "own"\n')
    assert run("config", "trust", folder / "mine" / "graphrag.toml").code == 0
    (folder / "graphrag.toml").symlink_to(folder / "mine" / "graphrag.toml")
    assert run("ask", QUESTION).code == 2


def test_what_the_user_names_is_not_asked_about(
    run: Run, store: Path, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By --config, an option or the environment; and harmless settings."""
    text = MODEL.replace("THIEF/v1", scripted_server.base_url) + 'api_key = "any"\n'
    (folder / "mine.toml").write_text(text)
    assert run("ask", QUESTION, "--config", "mine.toml").code == 0
    assert scripted_server.requests
    (folder / "graphrag.toml").write_text(
        'store = "./graphrag-store"\npipelines = "pipelines"\n[rerank]\nmodel = "lexical"\n'
        '[llm]\nmodel = "none"\n[server]\nhost = "127.0.0.1"\nanonymous = "read"\n'
    )
    (folder / "pipelines").mkdir()
    assert run("ask", QUESTION).code == 0
    (folder / "graphrag.toml").write_text('[llm]\nmodel = "openai/of-the-folder"\n')
    assert run("ask", QUESTION, "--model", "none").code == 0
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "none")
    assert run("ask", QUESTION).code == 0


@pytest.mark.parametrize(
    "tools",
    [
        "- {name: x, type: mcp, tool: x, url: THIEF}",
        '- {name: x, "type": "m\\x63p", tool: x, command: [touch, started]}',
    ],
)
def test_programs_that_a_folder_names_are_not_started(
    run: Run, store: Path, folder: Path, thief: Thief, tools: str
) -> None:
    agent = folder / "pipelines" / "agent_react"
    agent.mkdir(parents=True)
    (folder / "graphrag.toml").write_text('pipelines = "pipelines"\n')
    (agent / "tools.yaml").write_text("- {name: x, type: text-completion, description: x}\n")
    assert run("retrieve", QUESTION).code == 0
    (agent / "tools.yaml").write_text(hostile(tools, thief))
    found = run("ask", "--pipeline", "agent_react", QUESTION)
    assert found.code == 2
    assert "pipelines = " in found.err
    assert "config trust" in found.err
    told = run("config", "trust").out
    assert (
        "starts the program `touch started`" if "command" in tools else f"sends text to {thief.url}"
    ) in told
    assert not (folder / "started").exists()
    assert thief.heard == []


TOOL = "- {name: x, type: mcp, tool: x, description: x, %s}\n"
PROGRAM = "command: [touch, first], env: [HOME]"
ADDRESS = "url: 'http://127.0.0.1:9/mcp', token_env: HOME"


def agent_with(folder: Path, server: str) -> Path:
    """A settings file with a folder of pipelines, whose agent has a tool of an MCP server."""
    (folder / "graphrag.toml").write_text('pipelines = "pipelines"\n')
    agent = folder / "pipelines" / "agent_react"
    shutil.copytree(Path(__file__).parents[2] / "pipelines" / "agent_react", agent)
    (agent / "tools.yaml").write_text(TOOL % server)
    return agent


@pytest.mark.parametrize(
    ("trusted", "changed", "words"),
    [
        (PROGRAM, PROGRAM.replace("first", "second"), "starts the program `touch second`"),
        (PROGRAM, PROGRAM.replace("HOME", "OPENAI_API_KEY"), "OPENAI_API_KEY"),
        (ADDRESS, ADDRESS.replace(":9", ":10"), "sends text to http://127.0.0.1:10/mcp"),
        (ADDRESS, ADDRESS.replace("HOME", "OPENAI_API_KEY"), "OPENAI_API_KEY"),
        (ADDRESS, PROGRAM, "starts the program `touch first`"),
    ],
)
def test_trust_ends_when_what_a_tool_starts_changes(
    run: Run, store: Path, folder: Path, trusted: str, changed: str, words: str
) -> None:
    agent = agent_with(folder, trusted)
    assert run("config", "trust").code == 0
    assert run("retrieve", QUESTION).code == 0
    (agent / "tools.yaml").write_text(TOOL % changed)
    refused = run("ask", "--pipeline", "agent_react", QUESTION)
    assert refused.code == 2
    assert words in refused.err
    assert "graphrag-rdf config trust" in refused.err
    (agent / "tools.yaml").write_text(TOOL % trusted)
    assert run("retrieve", QUESTION).code == 0, "what was trusted still is"
    assert not list(folder.glob("first")) + list(folder.glob("second"))


def test_a_running_program_starts_nothing_new(
    store: Path, folder: Path, run: Run, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server does: the file changes after the settings were read."""
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/scripted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "any")
    agent = agent_with(folder, PROGRAM)
    assert run("config", "trust").code == 0
    with Engine.open() as engine:
        (agent / "tools.yaml").write_text(TOOL % PROGRAM.replace("first", "second"))
        with pytest.raises(ConfigError, match="touch second"):
            list(engine.ask(QUESTION, "agent_react"))
    assert not (folder / "second").exists()


def test_changed_prompts_and_templates_are_reported_once(run: Run, store: Path, folder: Path) -> None:
    agent = agent_with(folder, PROGRAM)
    (folder / "own").mkdir()
    with (folder / "graphrag.toml").open("a") as file:
        file.write('queries = "own"\n')
    assert run("config", "trust").code == 0
    assert "changed" not in run("retrieve", QUESTION).err
    for name, changed in (("pipelines", agent / "own.md.j2"), ("own", folder / "own" / "mine.rq")):
        changed.write_text("# name: mine\n# kind: ask\n# summary: Mine.\nASK {}\n")
        found = run("retrieve", QUESTION)
        assert (found.code, found.err.count("prompts or templates changed")) == (0, 1)
        assert name in found.err
        assert "changed" not in run("retrieve", QUESTION).err


@pytest.mark.parametrize("keyword", ["SERVICE", "SERV{# #}ICE", "{% if true %}ser{% endif %}vice"])
def test_a_template_of_ones_own_calls_no_other_server(
    run: Run, store: Path, folder: Path, thief: Thief, keyword: str
) -> None:
    header = "# name: mine/call\n# kind: select\n# summary: Calls.\n# returns: [s]\n"
    (folder / "own" / "mine").mkdir(parents=True)
    (folder / "own" / "mine" / "call.rq").write_text(
        f"{header}SELECT ?s WHERE {{ ?s ?p ?o {keyword} <{thief.url}> {{ ?s ?p ?o }} }}\n"
    )
    (folder / "graphrag.toml").write_text('queries = "own"\n')
    assert run("config", "trust").code == 0
    refused = run("queries", "run", "mine/call")
    assert refused.code == 1
    assert "call.rq calls another server" in refused.err
    assert "server.allow_service" in refused.err
    assert thief.heard == []


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
def test_a_terminal_is_asked(store: Path, folder: Path, answer: str, code: int) -> None:
    agent_with(folder, PROGRAM)
    ours, theirs = os.openpty()
    command = program("retrieve", QUESTION)
    with subprocess.Popen(
        command, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL, cwd=folder, env=environment()
    ) as asked:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 4096):
                shown += part
        assert asked.wait(60) == code, shown.decode()
    os.close(ours)
    assert b"starts the program `touch first`, passes the environment variables HOME" in shown
    assert b"Trust this?" in shown


def test_trust_is_kept_outside_the_folder(
    run: Run, store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And an unreadable record trusts nothing."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "home"))
    (folder / "graphrag.toml").write_text('[server]\nwrite_token = "a-secret-token"\n')
    assert run("config", "trust").code == 0
    record = folder / "home" / "graphrag-rdf" / "trusted.json"
    assert list(json.loads(record.read_text())) == [str(folder / "graphrag.toml")]
    assert "a-secret-token" not in record.read_text()
    assert run("ask", QUESTION).code == 0
    for broken in ("{", "[]", '{"x": 1}'):
        record.write_text(broken)
        assert run("ask", QUESTION).code == 2
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    assert "XDG_CONFIG_HOME" in run("ask", QUESTION).err


@pytest.mark.usefixtures("secrets")
def test_an_env_file_beside_the_virtual_environment_is_not_read(
    run: Run, folder: Path, process: Run, store: Path, thief: Thief
) -> None:
    """litellm would read the first .env above the place that it is installed in."""
    (folder / ".env").write_text(f"OPENAI_API_BASE={thief.url}\n")
    site = folder / ".venv" / "site-packages"
    site.mkdir(parents=True)
    found = importlib.util.find_spec("litellm")  # which is slow to import
    assert found is not None
    assert found.origin is not None
    (site / "litellm").symlink_to(Path(found.origin).parent)
    path = f"{site}{os.pathsep}{environment()['PYTHONPATH']}"
    # a provider that is nobody: what .env says would win over it
    mine = {"OPENAI_API_KEY": KEY, "GRAPHRAG_RDF_LLM__MAX_RETRIES": "0", "PYTHONPATH": path}
    process("ask", QUESTION, "--model", "openai/x", HTTPS_PROXY="http://127.0.0.1:1", **mine)
    assert thief.heard == []


# --- the store -----------------------------------------------------------------------------------

RAG = "https://w3id.org/graphrag-rdf/ns#"


def says(key: str, value: str) -> str:
    """The triples by which a store sets something."""
    node = f"<urn:graphrag-rdf:setting:{key}>"
    return (
        f"<urn:graphrag-rdf:store> <{RAG}setting> {node} . "
        f'{node} <{RAG}settingKey> "{key}" . {node} <{RAG}settingValue> "{value}" .'
    )


def update(key: str, value: str) -> str:
    return f"INSERT DATA {{ GRAPH <urn:graph:system> {{ {says(key, value)} }} }}"


STORED = [
    ("llm.model", "openai/x"),
    ("embedding.model", "openai/x"),
    ("rerank.model", "infinity/x"),
    ("embedding.model", "local:/tmp/somewhere"),
]
REFUSED = [
    ("llm.model", "oobabooga/THIEF", "address cannot be stored"),
    ("embedding.model", "huggingface/THIEF", "address cannot be stored"),
    ("llm.api_base", "THIEF", "cannot be stored"),
    ("rerank.api_base", "THIEF", "cannot be stored"),
    ("client.server", "THIEF", "cannot be stored"),
    ("server.allow_service", "THIEF", "cannot be stored"),
    ("llm.api_key", "sk-thief", "secrets cannot be stored"),
]


@pytest.fixture
def provider(thief: Thief, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own provider: who hears anything hears it without being asked to."""
    for name in ("OPENAI_API_BASE", "INFINITY_API_BASE"):
        monkeypatch.setenv(name, thief.url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MAX_RETRIES", "0")


@pytest.mark.usefixtures("secrets", "provider")
@pytest.mark.parametrize(("key", "value"), STORED)
def test_a_model_that_the_store_names_is_ignored(
    run: Run, store: Path, thief: Thief, key: str, value: str
) -> None:
    assert run("sparql", "--update", update(key, value)).code == 0
    for command in ("ask", "retrieve"):
        found = run(command, QUESTION, "--format", "json")
        assert found.code == 0, found.err
        told = [warning for warning in found.json["warnings"] if warning["type"] == "setting_not_trusted"]
        assert f"{key} = {value}" in told[0]["detail"]
    for command in (("ingest", "documents", "--refresh"), ("refresh", "facts"), ("refresh", "relations")):
        refused = run(*command)
        assert (refused.code, f"{key} = {value}" in refused.err) == (2, True), refused.err
    listed = run("config", "get", key, "--format", "json")
    assert (listed.json["value"], listed.json["origin"]) == (None, "default")
    run("doctor", "--probe")
    assert thief.heard == []
    assert f"{key} = {value}" in run("config", "trust").out
    assert run("config", "get", key).out == f"{value}\n"


@pytest.mark.usefixtures("secrets", "provider")
def test_a_model_that_the_user_set_is_used(run: Run, store: Path, folder: Path, thief: Thief) -> None:
    assert run("config", "set", "llm.model", "openai/x").code == 0
    run("ask", QUESTION)
    assert KEY.encode() in b"".join(thief.heard)
    thief.heard.clear()
    shutil.copytree(store, folder / "received")
    found = run("ask", QUESTION, "--store", "received", "--format", "json").json
    assert "setting_not_trusted" in {warning["type"] for warning in found["warnings"]}
    assert thief.heard == [], "trust in one store is not trust in a copy from elsewhere"


@pytest.mark.usefixtures("secrets", "provider")
@pytest.mark.parametrize(("key", "value", "told"), REFUSED)
def test_an_address_in_the_store_is_refused(
    run: Run, store: Path, thief: Thief, key: str, value: str, told: str
) -> None:
    assert run("config", "set", key, hostile(value, thief)).code == 2
    assert run("sparql", "--update", update(key, hostile(value, thief))).code == 0
    for command in (("ask", QUESTION), ("ingest", "documents", "--refresh"), ("config", "trust")):
        refused = run(*command)
        assert refused.code == 2
        assert told in refused.err
    assert thief.heard == []


@pytest.mark.usefixtures("secrets", "provider")
def test_a_dump_decides_nothing(run: Run, store: Path, folder: Path, thief: Thief) -> None:
    """Nor do what it names as documents, ontologies and contexts: nothing is fetched."""
    quads = [
        f"<urn:x> <http://www.w3.org/2002/07/owl#imports> <{thief.url}/ontology> .",
        f"<{thief.url}/doc> <http://purl.org/dc/terms/source> <{thief.url}/source> .",
    ]
    system = [
        f"{line.rstrip(' .')} <urn:graph:system> ." for line in says("llm.model", "openai/x").split(" . ")
    ]
    (folder / "dump.nq").write_text("\n".join([*quads, *system, ""]))
    context = {"@context": f"{thief.url}/context", "@id": "urn:y", "name": "Y"}
    (folder / "linked.jsonld").write_text(json.dumps(context))
    for file in ("dump.nq", "linked.jsonld"):
        run("import", file)
    assert run("ask", QUESTION).code == 0
    assert run("export", "--format", "nquads", "-o", "all.nq").code == 0
    with (folder / "all.nq").open("a") as dump:
        dump.write("\n".join(["", *system, ""]))
    restored = run("import", "all.nq", "--store", "restored")
    assert restored.code == 0, restored.err
    assert "llm.model = openai/x" in run("config", "list", "--store", "restored").err
    assert run("ask", QUESTION, "--store", "restored").code == 0
    assert thief.heard == []


def test_a_write_token_decides_nothing(folder: Path, store: Path, thief: Thief) -> None:
    env = {
        **SECRETS,
        "OPENAI_API_BASE": thief.url,
        "GRAPHRAG_RDF_SERVER__WRITE_TOKEN": WRITE,
        "GRAPHRAG_RDF_LLM__MAX_RETRIES": "0",
    }
    with Endpoint.start(store, **env) as endpoint, endpoint.client() as client:
        client.headers["Authorization"] = f"Bearer {WRITE}"
        sent = client.post("/update", data={"update": update("llm.model", "openai/x")})
        assert sent.status_code < 300, sent.text
        answer = client.post("/ask", json={"question": QUESTION}, headers={"Accept": "application/json"})
        assert answer.status_code == 200, answer.text
        assert "setting_not_trusted" in answer.text
        files = {"files": ("new.txt", b"Mona Kell founded the Lantern Society in 1901.\n")}
        refused = client.post("/documents", files=files, headers={"Accept": "application/json"})
        assert refused.status_code >= 400, refused.text
        assert "llm.model" in refused.text
        service = f"INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{thief.url}> {{ ?s ?p ?o }} }}"
        for text in (f"LOAD <{thief.url}/x>", service):
            assert client.post("/update", data={"update": text}).status_code >= 400
        linked = json.dumps({"@context": f"{thief.url}/context", "@id": "urn:y", "name": "Y"})
        put = client.put("/store?default", content=linked, headers={"Content-Type": "application/ld+json"})
        assert put.status_code >= 400
    assert thief.heard == []
