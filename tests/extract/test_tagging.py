"""Tokens and their parts of speech."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.extract.tagging import tagger_for, tokenise

SENTENCES = {
    "en": "The ship's crew didn't know that Ada had built 3,000 well-known bridges in the U.S.",
    "de": "Ada Venn, Chefingenieurin der Orrin GmbH, wurde 1871 in Kelm geboren und hat drei Brücken gebaut.",
    "nl": "Ada Venn, de hoofdingenieur van Orrin, werd in 1871 geboren en werkte voor drie bedrijven.",
}


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in tokenise(text)]


def test_tokens() -> None:
    assert words("The ship's crew didn't see O'Brien's U.S. 3,000-ton ferry (2).") == [
        *(
            "The",
            "ship",
            "'s",
            "crew",
            "did",
            "n't",
            "see",
            "O'Brien",
            "'s",
            "U.S.",
            "3,000",
            "-",
            "ton",
            "ferry",
        ),
        *("(", "2", ")", "."),
    ]


def test_tags() -> None:
    tagger = tagger_for("en-GB")
    assert tagger is not None
    assert tagger.tag_words(["Ada", "built", "bridges"]) == ["NP0", "VVD", "NN2"]


@pytest.mark.parametrize("language", ["fr", "zh", None, ""])
def test_other_languages_have_no_tagger(language: str | None) -> None:
    assert tagger_for(language) is None


@pytest.mark.parametrize("language", ["en", "de", "nl"])
def test_the_same_tags_as_the_model_itself_gives(language: str) -> None:
    """Our decoder looks at fewer tags a word; it must not find others."""
    tagger = tagger_for(language)
    assert tagger is not None
    for sentence in SENTENCES.values():
        tokens = words(sentence)
        assert tagger.tag_words(tokens) == tagger._model.tag_sent(tokens, taglevel=0)


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_any_text_can_be_tagged(text: str) -> None:
    tokens = words(text)
    for language in SENTENCES:
        tagger = tagger_for(language)
        assert tagger is not None
        assert len(tagger.tag_words(tokens)) == len(tokens)


def test_threads_share_one_tagger() -> None:
    with ThreadPoolExecutor(4) as pool:
        taggers = list(pool.map(tagger_for, ["en"] * 8))
    assert len({id(tagger) for tagger in taggers}) == 1
