"""Chats: what people say of themselves and to each other is about who they are."""

from __future__ import annotations

import pytest

from graphrag_rdf.documents import chunk_text, read_bytes
from graphrag_rdf.documents.tables import sentences_in
from graphrag_rdf.documents.turns import turns_in
from graphrag_rdf.extract.modality import doubt_of_claim
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.wings.rules.extractor import RuleExtractor

CHAT = "Lena Moor: {}\nAda Venn: Do you like your new house?\nLena Moor: Yes, thanks.\n"


def extraction(text: str, size: int = 2000) -> list[Extraction]:
    document = read_bytes(text.encode(), "a.txt")
    rules = RuleExtractor()
    found = []
    for chunk in chunk_text(document.text, size=size, language="en"):
        sentences = sentences_in(document, chunk)
        one = rules.extract(
            chunk.text, sentences, language="en", title="A", topic="A", turns=turns_in(document, chunk)
        )
        for relation in one.relations:
            assert relation.span is not None
            assert chunk.text[relation.span[0] : sum(relation.span)] == relation.quote
        for mention in one.mentions:
            assert 0 <= mention.offset < mention.offset + mention.length <= len(chunk.text)
        found.append(one)
    return found


def facts(said: str) -> set[tuple[str, str, str]]:
    (one,) = extraction(CHAT.format(said))
    return {(r.subject, r.predicate, r.object) for r in one.relations}


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I love jazz.", ("Lena Moor", "loves", "jazz")),
        ("I'm the drummer of the Kelm Band.", ("Lena Moor", "drummer of", "Kelm Band")),
        ("I’m a baker.", ("Lena Moor", "is", "baker")),
        ("I've two dogs.", ("Lena Moor", "has", "two dogs")),
        ("I carry the lamp.", ("Lena Moor", "carries", "lamp")),
        ("I really miss Oslo.", ("Lena Moor", "misses", "Oslo")),
        ("I was born in Oslo.", ("Lena Moor", "was born in", "Oslo")),
        ("My sister lives in Oslo.", ("Lena Moor's sister", "lives in", "Oslo")),
        ("You work at Orrin Bank.", ("Ada Venn", "works at", "Orrin Bank")),
        ("I met you in Paris.", ("Lena Moor", "met", "Ada Venn")),
        ("You are my best friend.", ("Ada Venn", "friend of", "Lena Moor")),
        ("Mona Ferrer built the weir.", ("Mona Ferrer", "built", "weir")),
    ],
)
def test_what_people_say_of_themselves_and_to_each_other(said: str, fact: tuple[str, str, str]) -> None:
    assert fact in facts(said)
    assert not any("I" in (s, o) or s == "A" for s, _, o in facts(said))


@pytest.mark.parametrize(
    "said",
    [
        "Do you like jazz?", "I like jazz? 😄", "Do I like jazz", "I want a dog.", "I'd love a dog.",
        "I’ll bring the lamp.",
        "I hope I get a dog.", "I think you have a dog.", "I can carry the lamp.", "Maybe I have a dog.",
        "If I have a dog, I feed it.", "Let's build a weir.", "We met in Oslo.", "She lives in Oslo.",
        "It has a garden.",
        "They love jazz.", "I wish I had a dog.", "I might buy a dog.", "I'm going to buy a dog.",
        "I plan to visit Oslo.", "I don't like tea.",
    ],
)  # fmt: skip
def test_questions_wishes_offers_and_guesses_are_no_facts(said: str) -> None:
    assert facts(said) == set()


def test_you_is_nobody_among_three() -> None:
    text = "Lena: You work at Orrin Bank.\nBo: I live in Kelm.\nCy: You know me.\nLena: I work in Oslo.\n"
    text += "Bo: Yes.\n"
    found = {(r.subject, r.predicate, r.object) for one in extraction(text) for r in one.relations}
    assert found == {("Bo", "lives in", "Kelm"), ("Lena", "works in", "Oslo")}


def test_names_of_speakers_are_entities_wherever_they_speak_of_themselves() -> None:
    text = CHAT.format("I live in Kelm. The house that I bought is old. It is large.")
    (one,) = extraction(text)
    assert {("Lena Moor", "Person"), ("Ada Venn", "Person")} <= {(e.name, e.type) for e in one.entities}
    assert not any({"I", "me", "you"} & set(entity.aliases) for entity in one.entities)
    written = [(m.name, text[m.offset : m.offset + m.length]) for m in one.mentions]
    assert written[:3] == [("Lena Moor", "Lena Moor"), ("Lena Moor", "I"), ("Kelm", "Kelm")]
    assert ("Ada Venn", "Ada Venn") in written


def test_a_turn_that_is_cut_is_its_speakers_all_the_same() -> None:
    text = CHAT.format("I live in Kelm. " * 3 + "I work at Orrin Bank. " * 3)
    whole = {(r.subject, r.predicate, r.object) for one in extraction(text) for r in one.relations}
    cut = {(r.subject, r.predicate, r.object) for one in extraction(text, 60) for r in one.relations}
    assert ("Lena Moor", "works at", "Orrin Bank") in whole
    assert cut == whole


def test_claims() -> None:
    assert doubt_of_claim("Yes, I live in Kelm!") == ""
    assert doubt_of_claim("and how about you") == "question"
