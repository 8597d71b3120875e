"""Chunks, and what stands before them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents import Chunk, chunk_text, count_tokens, split_sentences
from graphrag_rdf.documents.chunk import NO_CONTEXT, Context, contexts_of
from graphrag_rdf.documents.model import ParsedDocument
from graphrag_rdf.documents.readers.markdown import read_markdown
from graphrag_rdf.errors import ConfigError

PARAGRAPH = "Alice works at Acme in London. Bob lives in Paris with Carol. They met in 1990 at a fair. "
ALPHABET = st.sampled_from(list("abcXYZ.. .!?  \n\n\f\r\t#|-1é日。"))


def check(text: str, chunks: tuple[Chunk, ...]) -> None:
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert text[chunk.offset : chunk.offset + len(chunk.text)] == chunk.text
        assert chunk.text
        assert chunk.text == chunk.text.strip()


@given(st.text(ALPHABET, max_size=400), st.integers(1, 60), st.sampled_from(["characters", "tokens"]))
def test_without_overlap_every_character_is_in_one_chunk(text: str, size: int, unit: str) -> None:
    chunks = chunk_text(text, size=size, unit=unit)  # type: ignore[arg-type]
    check(text, chunks)
    end = 0
    for chunk in chunks:
        assert chunk.offset >= end
        assert not text[end : chunk.offset].strip()
        end = chunk.offset + len(chunk.text)
        length = len(chunk.text) if unit == "characters" else count_tokens(chunk.text)
        assert length <= size
    assert not text[end:].strip()


@given(st.text(ALPHABET, max_size=400), st.integers(2, 60), st.data())
def test_with_overlap_nothing_is_lost(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    chunks = chunk_text(text, size=size, overlap=overlap)
    check(text, chunks)
    end = 0
    for chunk in chunks:
        assert not text[end : chunk.offset].strip()
        assert end - chunk.offset <= overlap
        assert chunk.offset + len(chunk.text) > end
        assert len(chunk.text) <= size
        end = chunk.offset + len(chunk.text)
    assert not text[end:].strip()


@given(st.text(max_size=200), st.integers(1, 50))
def test_any_text_is_covered(text: str, size: int) -> None:
    """Graphemes longer than the size may stay whole."""
    chunks = chunk_text(text, size=size)
    check(text, chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


def test_chunks_end_where_sentences_end() -> None:
    text = PARAGRAPH * 100
    ends = {s.offset + s.length for s in split_sentences(text, "en")}
    chunks = chunk_text(text, size=500)
    assert len(chunks) > 10
    assert all(chunk.offset + len(chunk.text) in ends for chunk in chunks)


def test_sentences_of_chunks_are_the_sentences_of_the_text() -> None:
    text = "\n\n".join([PARAGRAPH * 3, "# A heading", PARAGRAPH * 2] * 10)
    whole = {(s.offset, s.length) for s in split_sentences(text, "en")}
    parts = {
        (chunk.offset + s.offset, s.length)
        for chunk in chunk_text(text, size=300)
        for s in split_sentences(chunk.text, "en")
    }
    assert parts == whole


def test_paragraphs_pages_and_headings_are_preferred() -> None:
    first, second = PARAGRAPH * 3, PARAGRAPH * 4
    for gap in ("\n\n", "\f", "\n\n## Next\n\n"):
        chunks = chunk_text(first + gap + second, size=400)
        assert chunks[0].text == first.strip()
        assert chunks[1].text == (gap + second).strip()


def test_a_heading_stays_with_its_text() -> None:
    text = "A heading\n\n".join([PARAGRAPH * 3 + "\n\n"] * 6)
    for size in range(300, 700, 50):
        assert not any(chunk.text.endswith("A heading") for chunk in chunk_text(text, size=size))


def test_a_form_feed_does_not_force_a_cut() -> None:
    assert len(chunk_text("One page.\fAnother page.")) == 1


def test_a_long_sentence_is_cut_at_words() -> None:
    text = "word " * 1000
    chunks = chunk_text(text, size=100)
    assert all(len(chunk.text) <= 100 and not chunk.text.strip("word ") for chunk in chunks)
    assert all(chunk.text.split() == ["word"] * len(chunk.text.split()) for chunk in chunks)


def test_an_insertion_changes_only_chunks_near_it() -> None:
    repeats = [1 + number * 7919 % 5 for number in range(200)]
    text = "\n\n".join(
        f"{number} apples were sold. {PARAGRAPH}" * times for number, times in enumerate(repeats)
    )
    before = {chunk.text for chunk in chunk_text(text)}
    after = {chunk.text for chunk in chunk_text("A new sentence came here first. " + text)}
    assert len(before - after) <= 0.2 * len(before)


@pytest.mark.parametrize("gap", [" ", "\n"])
def test_an_insertion_into_a_text_without_paragraphs(gap: str) -> None:
    text = gap.join(f"Shop {number * 7919 % 1000} sold {number} apples." for number in range(2000))
    before = {chunk.text for chunk in chunk_text(text)}
    after = {chunk.text for chunk in chunk_text("A new sentence came here first. " + text)}
    assert len(before - after) <= 0.2 * len(before)


@pytest.mark.parametrize(
    "options", [{"size": 0}, {"overlap": -1}, {"size": 10, "overlap": 10}, {"unit": "words"}]
)
def test_impossible_settings(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        chunk_text("x", **options)  # type: ignore[arg-type]


def test_speed() -> None:
    """185 kB of prose; the bar is 50 ms on an idle machine."""
    text = "\n\n".join([PARAGRAPH * 5] * 411)
    started = time.thread_time()
    chunk_text(text, language="en")
    assert time.thread_time() - started < 0.5


def test_an_overlap_ends_at_the_beginning_of_the_text() -> None:
    text = "111111\f11\f1"
    chunks = chunk_text(text, size=9, overlap=6)
    check(text, chunks)
    assert [chunk.text for chunk in chunks] == ["111111", "111111\f11", "11\f1"]


# --- what stands before a chunk ------------------------------------------------------------------------


TEXT = """# The Mills

