"""Objects by their hash: once each, whole or not at all."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from graphrag_rdf.errors import StoreError
from graphrag_rdf.rdf import iris
from graphrag_rdf.store.librarian import Librarian


@pytest.fixture(params=["memory", "disk"])
def librarian(request: pytest.FixtureRequest, tmp_path: Path) -> Librarian:
    return Librarian(tmp_path / "librarian" if request.param == "disk" else None)


def files(librarian: Librarian, place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


@given(data=st.binary(max_size=64))
def test_what_is_put_comes_back(data: bytes) -> None:
    librarian = Librarian()
    iri = librarian.put(data)
    assert iri == iris.stored_object(iris.digest(data))
    assert librarian.get(iri) == data
    assert list(librarian.objects()) == [iri]


def test_a_text_is_its_utf_8(librarian: Librarian) -> None:
    iri = librarian.put("naïve 😀\u2028")
    assert librarian.get(iri) == "naïve 😀\u2028".encode()
    assert librarian.text(iri) == "naïve 😀\u2028"
    assert librarian.text(iri.value) == "naïve 😀\u2028"


def test_equal_content_is_kept_once(tmp_path: Path) -> None:
    librarian = Librarian(tmp_path)
    first = librarian.put("x")
    (file,) = files(librarian, tmp_path)
    before = file.stat().st_mtime_ns
    assert librarian.put(b"x") == first
    assert files(librarian, tmp_path) == [file]
    assert file.stat().st_mtime_ns == before


def test_another_librarian_finds_them(tmp_path: Path) -> None:
    iris_ = {Librarian(tmp_path).put(str(n)) for n in range(5)}
    assert set(Librarian(tmp_path).objects()) == iris_


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_object_is_none_until_it_is_put_again(tmp_path: Path, damage: bytes) -> None:
    librarian = Librarian(tmp_path)
    iri = librarian.put("original")
    (file,) = files(librarian, tmp_path)
    file.write_bytes(damage)
    assert librarian.get(iri) is None
    assert librarian.text(iri) is None
    assert librarian.put("original") == iri
    assert librarian.get(iri) == b"original"


@pytest.mark.parametrize(
    "iri",
    [
        "urn:sha256:" + "0" * 64, "urn:sha256:../../../../etc/passwd", "urn:sha256:", "urn:other:1", "",
        "urn:sha256:" + "/" * 64, "urn:sha256:" + "." * 64,
    ],
)  # fmt: skip
def test_what_is_unknown_or_no_object_is_none(librarian: Librarian, iri: str) -> None:
    assert librarian.get(iri) is None
    assert librarian.delete(iri) is False


def test_an_object_is_erased_once(librarian: Librarian) -> None:
    iri = librarian.put("x")
    assert librarian.delete(iri) is True
    assert librarian.delete(iri) is False
    assert librarian.get(iri) is None


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    librarian = Librarian(tmp_path)

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StoreError, match="No space left") as caught:
        librarian.put("x")
    assert caught.value.hint
    assert files(librarian, tmp_path) == []


def test_half_written_files_are_no_objects(tmp_path: Path) -> None:
    """What a killed process leaves is a temporary file, which nobody takes for an object."""
    librarian = Librarian(tmp_path)
    iri = librarian.put("x")
    (tmp_path / iri.value[11:13] / ".new-abc").write_bytes(b"half")
    assert list(librarian.objects()) == [iri]


def test_many_writers_of_the_same_things(tmp_path: Path) -> None:
    librarian = Librarian(tmp_path)
    start = threading.Barrier(4)

    def work(_: int) -> set[NamedNode]:
        start.wait()
        return {librarian.put(f"object {n}" * 50) for n in range(20)}

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(work, range(4))
    assert all(other == first for other in others)
    assert set(librarian.objects()) == first
    assert all(librarian.get(iri) is not None for iri in first)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError):
        Librarian(tmp_path / "librarian").put("x")


def test_what_is_held_is_not_swept(librarian: Librarian) -> None:
    """As often as it was held, and whether or not it was there before; what is named stays anyway."""
    old, named = librarian.put("old"), librarian.put("named")
    assert librarian.put("old", hold=True) == old
    librarian.put("old", hold=True)
    new = librarian.put("new", hold=True)
    everything = [old, named, new]
    assert librarian.sweep(everything, {named}.intersection) == 0
    librarian.release([old, new])
    assert librarian.sweep(everything, {named}.intersection) == 1
    assert [librarian.get(iri) is None for iri in everything] == [False, False, True]
    librarian.release([old])
    assert librarian.sweep(everything, {named}.intersection) == 1


def test_what_is_put_while_others_are_swept_is_there_afterwards(librarian: Librarian) -> None:
    """Between the look at what is named and the erasing nobody can take an object for granted."""
    iri = librarian.put("text")
    waiting = ThreadPoolExecutor(1)

    def nothing(_: list[NamedNode]) -> set[NamedNode]:
        started.append(waiting.submit(librarian.put, "text", hold=True))
        time.sleep(0.05)
        return set()

    started: list[Future[NamedNode]] = []
    assert librarian.sweep([iri], nothing) == 1
    assert started[0].result() == iri
    assert librarian.text(iri) == "text"
    waiting.shutdown()
