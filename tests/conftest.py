"""Fixtures that tests of every room may use."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from graphrag_rdf.llm.library import LITELLM_WARNINGS
from tests.support import stores
from tests.support.endpoints import KINDS
from tests.support.scripted_server import ScriptedServer

# a machine shared with others is now and then slow; what must be quick has a test of its own
settings.register_profile("project", deadline=None, max_examples=100 if os.environ.get("SLOW") else 25)
settings.load_profile("project")


def pytest_configure(config: pytest.Config) -> None:
    """What `load_litellm` silences for users, as pytest puts its own filters before."""
    for message in LITELLM_WARNINGS:
        config.addinivalue_line("filterwarnings", f"ignore:{message}:UserWarning")


@pytest.fixture(scope="session", autouse=True)
def _own_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A configuration folder of the test run's own, in which trust is recorded; English messages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("LC_ALL", "C.UTF-8")  # messages in English, in whatever language the machine is set up
        patch.delenv("LANGUAGE", raising=False)
        yield


@pytest.fixture(scope="session")
def _scripted_server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def scripted_server(_scripted_server: ScriptedServer) -> Iterator[ScriptedServer]:
    """The scripted OpenAI-compatible server, fresh: nothing asked, nothing queued."""
    _scripted_server.reset()
    yield _scripted_server
    _scripted_server.reset()


# --- long files ------------------------------------------------------------------------------------------

_LONG = (
    "cli/test_limits.py",
    "cli/test_stored_settings.py",
    "pipeline/test_auto.py",
    "pipeline/test_doc_rag.py",
    "pipeline/test_evidence.py",
    "remote/test_remote_store.py",
    "remote/test_same_everywhere.py",
    "remote/test_terms_everywhere.py",
    "server/test_isolation.py",
    "server/test_linked_data.py",
    "server/test_remote_store.py",
    "server/test_update.py",
    "server/test_validation.py",
    "store/test_whole_stores.py",
    "wings/communities/pipeline/test_drift.py",
    "wings/communities/pipeline/test_global.py",
    "wings/merging/ingest/test_resolution.py",
    "wings/merging/ingest/test_same_facts.py",
    "wings/ontologies/ingest/test_guided.py",
    "wings/text2sparql/pipeline/test_querying.py",
    "wings/trustgraph/server/test_gateway.py",
)
"""Files of half a minute of processor time or more; they count as slow, so `make test SLOW=1` runs them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of long files as slow, before slow ones are deselected; `--store-kind` asks for them."""
    for item in items if not config.getoption("--store-kind") else ():
        if item.path.as_posix().endswith(_LONG):
            item.add_marker(pytest.mark.slow)


# --- kinds of stores -----------------------------------------------------------------------------------

_SPINE = ("checks", "exchange", "ingest", "pipeline", "remote", "steps", "trace")
"""Folders whose tests run on any kind of store, unless they are marked `embedded`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--store-kind oxigraph`, or several with commas, or `all`."""
    parser.addoption(
        "--store-kind",
        default="",
        help="kinds of stores to run the tests of the spine on: all, or some of "
        f"{', '.join(KINDS)} (default: embedded, and a few tests on each other kind)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of the spine once for each kind of store that is asked for."""
    folder = metafunc.definition.path.parent.name
    if folder not in _SPINE or metafunc.definition.get_closest_marker("embedded"):
        return
    asked = metafunc.config.getoption("--store-kind")
    if asked:
        kinds = list(KINDS) if asked == "all" else asked.split(",")
    elif metafunc.definition.get_closest_marker("every_kind"):
        kinds = ["embedded", "oxigraph", "classic", "serve"]
    else:
        return
    metafunc.parametrize("store_kind", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session", autouse=True)
def store_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """The kind of store that tests open."""
    wanted = getattr(request, "param", "embedded")
    stores.use(wanted)
    yield wanted
    stores.use("embedded")


def pytest_unconfigure() -> None:
    """End the servers."""
    stores.close_all()
