"""Whatever is wrong with a file, the reader says so in one way."""

from __future__ import annotations

import io
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents import ParsedDocument, load_bytes, read_bytes, read_document
from graphrag_rdf.errors import DocumentError

SUFFIXES = [".txt", ".md", ".html", ".pdf", ".docx", ".xlsx", ".pptx", ".csv", ".tsv", ".json", ".jsonl"]


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
    [("a.txt", b" \n\t"), ("a.html", b"<script>x</script>"), ("a.json", b" "), ("a.md", b"\xef\xbb\xbf")],
)
def test_no_text(name: str, data: bytes) -> None:
    assert reason(data, name) == "no text found"


def test_pdf_without_text(make_pdf: Callable[..., bytes]) -> None:
    assert reason(make_pdf(["", ""]), "a.pdf") == "no text found"


def test_encrypted_pdf(make_pdf: Callable[..., bytes]) -> None:
    assert reason(make_pdf(password="secret"), "a.pdf") == "encrypted"


def test_pdf_that_opens_without_password(make_pdf: Callable[..., bytes]) -> None:
    assert "Alice" in read_bytes(make_pdf(password="secret", owner_only=True), "a.pdf").text


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".pptx"])
def test_office_failures(suffix: str, samples: dict[str, bytes]) -> None:
    ole = bytes.fromhex("d0cf11e0a1b11ae1")
    name = f"a{suffix}"
    assert "encrypted" in reason(ole + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"), name)
    assert "before 2007" in reason(ole + b"\0" * 600, name)
    assert "damaged" in reason(b"not a zip", name)
    assert "damaged" in reason(samples[suffix][:-100], name)
    assert "bomb" in reason(_zip({"[Content_Types].xml": b"<a>" + b" " * (40 << 20)}), name)
    assert "document type" in reason(_zip({"x.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), name)
    assert "document type" in reason(_zip({"x.xml": "<!DOCTYPE a><a/>".encode("utf-16")}), name)
    assert "damaged" in reason(_zip({"x.xml": b"<a/>"}), name)
    other = {".docx": ".xlsx", ".xlsx": ".pptx", ".pptx": ".docx"}[suffix]
    assert "damaged" in reason(samples[other], name)


def test_too_large_when_unpacked(monkeypatch: pytest.MonkeyPatch, samples: dict[str, bytes]) -> None:
    monkeypatch.setattr("graphrag_rdf.documents.readers.package.MAX_UNPACKED", 1000)
    assert "too large when unpacked" in reason(samples[".docx"], "a.docx")


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".pptx"])
def test_too_many_elements(suffix: str, monkeypatch: pytest.MonkeyPatch, samples: dict[str, bytes]) -> None:
    """Millions of empty ones take kilobytes in the file and gigabytes in memory."""
    monkeypatch.setattr("graphrag_rdf.documents.readers.package.MAX_TAGS", 20)
    assert "more than 20 tags" in reason(samples[suffix], f"a{suffix}")


def test_rows_of_sheets_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_rdf.documents.readers.package.MAX_TAGS", 4000)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for number in range(1000):
        sheet.append([number, 1])
    out = io.BytesIO()
    book.save(out)
    assert read_bytes(out.getvalue(), "a.xlsx").text.count("\n") == 999


def test_sheet_with_a_far_row_is_bounded(monkeypatch: pytest.MonkeyPatch, samples: dict[str, bytes]) -> None:
    monkeypatch.setattr("graphrag_rdf.documents.readers.sheets.MAX_ROWS", 2)
    assert "too many rows" in reason(samples[".xlsx"], "a.xlsx")


def _zip(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.xyz", b"\0\1\2", "unsupported format '.xyz'"),
        ("README", b"\0\1\2", "no suffix"),
        ("a.txt", bytes(range(256)) * 20, "not a text file"),
        ("a.txt", random.Random(1).randbytes(5000), "not a text file"),
        ("a.txt", b"\xff\xfea\x00b", "not valid utf-16-le"),
        ("a.json", b'{"a": ', "not valid JSON"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.jsonl", b"{}\n{x}\n", "line 2 is not valid JSON"),
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
    original = samples[suffix]
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
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".pptx"])
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_broken_parts_of_a_whole_package_raise_nothing_else(
    suffix: str, data: st.DataObject, samples: dict[str, bytes]
) -> None:
    """Checksums hide mutations from the parsers; so parts are mutated before they are zipped."""
    with zipfile.ZipFile(io.BytesIO(samples[suffix])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = data.draw(st.sampled_from(sorted(parts)))
    part = bytearray(parts[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(part)))
        part[at : at + data.draw(st.integers(0, 30))] = data.draw(
            st.sampled_from([b"", b"<", b'"', b"9", b"/>", b"\0"])
        )
    parts[name] = bytes(part)
    if data.draw(st.booleans()):
        del parts[data.draw(st.sampled_from(sorted(parts)))]
    document = read_or_refuse(_zip(parts), f"a{suffix}")
    assert document is None or document.text.strip()
