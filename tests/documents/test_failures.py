"""Whatever is wrong with a file, the reader says so in one way."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents import ParsedDocument, load_bytes, read_bytes, read_document
from graphrag_rdf.errors import DocumentError

SUFFIXES = [".txt", ".md", ".html", ".pdf", ".csv", ".tsv"]


def reason(data: bytes, name: str, **options: object) -> str:
    with pytest.raises(DocumentError) as caught:
        read_bytes(data, name, **options)  # type: ignore[arg-type]
    assert caught.value.path == name
    assert name in str(caught.value)
    return caught.value.reason


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_file(suffix: str) -> None:
    assert "no text found" in reason(b"", f"a{suffix}")


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.txt", b" \n\t"), ("a.html", b"<script>x</script>"), ("a.md", b"\xef\xbb\xbf")],
)
def test_no_text(name: str, data: bytes) -> None:
    assert reason(data, name) == "no text found"


def test_pdf_without_text(make_pdf: Callable[..., bytes]) -> None:
    assert reason(make_pdf(["", ""]), "a.pdf") == "no text found"


def test_encrypted_pdf(make_pdf: Callable[..., bytes]) -> None:
    assert reason(make_pdf(password="secret"), "a.pdf") == "encrypted"


def test_pdf_that_opens_without_password(make_pdf: Callable[..., bytes]) -> None:
    assert "Alice" in read_bytes(make_pdf(password="secret", owner_only=True), "a.pdf").text


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.xyz", b"\0\1\2", "unsupported format '.xyz'"),
        ("README", b"\0\1\2", "no suffix"),
        ("a.txt", bytes(range(256)) * 20, "not a text file"),
        ("a.txt", random.Random(1).randbytes(5000), "not a text file"),
        ("a.txt", b"\xff\xfea\x00b", "not valid utf-16-le"),
        ("a.pdf", b"%PDF-1.7 nonsense", "damaged"),
        ("a.pdf", b"nonsense", "damaged"),
    ],
)
def test_bad_bytes(name: str, data: bytes, words: str) -> None:
    assert words in reason(data, name)


def test_limits_and_media_types() -> None:
    assert "larger than 3 bytes" in reason(b"abcd", "a.txt", max_bytes=3)
    assert "unsupported media type 'image/png'" in reason(b"abcd", "a.txt", media_type="image/png")


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.txt")
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    (tmp_path / "big.txt").write_text("abcd")
    expected = {
        "fifo.txt": "not a regular file",
        "folder.txt": "a folder, not a file",
        "dangling.txt": "a symbolic link that leads nowhere",
        "loop.txt": "a symbolic link that leads in a circle",
        "missing.txt": "no such file",
        "big.txt": "larger than 3 bytes",
        "nul\0.txt": "embedded null byte",
    }
    for name, words in expected.items():
        with pytest.raises(DocumentError, match=words):
            read_document(tmp_path / name, max_bytes=3)


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is the system's; simulated, since tests may run as root."""

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(DocumentError, match="permission denied"):
        load_bytes(tmp_path / "a.txt")


def test_read_document_is_load_and_parse(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"hello\r\n")
    assert load_bytes(path) == b"hello\r\n"
    assert read_document(path) == read_bytes(b"hello\r\n", str(path))


def read_or_refuse(data: bytes, name: str) -> ParsedDocument | None:
    try:
        return read_bytes(data, name)
    except DocumentError:
        return None


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_broken_files_raise_nothing_else(
    suffix: str, data: st.DataObject, samples: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """Truncated, mutated and spliced files are read or refused, and nothing is printed."""
    check_broken(samples[suffix], suffix, data)
    assert capfd.readouterr().err == ""


def check_broken(original: bytes, suffix: str, data: st.DataObject) -> None:
    """Break a file somehow, and read it."""
    broken = bytearray(original)
    positions = st.integers(0, len(original) - 1)
    for _ in range(data.draw(st.integers(0, 8))):
        broken[data.draw(positions)] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(broken)), positions))
    broken = broken[:cut] + data.draw(st.binary(max_size=20))
    if document := read_or_refuse(bytes(broken), f"a{suffix}"):
        assert document.text.strip()
        assert document.title
        for page in document.pages:
            assert document.text[page.offset : page.offset + len(page.text)] == page.text
