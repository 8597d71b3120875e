"""What stands before a passage."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents.chunk import NO_CONTEXT, Context, contexts_of
from graphrag_rdf.documents.model import ParsedDocument
from graphrag_rdf.documents.readers.markdown import read_markdown

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
