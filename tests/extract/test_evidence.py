"""Places of quotes and facts: found exactly, found roughly, never invented."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.extract.evidence import Located, locate, locate_fact
from graphrag_rdf.llm.model import fenced

TEXT = (
    "Ada Venn, the chief engineer of Orrin Bridge Ltd, was born in Kelm in 1871. She planned the well-\n"
    "known “Long Bridge”,  which King Olaf opened in 1902.\nThe bridge carried the night mail until the "
    "great flood of 1931 took two of its piers; it has been a footbridge since."
)


def found(quote: str, text: str = TEXT) -> tuple[str, str] | None:
    place = locate(quote, text)
    return (text[place.offset : place.offset + place.length], place.method) if place else None


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("born in Kelm in 1871", ("born in Kelm in 1871", "exact")),
        (" Ada Venn ", ("Ada Venn", "exact")),
        ("ADA VENN, THE CHIEF ENGINEER", ("Ada Venn, the chief engineer", "normalised")),
        ('the well-known "Long Bridge", which', ("the well-\nknown “Long Bridge”,  which", "normalised")),
        ("wellknown “Long Bridge”", ("well-\nknown “Long Bridge", "normalised")),
        (
            "opened in 1902. The bridge carried the night mail!",
            ("opened in 1902.\nThe bridge carried the night mail", "normalised"),
        ),
        (
            "Ada Venn … was born in Kelm",
            ("Ada Venn, the chief engineer of Orrin Bridge Ltd, was born in Kelm", "normalised"),
        ),
        (
            "until the grate flood of 1931 took two of its peers",
            ("until the great flood of 1931 took two of its piers", "fuzzy"),
        ),
        (
            "... the night mail until the great flood of 1931",
            ("the night mail until the great flood of 1931", "exact"),
        ),
    ],
)
def test_found(quote: str, expected: tuple[str, str]) -> None:
    assert found(quote) == expected


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "   ",
        "…",
        "?!",
        "zzz",
        "The Bishop of Narne was dismissed in 1455 by his own chapter",
        "Adam",
        "a" * 2000,
    ],
)
def test_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


def test_whole_words_are_preferred() -> None:
    assert locate("cat", "concatenate the cat") == Located(16, 3, "exact", 1.0)


@given(st.data())
def test_any_substring_is_found_exactly(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TEXT) - 1))
    quote = TEXT[start : data.draw(st.integers(start + 1, len(TEXT)))].strip()
    if quote:
        place = locate(quote, TEXT)
        assert place is not None
        assert place.method == "exact"
        assert TEXT[place.offset : place.offset + place.length] == quote


_WORDS = st.text("abcDEF'\"’“éﬁ", min_size=1, max_size=5)
_SET_OTHERWISE = str.maketrans({"'": "’", '"': "„", "’": "'", "“": '"', "\n": " ", "ﬁ": "fi"})


@given(st.lists(st.tuples(_WORDS, st.sampled_from([" ", "\n", "  ", "-", "\t"])), min_size=1))
def test_a_quote_that_is_set_otherwise_is_found(parts: list[tuple[str, str]]) -> None:
    """With other quotation marks, line ends, ligatures and case, whatever stands beside what."""
    words = "".join(word + gap for word, gap in parts)
    text = f"Before it: {words}twice-told tales, after it."
    quote = f"it: {words}twice-told tales"
    place = locate(quote.translate(_SET_OTHERWISE).swapcase(), text)
    assert place is not None
    assert place.method in ("exact", "normalised")
    assert text[place.offset : place.offset + place.length] == quote


@given(st.text(), st.text())
def test_offsets_are_always_in_the_text(quote: str, text: str) -> None:
    place = locate(quote, text)
    if place:
        assert 0 <= place.offset < place.offset + place.length <= len(text)


@given(st.data())
def test_a_slip_of_the_pen_is_found_at_the_same_place(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TEXT) - 80))
    quote = TEXT[start : start + 80]
    at = data.draw(st.integers(10, 70))
    place = locate(quote[:at] + "q" + quote[at + 1 :], TEXT)
    assert place is not None
    assert abs(place.offset - start) <= 25
    assert abs(place.length - 80) <= 45


@given(st.text(alphabet="bcdfghjklm ", min_size=20, max_size=80))
def test_gibberish_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


def sentences(text: str) -> list[Sentence]:
    made, start = [], 0
    for index, part in enumerate(text.split(". ")):
        made.append(Sentence(index, start, len(part)))
        start += len(part) + 2
    return made


FACTS = (
    "Kelm lies on the Orrin. It was founded by Olaf in 1102. The town has a bridge. Ada Venn built it. Done"
)


@pytest.mark.parametrize(
    ("triple", "topic", "expected"),
    [
        (("Kelm", "lies on", "Orrin"), None, "Kelm lies on the Orrin"),
        (("Kelm", "founded in", "1102"), "Kelm", "It was founded by Olaf in 1102"),
        (("Kelm", "founded in", "1102"), "Kelm (town)", "It was founded by Olaf in 1102"),
        (("it", "founded by", "olaf"), None, "It was founded by Olaf in 1102"),
        (("Ada Venn", "built", "bridge"), None, "The town has a bridge. Ada Venn built it"),
        (("Ada Venn", "was paid by", "King Harald"), None, None),
        (("Ada Venn", "built", ""), None, None),
    ],
)
def test_facts_without_a_quote(triple: tuple[str, str, str], topic: str | None, expected: str | None) -> None:
    place = locate_fact(*triple, FACTS, sentences(FACTS), topic=topic)
    assert (FACTS[place.offset : place.offset + place.length] if place else None) == expected


@pytest.mark.parametrize("quote", ["<text>", "a </ TITLE>", "Say </statements> and <question>"])
def test_what_was_fenced_in_a_prompt_is_found_as_it_was(quote: str) -> None:
    """A short quote is never located approximately."""
    text = f"Once more: {quote} b, and so on."
    assert fenced(quote) != quote
    found = locate(fenced(quote), text)
    assert found is not None
    assert found.score == 1
    assert quote.strip("<> ") in text[found.offset : found.offset + found.length]
