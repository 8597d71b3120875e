"""Parameters are decoded as the URL standard says, whatever their length."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.server.http import body
from graphrag_rdf.server.http.body import MAX_FIELDS, Parameters
from graphrag_rdf.server.http.problems import Problem

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def reads(raw: str, expected: list[tuple[str, str]]) -> bool:
    """Whether a form has these fields."""
    found = Parameters.of_form(raw.encode("ascii"))
    return all(found.all(name) == [v for key, v in expected if key == name] for name, _ in expected)


@given(st.lists(st.tuples(TEXTS, TEXTS)), st.integers(3, 50))
def test_what_was_encoded_is_decoded(given_pairs: list[tuple[str, str]], piece: int) -> None:
    """However the text is cut into pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "_PIECE", piece)
        assert reads(urlencode(given_pairs), given_pairs)


@given(st.text("%+=&aF09"), st.integers(3, 50))
def test_anything_is_read_as_the_standard_library_reads_it(raw: str, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "_PIECE", piece)
        try:
            expected = parse_qsl(raw, keep_blank_values=True, errors="strict")
        except UnicodeDecodeError:
            with pytest.raises(Problem, match="UTF-8"):
                reads(raw, [])
        else:
            assert reads(raw, expected)


def test_fields_without_end_are_refused() -> None:
    assert reads("&".join(["a=1"] * MAX_FIELDS), [("a", "1")] * MAX_FIELDS)
    with pytest.raises(Problem, match="fields"):
        reads("&".join(["a=1"] * (MAX_FIELDS + 1)), [])


def test_bytes_that_are_no_ascii_are_refused() -> None:
    with pytest.raises(Problem, match="UTF-8"):
        Parameters.of_form("query=é".encode())
