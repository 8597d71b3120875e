from hypothesis import example, given
from hypothesis import strategies as st

from graphrag_rdf.documents import count_tokens


def test_examples() -> None:
    assert count_tokens("") == 0
    assert count_tokens("Alice works at Acme.") == 5
    assert count_tokens("1234567") == 3
    assert count_tokens("日本語") == 3


@given(st.text(), st.text())
@example("AAAAAAA", "AAAAAAA")
def test_a_text_never_counts_more_than_its_parts(a: str, b: str) -> None:
    assert count_tokens(f"{a} {b}") == count_tokens(a) + count_tokens(b)
    assert count_tokens(a + b) <= count_tokens(a) + count_tokens(b)
