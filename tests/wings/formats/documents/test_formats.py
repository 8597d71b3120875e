"""Books, OpenDocument, mail, markup and code: what is read of them, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from graphrag_rdf.documents import ParsedDocument, chunk_text, read_bytes
from graphrag_rdf.documents.readers.content import CREATED, CREATOR, IDENTIFIER, SUBJECT
from graphrag_rdf.documents.tables import read_row, sentences_in
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.wings.formats.mail import RECIPIENT
from graphrag_rdf.wings.formats.wing import LANGUAGES
from tests.documents.test_bombs import reason


@pytest.fixture(scope="module")
def parsed(samples: dict[str, bytes]) -> Callable[[str], ParsedDocument]:
    return lambda suffix: read_bytes(samples[suffix], f"some_file{suffix}")


def said(document: ParsedDocument) -> list[str]:
    chunks = chunk_text(document.text, tables=document.tables)
    return [c.text[s.offset : s.offset + s.length] for c in chunks for s in sentences_in(document, c)]


def rows(document: ParsedDocument, number: int = 0) -> list[list[str]]:
    table = document.tables[number]
    cells = [read_row(document.text[slice(*row)], table.separator, table.names) or () for row in table.rows]
    return [list(table.names), *([cell.text for cell in row] for row in cells)]


@pytest.mark.parametrize("suffix", [".epub", ".odt", ".ods", ".odp", ".rtf", ".eml", ".org", ".rst", ".tex"])
def test_titles_and_authors(suffix: str, parsed: Callable[[str], ParsedDocument]) -> None:
    document = parsed(suffix)
    assert document.title == ("The weir in Kälm" if suffix == ".eml" else "The weir")
    if suffix != ".rst":
        assert (CREATOR, "Ada Venn") in document.metadata


@pytest.mark.parametrize(
    ("suffix", "table"),
    [
        (".epub", [["Name", "Born"], ["Ada", "1931"]]),
        (".odt", [["Name", "Born"], ["Ada", "1931"], ["Bo", "1933"]]),
        (".ods", [["Name", "Born"], ["Ada", "1931"]]),
        (".rtf", [["Name", "Height"], ["Skerry", "31"], ["Brae", "28"]]),
        (".eml", [["name", "born"], ["Mona Ferrer", "1931"], ["Cy Orr", "1933"]]),
        (".org", [["name", "born"], ["Ada", "1931"], ["Bo", "1933"]]),
        (".rst", [["Name", "Height"], ["Skerry Light", "31 metres"], ["Brae", "28"]]),
        (".tex", [["Name", "Height"], ["Skerry", "31"], ["Brae", "28"]]),
    ],
)
def test_tables(suffix: str, table: list[list[str]], parsed: Callable[[str], ParsedDocument]) -> None:
    assert rows(parsed(suffix)) == table


def test_simple_tables_of_rst_are_tables_too(parsed: Callable[[str], ParsedDocument]) -> None:
    assert rows(parsed(".rst"), 1) == [["Name", "Born"], ["Ada", "1931"], ["Bo", "1933"]]


def test_chapters_come_in_the_order_of_the_spine(parsed: Callable[[str], ParsedDocument]) -> None:
    assert parsed(".epub").text.startswith("Two\n\nBo built it.\n\nAda saw it.")
    assert parsed(".epub").language == "en"


def test_text_of_opendocument(parsed: Callable[[str], ParsedDocument]) -> None:
    assert parsed(".odt").text.startswith("The weir\n\nBo  built\nit.\n\n- one\n\n| Name | Born |")
    assert (SUBJECT, "dams") in parsed(".odt").metadata
    assert [(page.label, page.text) for page in parsed(".odp").pages] == [
        ("Welcome", "Welcome\n\nBo built the weir.\n\nSay hello."),
        ("End", "End"),
    ]
    assert parsed(".ods").pages[0].label == "People"


def test_a_message(parsed: Callable[[str], ParsedDocument]) -> None:
    document = parsed(".eml")
    assert said(document) == ["I work at Orrin Bank.", "You live in Kelm.", "Mona Ferrer,1931", "Cy Orr,1933"]
    assert [page.label for page in document.pages] == ["The weir in Kälm", "people.csv", "picture.png"]
    assert document.pages[2].text == "Attachment picture.png is not read: no reader for its format"
    assert {
        (CREATED, "2024-01-02T03:04:05+00:00"),
        (RECIPIENT, "Bo Yew"),
        (IDENTIFIER, "1@example.org"),
    } <= set(document.metadata)
    (turn,) = document.turns
    assert (turn.speaker, turn.listener) == ("Ada Venn", "Bo Yew")


def test_a_mailbox_has_the_messages_as_pages(parsed: Callable[[str], ParsedDocument]) -> None:
    document = parsed(".mbox")
    assert [page.label for page in document.pages] == ["The weir in Kälm", "people.csv", "picture.png"] * 2
    assert len(document.turns) == 2
    assert all(document.text[turn.words :].startswith("I work at") for turn in document.turns)


def test_html_mail_and_messages_within_messages() -> None:
    inner = "From: Bo\nSubject: In\nContent-Type: text/html\n\n<p>Bo built <b>it</b>.</p>"
    outer = (
        'From: Ada\nSubject: Out\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n--x\n\n'
        f"See below.\n--x\nContent-Type: message/rfc822\n\n{inner}\n--x--\n"
    )
    document = read_bytes(outer.encode(), "a.eml")
    assert said(document) == ["See below.", "Bo built it."]


def test_what_steers_programs_is_no_sentence(parsed: Callable[[str], ParsedDocument]) -> None:
    assert said(parsed(".org"))[:2] == ["* TODO The first heading :dam:", "Bo Yew built the weir in Kelm."]
    assert not any("weir = 1" in sentence or "---" in sentence for sentence in said(parsed(".org")))


def test_directives_and_roles_of_sphinx_keep_their_words(parsed: Callable[[str], ParsedDocument]) -> None:
    text = parsed(".rst").text
    assert "Bo Yew built the weir in Kelm." in text
    assert "Mona Ferrer mended it." in text
    assert "open(gate)\n\nOpens the gate." in text
    assert "noindex" not in text
    assert "other" not in text


def test_rst_includes_no_files() -> None:
    text = ".. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n\n"
    text += ".. csv-table::\n   :file: /etc/passwd\n\nEnd.\n"
    assert "root" not in read_bytes(text.encode(), "a.rst").text


def test_latex(parsed: Callable[[str], ParsedDocument]) -> None:
    document = parsed(".tex")
    assert document.text.startswith(
        "The first heading\n\nBo Yew built the weir[Well.] in Kälm, for $5 and $x^2$."
    )
    assert "- one\n- two" in document.text
    assert (CREATOR, "Bo Yew") in document.metadata


def test_speakers_of_subtitles(parsed: Callable[[str], ParsedDocument]) -> None:
    document = parsed(".vtt")
    assert [(turn.speaker, turn.listener) for turn in document.turns] == [
        ("Ada Venn", "Bo Yew"),
        ("Bo Yew", "Ada Venn"),
    ]
    assert said(document) == ["I live in Kelm.", "You do?"]
    srt = "1\n00:00:01,000 --> 00:00:02,000\nAda: I live in Kelm.\n\n"
    srt += "2\n00:00:03,000 --> 00:00:04,000\nBo: You do?\n"
    assert said(read_bytes(srt.encode(), "a.srt")) == ["Ada: I live in Kelm.", "Bo: You do?"]
    assert said(read_bytes(b"1\n00:01,0 --> 00:02,0\nBo built it.\n", "a.srt")) == ["Bo built it."]


def test_comments_and_documentation_are_sentences_and_code_is_none(
    parsed: Callable[[str], ParsedDocument],
) -> None:
    assert said(parsed(".py")) == [
        "Bo Yew built the weir.",
        "It stands in Kelm.",
        "Mona Ferrer mended it.",
        "A whole one.",
    ]
    java = "/**\n * Bo built the weir.\n * Ada saw\n * it.\n */\nint weir = 1; // Mona mended it.\n"
    assert said(read_bytes(java.encode(), "A.java")) == ["Bo built the weir.", "Mona mended it."]


def test_pygments_knows_each_language() -> None:
    for suffixes in LANGUAGES.values():
        assert read_bytes(b"x = 1\n", f"a{suffixes[0]}").text == "x = 1\n"


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.rtf", b"Hello", "not RTF"),
        ("a.mbox", b"Hello", "not a mailbox"),
        ("a.eml", b"Hello", "not a message"),
        ("a.odt", b"Hello", "damaged"),
        ("a.epub", b"PK", "damaged"),
    ],
)
def test_what_is_not_what_it_is_called(name: str, data: bytes, why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        read_bytes(data, name)


def test_what_is_locked_is_refused(make_package: Callable[[str, dict[str, str]], bytes]) -> None:
    manifest = '<manifest:encryption-data xmlns:manifest="x"/>'
    odt = make_package("x", {"META-INF/manifest.xml": manifest, "content.xml": "<a/>"})
    epub = make_package("x", {"META-INF/encryption.xml": "<EncryptedData a='b'></EncryptedData>"})
    with pytest.raises(DocumentError, match="encrypted"):
        read_bytes(odt, "a.odt")
    with pytest.raises(DocumentError, match="protected"):
        read_bytes(epub, "a.epub")


def test_entities_and_endless_repetition_multiply_nothing(
    make_package: Callable[[str, dict[str, str]], bytes], make_opendocument: Callable[..., bytes]
) -> None:
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;'>]><x>&b;</x>"
    with pytest.raises(DocumentError, match="document type"):
        read_bytes(make_package("x", {"content.xml": bomb}), "a.odt")
    cell = "<table:table-cell table:number-columns-repeated='99999999'><text:p>x</text:p></table:table-cell>"
    row = f"<table:table-row table:number-rows-repeated='99999999'>{cell}</table:table-row>"
    sheet = make_opendocument("spreadsheet", f"<table:table table:name='A'>{row}</table:table>")
    with pytest.raises(DocumentError, match="too many rows or cells"):
        read_bytes(sheet, "a.ods")
    text = make_opendocument("text", f"<table:table>{row}</table:table><text:p>end</text:p>")
    assert len(read_bytes(text, "a.odt").text) < 10_000


@pytest.mark.parametrize("suffix", [".rst", ".tex", ".org", ".rtf", ".vtt", ".py", ".eml"])
@pytest.mark.parametrize(
    "piece", ["{", "\\begin{a}", "\\item[", "(", "* ", "`", "|", "<v ", "\\'e4", "#", "\n\n", "/*", ">"]
)
def test_hostile_text_is_read_or_refused(suffix: str, piece: str) -> None:
    start = {".rtf": "{\\rtf1 ", ".eml": "From: a\n\n"}.get(suffix, "")
    text = f"{start}{piece * (20_000 // len(piece))} end"
    try:
        found = read_bytes(text.encode(), f"a{suffix}").text
    except DocumentError as error:
        found = error.reason
    assert 0 < len(found) < 200_000


@pytest.mark.parametrize("macro", ["sqrt[", "frac{", "section[", "footnote[", "cite[", "usepackage["])
def test_macros_that_never_close_are_refused(macro: str) -> None:
    """Each doubles what the library does with the rest of the text."""
    assert "do not close" in reason(f"Some text.\n\\{macro}".encode() * 40, "paper.tex")
    closing = {"[": "]", "{": "}"}[macro[-1]]
    nested = f"Some text \\{macro}" * 3 + f"a{closing}b" * 3
    assert "Some text" in read_bytes(nested.encode(), "paper.tex").text


def test_code_in_one_long_line_has_no_comments() -> None:
    start = time.process_time()
    document = read_bytes(b"<" * 200_000 + b"\n# Ada wrote this.\n", "made.pl")
    assert "Ada wrote this." in document.text
    assert time.process_time() - start < 5
