from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from graphrag_rdf.documents import SUPPORTED, ParsedDocument, read_bytes
from graphrag_rdf.documents.readers.content import (
    CREATED,
    CREATOR,
    DCTERMS,
    DESCRIPTION,
    SUBJECT,
    VARIABLE_MEASURED,
)
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.wing import wings


@pytest.fixture(scope="module")
def parsed(samples: dict[str, bytes]) -> dict[str, ParsedDocument]:
    return {suffix: read_bytes(data, f"dir/some_file{suffix}") for suffix, data in samples.items()}


def test_every_format_of_the_core_has_a_sample(parsed: dict[str, ParsedDocument]) -> None:
    aliases = {".text", ".adoc", ".log", ".markdown", ".htm", ".xhtml"}
    brought = {suffix for wing in wings() for _, suffixes in wing.readers.values() for suffix in suffixes}
    assert {*parsed} | aliases | brought == SUPPORTED


def test_page_texts_are_slices_of_the_text(parsed: dict[str, ParsedDocument]) -> None:
    for document in parsed.values():
        for page in document.pages:
            assert document.text[page.offset : page.offset + len(page.text)] == page.text
        if document.pages:
            assert document.text == "\f".join(page.text for page in document.pages)
            assert [page.number for page in document.pages] == list(range(1, len(document.pages) + 1))


@pytest.mark.parametrize("suffix", [".txt", ".md", ".csv", ".tsv"])
def test_raw_text_is_kept_as_it_is(
    suffix: str, parsed: dict[str, ParsedDocument], samples: dict[str, bytes]
) -> None:
    assert parsed[suffix].text == samples[suffix].decode()
    assert parsed[suffix].encoding == "utf-8"
    assert parsed[suffix].pages == ()


def test_plain_text_has_a_title_from_its_name(parsed: dict[str, ParsedDocument]) -> None:
    assert parsed[".txt"].title == "Some file"
    assert parsed[".txt"].media_type == "text/plain"
    assert read_bytes(b"x", "quarterly_report-2024.txt").title == "Quarterly report 2024"


def test_markdown_front_matter(parsed: dict[str, ParsedDocument]) -> None:
    document = parsed[".md"]
    assert document.title == "My notes"
    assert document.language == "en"
    assert document.metadata == (
        (CREATOR, "Ada Lovelace"),
        (CREATOR, "Charles Babbage"),
        (CREATED, "2024-01-02"),
        (SUBJECT, "a"),
        (SUBJECT, "b"),
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n## A *nice* [link](http://x) #\n", "A nice link"),
        ("```\n# not this\n```\nReal one\n========\n", "Real one"),
        ("# snake_case stays\n", "snake_case stays"),
        ("---\n\n# After a rule\n\n---\n", "After a rule"),
        ("---\n- no mapping\n---\n# H", "H"),
        ("---\n: {broken\n---\n# H", "H"),
        ("no heading", "N"),
    ],
)
def test_markdown_title(text: str, title: str) -> None:
    document = read_bytes(text.encode(), "n.md")
    assert document.title == title
    assert document.text == text


def test_html_text_is_what_a_reader_sees(parsed: dict[str, ParsedDocument]) -> None:
    document = parsed[".html"]
    assert document.text == (
        "Heading one\n\nAlice works at Acme.\nSecondary line.\n\n- one\n- two\n\n| Name | City |\n"
        "| Bob | Paris |\n\na  b\n  c\n\ncafé"
    )
    assert document.title == "My page"
    assert document.language == "en-GB"
    assert set(document.metadata) == {
        (CREATOR, "Ada Lovelace"),
        (CREATED, "2024-01-02"),
        (SUBJECT, "a"),
        (SUBJECT, "b"),
        (DESCRIPTION, "About."),
    }


def test_html_title_falls_back_to_the_first_heading() -> None:
    assert read_bytes(b"<p>x</p><h2>Second <em>rank</em></h2>", "p.htm").title == "Second rank"


@pytest.mark.parametrize(
    ("markup", "encoding", "text"),
    [
        ('<meta charset="windows-1251"><p>Привет, мир</p>', "cp1251", "Привет, мир"),
        ('<meta charset="windows-1252"><p>café</p>', "utf-8", "café"),
        ('<meta charset="utf-16"><p>plain</p>', "utf-8", "plain"),
        ('<meta charset="iso-2022-jp"><p>日本語</p>', "iso2022_jp", "日本語"),
        ("<p>a<table><td>1<td>2</table>b</p>", "utf-8", "a\n\n| 1 | 2 |\n\nb"),
        ("<li>a<ul><li>b</ul><li>c", "utf-8", "- a\n- b\n- c"),
        ("<div>a<div>b</div>c</div>", "utf-8", "a\n\nb\n\nc"),
        ("<table><tr><td><table><tr><td>in<td>ner</table><td>out</table>", "utf-8", "| in | ner |\n\nout"),
        ("a &lt;b&gt; <!-- no --> c", "utf-8", "a <b> c"),
        ("x<template><p>no</p></template><button>no</button> y", "utf-8", "x y"),
    ],
)
def test_html_details(markup: str, encoding: str, text: str) -> None:
    document = read_bytes(markup.encode(encoding), "p.html")
    assert document.text == text
    assert document.encoding == encoding


