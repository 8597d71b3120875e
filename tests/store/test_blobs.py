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
from graphrag_rdf.store.blobs import BlobStore


@pytest.fixture(params=["memory", "disk"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "librarian" if request.param == "disk" else None)


def files(blobs: BlobStore, place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


@given(data=st.binary(max_size=64))
def test_what_is_put_comes_back(data: bytes) -> None:
    blobs = BlobStore()
    iri = blobs.put(data)
    assert iri == iris.stored_object(iris.digest(data))
    assert blobs.get(iri) == data
    assert list(blobs.objects()) == [iri]


def test_a_text_is_its_utf_8(blobs: BlobStore) -> None:
    iri = blobs.put("naïve 😀\u2028")
    assert blobs.get(iri) == "naïve 😀\u2028".encode()
    assert blobs.text(iri) == "naïve 😀\u2028"
    assert blobs.text(iri.value) == "naïve 😀\u2028"


def test_equal_content_is_kept_once(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    first = blobs.put("x")
    (file,) = files(blobs, tmp_path)
    before = file.stat().st_mtime_ns
    assert blobs.put(b"x") == first
    assert files(blobs, tmp_path) == [file]
    assert file.stat().st_mtime_ns == before


def test_another_blob_store_finds_them(tmp_path: Path) -> None:
    iris_ = {BlobStore(tmp_path).put(str(n)) for n in range(5)}
    assert set(BlobStore(tmp_path).objects()) == iris_


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_object_is_none_until_it_is_put_again(tmp_path: Path, damage: bytes) -> None:
    blobs = BlobStore(tmp_path)
    iri = blobs.put("original")
    (file,) = files(blobs, tmp_path)
    file.write_bytes(damage)
    assert blobs.get(iri) is None
    assert blobs.text(iri) is None
    assert blobs.put("original") == iri
    assert blobs.get(iri) == b"original"


@pytest.mark.parametrize(
    "iri",
    [
        "urn:sha256:" + "0" * 64, "urn:sha256:../../../../etc/passwd", "urn:sha256:", "urn:other:1", "",
        "urn:sha256:" + "/" * 64, "urn:sha256:" + "." * 64,
    ],
)  # fmt: skip
def test_what_is_unknown_or_no_object_is_none(blobs: BlobStore, iri: str) -> None:
    assert blobs.get(iri) is None
    assert blobs.delete(iri) is False


def test_an_object_is_erased_once(blobs: BlobStore) -> None:
    iri = blobs.put("x")
    assert blobs.delete(iri) is True
    assert blobs.delete(iri) is False
    assert blobs.get(iri) is None


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = BlobStore(tmp_path)

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StoreError, match="No space left") as caught:
        blobs.put("x")
    assert caught.value.hint
    assert files(blobs, tmp_path) == []


def test_half_written_files_are_no_objects(tmp_path: Path) -> None:
    """What a killed process leaves is a temporary file, which nobody takes for an object."""
    blobs = BlobStore(tmp_path)
    iri = blobs.put("x")
    (tmp_path / iri.value[11:13] / ".new-abc").write_bytes(b"half")
    assert list(blobs.objects()) == [iri]


def test_many_writers_of_the_same_things(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    start = threading.Barrier(4)

    def work(_: int) -> set[NamedNode]:
        start.wait()
        return {blobs.put(f"object {n}" * 50) for n in range(20)}

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(work, range(4))
    assert all(other == first for other in others)
    assert set(blobs.objects()) == first
    assert all(blobs.get(iri) is not None for iri in first)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError):
        BlobStore(tmp_path / "librarian").put("x")


def test_what_is_held_is_not_swept(blobs: BlobStore) -> None:
    """As often as it was held, and whether or not it was there before; what is named stays anyway."""
    old, named = blobs.put("old"), blobs.put("named")
    assert blobs.put("old", hold=True) == old
    blobs.put("old", hold=True)
    new = blobs.put("new", hold=True)
    everything = [old, named, new]
    assert blobs.sweep(everything, {named}.intersection) == 0
    blobs.release([old, new])
    assert blobs.sweep(everything, {named}.intersection) == 1
    assert [blobs.get(iri) is None for iri in everything] == [False, False, True]
    blobs.release([old])
    assert blobs.sweep(everything, {named}.intersection) == 1


def test_what_is_put_while_others_are_swept_is_there_afterwards(blobs: BlobStore) -> None:
    """Between the look at what is named and the erasing nobody can take an object for granted."""
    iri = blobs.put("text")
    waiting = ThreadPoolExecutor(1)

    def nothing(_: list[NamedNode]) -> set[NamedNode]:
        started.append(waiting.submit(blobs.put, "text", hold=True))
        time.sleep(0.05)
        return set()

    started: list[Future[NamedNode]] = []
    assert blobs.sweep([iri], nothing) == 1
    assert started[0].result() == iri
    assert blobs.text(iri) == "text"
    waiting.shutdown()
