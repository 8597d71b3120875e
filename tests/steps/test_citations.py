"""Citations in the forms in which models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.steps.citations import cited_numbers, sentence_spans, with_markers

KNOWN = {1, 2, 6, 7}

FORMS = [
    ("It was Ada. [1]", "It was Ada. [1]"),
    ("It was Ada [S1].", "It was Ada [1]."),
    ("It was Ada[^1].", "It was Ada[1]."),
    ("It was Ada【1】.", "It was Ada[1]."),
    ("It was Ada【1†source】.", "It was Ada[1]."),
    ("是她［1］。", "是她[1]。"),
    ("It was Ada [1, 2].", "It was Ada [1][2]."),
    ("It was Ada [1; 2] [1 and 2].", "It was Ada [1][2] [1][2]."),
    ("It was Ada [6-7].", "It was Ada [6][7]."),
    ("It was Ada [1, 6–7].", "It was Ada [1][6][7]."),
    ("It was Ada [7-6].", "It was Ada [7][6]."),
    ("It was Ada [1-900].", "It was Ada [1][900]."),
    ("It was Ada [77].", "It was Ada [77]."),
    ("It was Ada (1).", "It was Ada [1]."),
    ("It was Ada (1, 2)(6).", "It was Ada [1][2][6]."),
    ("It was Ada (77).", "It was Ada (77)."),
    ("It was Ada (1) and Bob [2].", "It was Ada (1) and Bob [2]."),
    ("The reign of Ada [1911-1913] ended.", "The reign of Ada [1911-1913] ended."),
    ("The tuple f(1) is not cited", "The tuple f(1) is not cited"),
    ("He [Bob] said [sic] so.", "He [Bob] said [sic] so."),
]


@pytest.mark.parametrize(("written", "read"), FORMS)
def test_forms(written, read):
    assert with_markers(written, KNOWN) == read


@given(st.text(alphabet="a1,2-[]()^S【】 .", max_size=30))
def test_what_was_read_once_stays(text):
    once = with_markers(text, KNOWN)
    assert cited_numbers(with_markers(once, KNOWN)) == cited_numbers(once)


@given(st.text(alphabet="aB.! []12\n", max_size=40))
def test_sentences_lie_in_the_answer_in_order(text):
    end = 0
    for offset, length in sentence_spans(text, "en"):
        assert end <= offset < offset + length <= len(text)
        end = offset + length
