"""Stores that a stranger made: links, foreign entries, and lists of files that lead out of the folder."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import httpx
import pytest

from graphrag_rdf import layout
from graphrag_rdf.cli.app import root
from graphrag_rdf.errors import StoreError
from graphrag_rdf.store.folder import StoreFolder
from tests.support.commands import Run, environment, program
from tests.support.endpoint import Endpoint
from tests.support.sample_stores import templates

pytestmark = pytest.mark.embedded
OPENING = (
    "doctor",
    'ask "Who founded the Tarnay Electric Light Company?"',
    "ingest more",
    "index rebuild",
)
SERVING = {"serve", "mcp"}  # they run until they are stopped


def declared(
    shape: layout.Shape = layout.STORE, above: str = "", apart: bool = False
) -> Iterator[tuple[str, bool, bool]]:
    """The names that the program uses below a store: (path, whether it is a folder, whether it is apart)."""
    for name in shape.names:
        path = f"{above}{name.sample}"
        yield path, name.shape is not None, apart
        if name.shape is not None and path.count("/") < 2:
            yield from declared(name.shape, f"{path}/", apart or name.shape.apart)


NAMES = sorted(set(declared()))
CHECKED = [path for path, _, apart in NAMES if not apart]
APART = ["collections/other", f"librarian/0a/{'0123456789abcdef' * 4}"]
FOLDERS = [path for path, is_folder, _ in NAMES if is_folder]


def leaves(command: click.Command = root, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All commands that do something."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from leaves(below, (*path, name))
        return
    if not SERVING.intersection(path):
        yield tuple(command.examples)  # type: ignore[attr-defined]


def tree(folder: Path) -> dict[str, object]:
    """Everything below a folder: types, contents and targets of links."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes() if path.is_file() else None


@pytest.fixture
def outside(store: Path, folder: Path) -> Path:
    """Another store, and a folder of the user: what links of a stranger point to."""
    (folder / "more").mkdir()
    (folder / "more" / "new.md").write_text("Mona Kell founded the Lantern Society in 1901.\n")
    place = folder / "outside"
    shutil.copytree(store, place)
    (place / "one" / "two").mkdir(parents=True)
    (place / "one" / "kept.txt").write_text("kept")
    for name in FOLDERS:
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "frozen" / "0123456789abcdef" / "LOG").write_text("kept")
    return place


def plant(store: Path, name: str, outside: Path, kind: str) -> Path:
    place = store / name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        target = outside / name
        place.symlink_to(
            os.path.relpath(target if target.exists() else outside / "one" / "kept.txt", place.parent)
        )
    elif name in FOLDERS:
        place.write_text("of the user")
    else:
        place.mkdir()
        (place / "kept.txt").write_text("of the user")
    return place


def take_away(planted: Path) -> None:
    if planted.is_dir() and not planted.is_symlink():
        shutil.rmtree(planted)
    else:
        planted.unlink()


@pytest.mark.parametrize("kind", ["link", "other type"])
def test_what_is_in_the_way_is_refused_and_named(store: Path, outside: Path, kind: str) -> None:
    before = tree(outside)
    for name in CHECKED:
        planted = plant(store, name, outside, kind)
        inside = tree(store)
        for read_only in (False, True):
            with pytest.raises(StoreError, match="is a link" if kind == "link" else "not made by") as caught:
                StoreFolder(store).open(templates(), create=True, read_only=read_only)
            assert f"graphrag-store/{name} " in caught.value.message
        assert (tree(store), tree(outside)) == (inside, before)
        take_away(planted)


@pytest.mark.parametrize("line", OPENING)
@pytest.mark.parametrize("name", ["frozen", "holder.json", "index/text"])
def test_commands_refuse_links(run: Run, store: Path, outside: Path, name: str, line: str) -> None:
    plant(store, name, outside, "link")
    before, inside = tree(outside), tree(store)
    found = run(*shlex.split(line))
    assert (found.code, f"{name} is a link" in " ".join((found.out + found.err).split())) == (1, True)
    assert (tree(store), tree(outside)) == (inside, before)


@pytest.mark.parametrize("kind", ["link", "other type"])
def test_what_is_apart_is_never_followed(run: Run, store: Path, outside: Path, kind: str) -> None:
    """Blobs, and other collections."""
    planted = [plant(store, name, outside, kind) for name in APART]
    before = tree(outside)
    for line in ("ingest more", "forget documents/harbour.md", "index rebuild"):
        assert run(*shlex.split(line)).code == 0
        assert tree(outside) == before
    shown = run("doctor").out
    assert all(f"graphrag-store/{path.relative_to(store)}" in shown for path in planted)


