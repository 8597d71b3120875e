"""Office files and JSON, and what holds for files of all formats."""

from __future__ import annotations

import io

import docx
import pytest

from graphrag_rdf.documents import ParsedDocument, read_bytes
from graphrag_rdf.documents.readers import OF_WING_FORMATS
from graphrag_rdf.documents.readers.content import CREATED, CREATOR, SUBJECT
from graphrag_rdf.wings.formats.wing import LANGUAGES, WING
from tests.documents.test_readers import (
    parsed,
    test_gzip_is_unpacked,
    test_metadata_properties_are_known_vocabulary,
    test_page_texts_are_slices_of_the_text,
)

__all__ = [
    "parsed",
    "test_gzip_is_unpacked",
    "test_metadata_properties_are_known_vocabulary",
    "test_page_texts_are_slices_of_the_text",
]


def test_every_format_has_a_sample(samples: dict[str, bytes]) -> None:
    suffixes = {suffix for _, suffixes in WING.readers.values() for suffix in suffixes}
    code = {suffix for suffixes in LANGUAGES.values() for suffix in suffixes}
    assert {*samples} | code | {".ndjson", ".ott", ".rest", ".latex", ".srt"} == suffixes
    assert suffixes == OF_WING_FORMATS, "files that the core leaves to this wing"


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_json_is_kept_as_it_is(
    suffix: str, parsed: dict[str, ParsedDocument], samples: dict[str, bytes]
) -> None:
    assert parsed[suffix].text == samples[suffix].decode()
    assert parsed[suffix].encoding == "utf-8"
    assert parsed[suffix].pages == ()


def test_word(parsed: dict[str, ParsedDocument]) -> None:
    document = parsed[".docx"]
    assert document.text == (
        "Annual report\n\nAlice works at Acme.\n\n| Name | City |\n| Bob | Paris |\n\n"
        "- first\n- second\n\nThe end."
    )
    assert document.title == "The report"
    assert document.language == "en-GB"
    metadata = set(document.metadata)
    assert {(CREATOR, "Ada Lovelace"), (SUBJECT, "x"), (SUBJECT, "y")} < metadata
    assert any(iri == CREATED and value.startswith("2024-01-02T03:04:05") for iri, value in metadata)


def test_workbook(parsed: dict[str, ParsedDocument]) -> None:
    document = parsed[".xlsx"]
    assert [(page.label, page.text) for page in document.pages] == [
        ("People", "Name: Alice; City: London; Born: 1990-05-01\nName: Bob; City: Paris; Born: 1985"),
        ("Numbers", "1; 2.5; TRUE"),
        ("Empty", ""),
    ]
    assert document.title == "Staff"


def test_slides(parsed: dict[str, ParsedDocument]) -> None:
    document = parsed[".pptx"]
    assert [(page.label, page.text) for page in document.pages] == [
        ("Welcome", "Welcome\n\nAlice works at Acme.\n\nSay hello."),
        ("Table", "Table\n\n| Bob | Paris |"),
    ]


def test_json_title(parsed: dict[str, ParsedDocument]) -> None:
    assert parsed[".json"].title == "Staff"


def word(title: str) -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("The lock at Tarnay", 0)
    document.add_paragraph("Two brothers built it.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_titles_of_word() -> None:
    assert read_bytes(word("Document1"), "x.docx").title == "The lock at Tarnay"
    assert read_bytes(word("A history"), "x.docx").title == "A history"