## Lindow

Mary Hale founded it. She was from Tarn.

It had 40 looms.

### Owners

The bank owned it.

## Reed

It was new.
"""


def parsed(text: str, title: str = "A title") -> ParsedDocument:
    headings = read_markdown(text.encode()).headings
    return ParsedDocument(text, (), "text/markdown", title, "en", None, (), headings=headings)


def before(text: str, *marks: str, title: str = "A title") -> list[Context]:
    return contexts_of(parsed(text, title), [text.index(mark) for mark in marks])


def test_headings_and_sentences() -> None:
    first, looms, bank, new = before(TEXT, "# The", "It had", "The bank", "It was")
    assert first == NO_CONTEXT
    assert first.hash == ""
    assert looms.headings == ("The Mills", "Lindow")
    assert looms.before == "Mary Hale founded it. She was from Tarn."
    assert bank.headings == ("The Mills", "Lindow", "Owners")
    assert new.headings == ("The Mills", "Reed")


def test_the_title_is_no_heading_above() -> None:
    assert before(TEXT, "It had", title="The Mills")[0].headings == ("Lindow",)


def test_a_line_by_itself_is_a_heading() -> None:
    text = "Report\n\nIt rained on.\n\nThe second year\n\nHale left. It snowed."
    (found,) = before(text, "Hale")
    assert found.headings == ("The second year",)


def test_the_hash_depends_on_both() -> None:
    different = (Context(("A",), "b"), Context((), "b"), Context(("A",)), Context(("A", "b")))
    assert len({each.hash for each in different}) == 4


@given(st.text(st.sampled_from(list("# aB.\n\f!日。")), max_size=300), st.integers(0, 300))
def test_any_text(text: str, offset: int) -> None:
    """It stands before the passage, whatever the text is."""
    (found,) = contexts_of(parsed(text), [offset])
    assert text[:offset].rstrip().endswith(found.before)
    assert all(heading in text[:offset] + text[offset:] for heading in found.headings)
