from __future__ import annotations

from dataclasses import replace

from graphrag_rdf.index import Record

RECORD = Record("urn:a", "sentence", "Some text", ("Title",), "en")


def test_content_hash_is_short_and_stable() -> None:
    assert RECORD.content_hash == "e4ec8adc4e9d1c43"
    assert replace(RECORD, iri="urn:b").content_hash == RECORD.content_hash


def test_content_hash_changes_with_each_part() -> None:
    variants = [
        replace(RECORD, kind="chunk"),
        replace(RECORD, text="Other text"),
        replace(RECORD, labels=("Title", "Alias")),
        replace(RECORD, labels=()),
        replace(RECORD, language=None),
        replace(RECORD, text="Some", labels=(" textTitle",)),
    ]
    assert len({each.content_hash for each in [RECORD, *variants]}) == len(variants) + 1


def test_full_text_has_labels_first_and_no_empty_lines() -> None:
    assert RECORD.full_text == "Title\nSome text"
    assert replace(RECORD, text="").full_text == "Title"