def test_deeply_nested_html_is_read() -> None:
    depth = 20_000
    assert read_bytes(b"<div>" * depth + b"x" + b"</div>" * depth, "p.html").text == "x"


def test_pdf(parsed: dict[str, ParsedDocument]) -> None:
    document = parsed[".pdf"]
    assert document.text == "Alice works at Acme.\fBob lives in Paris."
    assert document.language == "en-GB"
    assert document.title == "Some file"
    assert (CREATED, "2024-01-02T03:04:05+00:00") in document.metadata
    assert (CREATOR, "Ada Lovelace") in document.metadata


def test_pdf_title_and_made_up_titles(make_pdf: Callable[..., bytes]) -> None:
    assert read_bytes(make_pdf(title="A good title"), "a.pdf").title == "A good title"
    assert read_bytes(make_pdf(title="Microsoft Word - x.docx"), "a_b.pdf").title == "A b"


def test_pdf_without_document_information(make_pdf: Callable[..., bytes]) -> None:
    assert read_bytes(make_pdf(info=False), "a.pdf").metadata == ()


def test_pdf_with_a_blank_page_keeps_page_numbers(make_pdf: Callable[..., bytes]) -> None:
    document = read_bytes(make_pdf(["one", "", "three"]), "a.pdf")
    assert document.text == "one\f\fthree"
    assert [page.offset for page in document.pages] == [0, 4, 5]


def test_tables_give_column_names(parsed: dict[str, ParsedDocument]) -> None:
    assert parsed[".csv"].metadata == ((VARIABLE_MEASURED, "name"), (VARIABLE_MEASURED, "city"))
    assert parsed[".tsv"].metadata == ((VARIABLE_MEASURED, "name"), (VARIABLE_MEASURED, "city"))
    assert read_bytes(b"1,2\n3,4\n", "n.csv").metadata == ()


def test_media_type_overrides_the_suffix() -> None:
    document = read_bytes(b"# T\n", "noname", media_type="Text/Markdown; charset=utf-8")
    assert (document.media_type, document.title) == ("text/markdown", "T")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_unicode_encodings(encoding: str) -> None:
    text = "Grüße aus Köln.\r\nZweite Zeile 😀\n"
    document = read_bytes(text.encode(encoding), "a.txt")
    assert document.text == text
    assert document.encoding is not None
    assert document.encoding.startswith("utf-")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        (
            "cp1252",
            "Die größte Schwierigkeit bei der Übersetzung besteht darin, dass die Wörter fehlen. " * 3,
        ),
        ("cp1252", "Café au lait, déjà vu: l'été à Paris est très agréable."),
        ("cp1252", "“Smart quotes” – he said, naïve."),
        ("cp1250", "Žluťoučký kůň úpěl ďábelské ódy v Praze, kde žije příliš mnoho lidí."),
        ("euc_jp", "東京は日本の首都であり、世界最大の都市の一つです。"),
        ("koi8_r", "Москва является столицей Российской Федерации."),
        ("cp1251", "Москва является столицей Российской Федерации и крупнейшим городом страны. " * 3),
        ("shift_jis", "東京は日本の首都であり、世界最大の都市の一つです。" * 3),
        ("gb18030", "北京是中华人民共和国的首都，也是全国的政治和文化中心。" * 3),
    ],
)
def test_legacy_encodings_are_recognised(encoding: str, text: str) -> None:
    assert read_bytes(text.encode(encoding), "a.txt").text == text


def test_characters_that_xml_cannot_carry_are_replaced_one_for_one() -> None:
    text = "a" * 500 + "\x00\x08\x0b\x1b\ufffe\uffff\f\t\x85" + "b" * 500
    kept = read_bytes(text.encode(), "a.txt").text
    assert kept == "a" * 500 + "\ufffd" * 6 + "\f\t\x85" + "b" * 500
    assert len(kept) == len(text)


def test_metadata_properties_are_known_vocabulary(parsed: dict[str, ParsedDocument]) -> None:
    for document in parsed.values():
        for iri, value in document.metadata:
            assert iri.startswith((DCTERMS, "https://schema.org/"))
            assert value == " ".join(value.split())


def test_gzip_is_unpacked(samples: dict[str, bytes], parsed: dict[str, ParsedDocument]) -> None:
    for suffix, data in samples.items():
        assert read_bytes(gzip.compress(data), f"dir/some_file{suffix}.gz") == parsed[suffix]
    halves = gzip.compress(b"Ada Venn lived") + gzip.compress(b" in Kelm.")
    assert read_bytes(halves, "NEWS.TXT.GZ").text == "Ada Venn lived in Kelm."


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no gzip at all", "Not a gzipped file"),
        (gzip.compress(b"Ada Venn lived in Kelm." * 9, mtime=0)[:-12], "end-of-stream"),
        (gzip.compress(b"Ada Venn", mtime=0)[:10] + b"\xff" * 20, "damaged"),
        (gzip.compress(b" " * 100_001, mtime=0), "larger than 100,000 bytes when unpacked"),
        (gzip.compress(b"", mtime=0), "no text found"),
    ],
)
def test_gzip_that_cannot_be_read(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        read_bytes(data, "news.txt.gz", max_bytes=100_000)
