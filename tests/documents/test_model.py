from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents import ParsedDocument, pages_of
from graphrag_rdf.documents.model import join_pages


def document(*texts: str) -> ParsedDocument:
    text, pages = join_pages((text, None) for text in texts)
    return ParsedDocument(text, pages, "application/pdf", "T", None, None, ())


def test_pages_of_a_span() -> None:
    parsed = document("one", "", "three")  # one␌␌three
    numbers = {
        (offset, length): [page.number for page in pages_of(parsed, offset, length)]
        for offset, length in [(0, 3), (0, 0), (2, 4), (3, 1), (3, 2), (5, 5), (9, 1), (0, 10), (10, 1)]
    }
    assert numbers == {
        (0, 3): [1],
        (0, 0): [1],
        (2, 4): [1, 3],
        (3, 1): [],
        (3, 2): [],
        (5, 5): [3],
        (9, 1): [3],
        (0, 10): [1, 3],
        (10, 1): [],
    }
    assert pages_of(document(), 0, 5) == ()


def test_form_feeds_within_a_page_become_line_ends() -> None:
    assert document("a\fb", "c").text == "a\nb\fc"


@given(st.lists(st.text(max_size=5), max_size=6), st.integers(0, 40), st.integers(1, 20))
def test_pages_of_is_the_intersection(texts: list[str], offset: int, length: int) -> None:
    parsed = document(*texts)
    span = set(range(offset, offset + length))
    expected = [p.number for p in parsed.pages if span & set(range(p.offset, p.offset + len(p.text)))]
    assert [page.number for page in pages_of(parsed, offset, length)] == expected