@pytest.mark.parametrize("name", ["collections", "collections/other"])
def test_a_collection_is_no_link(run: Run, store: Path, outside: Path, name: str) -> None:
    shutil.rmtree(outside / "collections" / "other")
    shutil.copytree(store, outside / "collections" / "other")
    plant(store, name, outside, "link")
    before = tree(outside)
    found = run("ingest", "more", "--collection", "other")
    assert (found.code, "is a link" in " ".join(found.err.split())) == (1, True)
    assert tree(outside) == before


def test_the_store_itself_may_be_a_link(run: Run, store: Path, folder: Path, outside: Path) -> None:
    assert outside.exists()
    store.rename(folder / "elsewhere")
    store.symlink_to("elsewhere")
    assert run("ingest", "more").code == 0
    assert store.is_symlink()


@pytest.fixture
def foreign(store: Path, outside: Path) -> dict[str, object]:
    """Entries of the user in all folders of the store."""
    for name in ("", *FOLDERS):
        place = store / name
        if not place.exists():
            place.mkdir(parents=True)
        (place / "photos").mkdir(exist_ok=True)
        (place / "photos" / "kept.txt").write_text("kept")
        (place / "notes.txt").write_text("kept")
        (place / "elsewhere").symlink_to(os.path.relpath(outside, place))
    planted = {"notes.txt", "elsewhere", "kept.txt", "photos"}
    return {path: content for path, content in tree(store).items() if Path(path).name in planted}


def of_the_user(store: Path, foreign: dict[str, object]) -> dict[str, object]:
    found = tree(store)
    return {path: found.get(path, "gone") for path in foreign}


@pytest.mark.slow
@pytest.mark.parametrize("examples", sorted(set(leaves())), ids=lambda lines: shlex.split(lines[0])[1:3])
def test_no_command_touches_what_is_foreign(
    run: Run, store: Path, outside: Path, foreign: dict[str, object], examples: tuple[str, ...]
) -> None:
    before = tree(outside)
    for line in examples:
        words = shlex.split(line)
        run(*words[words[0] == "graphrag-rdf" :])
        assert tree(outside) == before, line
        assert of_the_user(store, foreign) == foreign, line
    assert StoreFolder(store).exists


def test_doctor_lists_what_is_foreign(run: Run, store: Path, foreign: dict[str, object]) -> None:
    listed = run("doctor", "--format", "json").json["store"]["foreign"]
    found = {str(Path(path).relative_to("graphrag-store")) for path in listed}
    assert found <= foreign.keys()
    unlisted = {path for path in foreign if path not in found and str(Path(path).parent) not in found}
    assert {Path(path).parent.name for path in unlisted} == {"collections"}  # photos may be a collection
    assert f"{store.name}/frozen/photos" in run("doctor").out


def test_a_server_touches_nothing_foreign(
    run: Run, store: Path, outside: Path, foreign: dict[str, object]
) -> None:
    before = tree(outside)
    with Endpoint.start(store) as server:
        answer = httpx.post(
            f"{server.url}/ask", json={"question": "Who founded it?"}, timeout=60, verify=False
        )
        assert answer.status_code == 200
        ask = {"query": "ASK { ?s ?p ?o }"}
        assert httpx.get(f"{server.url}/sparql", params=ask, verify=False).status_code == 200
        assert run("documents").code == 0  # reads a frozen copy
        assert of_the_user(store, foreign) == foreign
        server.process.kill()
        server.process.wait()
    assert run("ingest", "more").code == 0
    assert (tree(outside), of_the_user(store, foreign)) == (before, foreign)
    assert not [*store.glob(f"[sf]*/{'?' * 16}/oxigraph/CURRENT")]


@pytest.mark.parametrize("command", ["serve --port 0", "mcp"])
def test_a_server_refuses_links(store: Path, folder: Path, outside: Path, command: str) -> None:
    plant(store, "frozen", outside, "link")
    before = tree(outside)
    refused = subprocess.run(
        program(*command.split()),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert (refused.returncode, "frozen is a link" in refused.stderr) == (1, True)
    assert tree(outside) == before


def test_the_lists_in_an_index_lead_nowhere_else(run: Run, store: Path, outside: Path) -> None:
    """Tantivy deletes the files that a list of its own names."""
    for managed in store.glob("index/text/*/.managed.json"):
        names = json.loads(managed.read_text())
        managed.write_text(json.dumps([*names, "../../../../outside/one/kept.txt"]))
    before = tree(outside)
    for line in ("forget documents/harbour.md", "index rebuild"):
        run(*shlex.split(line))
        assert tree(outside) == before, line
    state = json.loads((store / "index" / "text" / "manifest.json").read_text())
    state["kinds"]["entity"]["generation"] = "1/../../../../outside/index/text/entity-1"
    (store / "index" / "text" / "manifest.json").write_text(json.dumps(state))
    for line in ("ingest more", "index rebuild"):
        run(*shlex.split(line))
        assert tree(outside) == before, line
