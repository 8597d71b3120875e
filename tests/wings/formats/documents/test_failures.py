"""Whatever is wrong with a file, the reader says so in one way."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents import read_bytes
from tests.documents.test_failures import check_broken, read_or_refuse, reason

SUFFIXES = [".docx", ".xlsx", ".pptx", ".json", ".jsonl"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_file(suffix: str) -> None:
    assert "no text found" in reason(b"", f"a{suffix}")
    assert suffix != ".json" or reason(b" ", "a.json") == "no text found"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.json", b'{"a": ', "not valid JSON"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.jsonl", b"{}\n{x}\n", "line 2 is not valid JSON"),
    ],
)
def test_bad_bytes(name: str, data: bytes, words: str) -> None:
    assert words in reason(data, name)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_broken_files_raise_nothing_else(
    suffix: str, data: st.DataObject, samples: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    check_broken(samples[suffix], suffix, data)
    assert capfd.readouterr().err == ""


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
    monkeypatch.setattr("graphrag_rdf.wings.formats.package.MAX_UNPACKED", 1000)
    assert "too large when unpacked" in reason(samples[".docx"], "a.docx")


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".pptx"])
def test_too_many_elements(suffix: str, monkeypatch: pytest.MonkeyPatch, samples: dict[str, bytes]) -> None:
    """Millions of empty ones take kilobytes in the file and gigabytes in memory."""
    monkeypatch.setattr("graphrag_rdf.wings.formats.package.MAX_TAGS", 20)
    assert "more than 20 tags" in reason(samples[suffix], f"a{suffix}")


def test_rows_of_sheets_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_rdf.wings.formats.package.MAX_TAGS", 4000)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for number in range(1000):
        sheet.append([number, 1])
    out = io.BytesIO()
    book.save(out)
    assert read_bytes(out.getvalue(), "a.xlsx").text.count("\n") == 999


def test_sheet_with_a_far_row_is_bounded(monkeypatch: pytest.MonkeyPatch, samples: dict[str, bytes]) -> None:
    monkeypatch.setattr("graphrag_rdf.wings.formats.sheets.MAX_ROWS", 2)
    assert "too many rows" in reason(samples[".xlsx"], "a.xlsx")


def _zip(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


_EDIT = st.tuples(
    st.integers(0, 1 << 20), st.integers(0, 30), st.sampled_from([b"", b"<", b'"', b"9", b"/>", b"\0"])
)
"""Place in a part, bytes that go, bytes that come."""


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".pptx"])
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(0, 1000),
    edits=st.lists(_EDIT, min_size=1, max_size=4),
    missing=st.none() | st.integers(0, 1000),
)
def test_broken_parts_of_a_whole_package_raise_nothing_else(
    suffix: str,
    number: int,
    edits: list[tuple[int, int, bytes]],
    missing: int | None,
    samples: dict[str, bytes],
) -> None:
    """Checksums hide mutations from the parsers; so parts are mutated before they are zipped."""
    with zipfile.ZipFile(io.BytesIO(samples[suffix])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    names = sorted(parts)
    name = names[number % len(names)]
    part = bytearray(parts[name])
    for place, length, new in edits:
        at = place % (len(part) + 1)
        part[at : at + length] = new
    parts[name] = bytes(part)
    if missing is not None:
        del parts[names[missing % len(names)]]
    document = read_or_refuse(_zip(parts), f"a{suffix}")
    assert document is None or document.text.strip()
